package translate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// excludedBy is the value of the label that takes a node out of load balancers.
const excludedBy = "karpenter"

// Cordon is the merge patch that puts Karpenter's taint for leaving nodes, and
// takes the node out of load balancers. It is nil where the taint is there
// already. A merge patch replaces the whole list of taints. So the patch names
// the resource version that the list was read at, and the API server refuses it
// if the list has changed.
func Cordon(node *corev1.Node) map[string]any {
	disrupted := v1.DisruptedTaint()
	if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&disrupted) }) {
		return nil
	}
	return map[string]any{
		"metadata": map[string]any{
			"uid": node.UID, "resourceVersion": node.ResourceVersion,
			"labels": map[string]string{corev1.LabelNodeExcludeBalancers: excludedBy},
		},
		"spec": map[string]any{"taints": append(slices.Clone(node.Spec.Taints), disrupted)},
	}
}
