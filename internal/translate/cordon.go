package translate

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// excludedBy is the value of the label that takes a node out of load balancers.
const excludedBy = "karpenter"

// Cordon is the merge patch that puts Karpenter's taint for leaving nodes, and
// takes the node out of load balancers. It is nil where the taint is there
// already.
func Cordon(node *corev1.Node) Patch {
	disrupted := v1.DisruptedTaint()
	if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&disrupted) }) {
		return nil
	}
	return PatchOfVersion(node, map[string]any{"labels": map[string]string{corev1.LabelNodeExcludeBalancers: excludedBy}}).
		With("spec", map[string]any{"taints": append(slices.Clone(node.Spec.Taints), disrupted)})
}

// CordonToDrain is Cordon for a node that drains, which is never taken back. Where somebody
// else has put the taint, such as Karpenter, which takes a node out of load balancers only when
// the node drains, it is the label alone.
func CordonToDrain(node *corev1.Node) Patch {
	if body := Cordon(node); body != nil {
		return body
	}
	if _, labelled := node.Labels[corev1.LabelNodeExcludeBalancers]; labelled {
		return nil
	}
	return PatchOf(node, map[string]any{"labels": map[string]string{corev1.LabelNodeExcludeBalancers: excludedBy}})
}

// Uncordon is the merge patch that takes back what Cordon wrote: the taint, and the
// label if the daemon wrote it. It is nil where there is nothing to take back. node
// has its managed fields. Taints are one field, of which only the last writer is
// known. So the label, which Cordon writes with the taint, tells the daemon's taint
// from a user's. Where the label is a user's, the last writer of the taints does.
func Uncordon(node *corev1.Node) Patch {
	disrupted := v1.DisruptedTaint()
	isDisrupted := func(t corev1.Taint) bool { return t.MatchTaint(&disrupted) }
	_, labelled := node.Labels[corev1.LabelNodeExcludeBalancers]
	ours := labelled && Wrote(node, "f:metadata", "f:labels", "f:"+corev1.LabelNodeExcludeBalancers)
	// Karpenter writes the taint without the label until the node drains.
	tainted := labelled && Wrote(node, "f:spec", "f:taints") || !labelled && wrote(node, karpenter, "f:spec", "f:taints")
	if !slices.ContainsFunc(node.Spec.Taints, isDisrupted) || !ours && !tainted {
		return nil
	}
	meta := map[string]any{}
	if ours {
		meta["labels"] = map[string]any{corev1.LabelNodeExcludeBalancers: nil}
	}
	return PatchOfVersion(node, meta).With("spec", map[string]any{"taints": slices.DeleteFunc(slices.Clone(node.Spec.Taints), isDisrupted)})
}

// karpenter is the field manager of Karpenter, whose unfinished business the daemon takes
// over with its cluster: what it wrote of a node that stays is taken back like the
// daemon's own.
const karpenter = "karpenter"

// Wrote says whether the daemon, or the Karpenter before it, was the last to write the
// field of the object, by its managed fields. The path is as in there: "f:status",
// "f:conditions".
func Wrote(object metav1.Object, path ...string) bool {
	return wrote(object, FieldManager, path...) || wrote(object, karpenter, path...)
}

func wrote(object metav1.Object, manager string, path ...string) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		if e.Manager != manager || e.FieldsV1 == nil {
			return false
		}
		fields := json.RawMessage(e.FieldsV1.GetRawBytes())
		for _, step := range path {
			var inner map[string]json.RawMessage
			if json.Unmarshal(fields, &inner) != nil {
				return false
			}
			next, there := inner[step]
			if !there {
				return false
			}
			fields = next
		}
		return true
	})
}
