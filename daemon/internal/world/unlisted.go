package world

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// ForgetUnlisted removes the Pods, Nodes or NodeClaims, by the kind of example, that a
// consistent list of the revision does not have. Objects that are newer than the list
// stay.
func (w *World) ForgetUnlisted(example runtime.Object, revision string, listed map[types.UID]bool) {
	at, err := strconv.ParseUint(revision, 10, 64)
	if err != nil {
		return
	}
	var gone []metav1.Object
	w.mu.Lock()
	switch example.(type) {
	case *corev1.Pod:
		gone = unlisted(w.objects.pods, at, listed)
	case *corev1.Node:
		gone = unlisted(w.objects.nodes, at, listed)
	case *v1.NodeClaim:
		gone = unlisted(w.objects.claims, at, listed)
	}
	w.mu.Unlock()
	for _, o := range gone {
		w.Forget(o)
	}
}

func unlisted[T metav1.Object](known map[string]T, at uint64, listed map[types.UID]bool) (out []metav1.Object) {
	for _, o := range known {
		version, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
		if err == nil && version <= at && !listed[o.GetUID()] {
			out = append(out, o)
		}
	}
	return out
}
