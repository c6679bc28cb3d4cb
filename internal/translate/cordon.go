package translate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// excludedBy is the value of the label that takes a node out of load balancers.
const excludedBy = "karpenter"

// Cordon is the merge patch that puts the taint that Karpenter uses for nodes
// that go, and keeps load balancers from sending new traffic; nil where the taint
// is there. Taints are one value to the API, which a patch replaces as a whole:
// the resource version makes sure that it is the list that was read.
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
