package translate

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CompactPod is a pod in a quarter of the memory of a corev1.Pod: what pods of one template have
// alike is there once for all of them, if a Keeper has made it. It is an object of the API, as
// informers want it. It does not change.
type CompactPod struct {
	metav1.ObjectMeta

	alike     *podParts // without notes, which are among the annotations
	node      string
	nominated string
	started   *metav1.Time
}

// GetObjectKind returns none: nothing asks.
func (*CompactPod) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns a copy; what does not change is shared.
func (k *CompactPod) DeepCopyObject() runtime.Object {
	out := *k
	return &out
}

// Whole keeps the pod as it is.
func Whole(p *corev1.Pod) *CompactPod {
	return compact(p, &podParts{spec: p.Spec, status: p.Status})
}

func compact(p *corev1.Pod, alike *podParts) *CompactPod {
	return &CompactPod{ObjectMeta: p.ObjectMeta, alike: alike, node: p.Spec.NodeName, nominated: p.Status.NominatedNodeName, started: p.Status.StartTime}
}

// Node is the pod's node; empty while it has none.
func (k *CompactPod) Node() string { return k.node }

// Pod returns the pod. Callers must not change what it refers to.
func (k *CompactPod) Pod() *corev1.Pod {
	var out corev1.Pod
	k.Read(&out)
	return &out
}

// Read writes the pod over another one.
func (k *CompactPod) Read(into *corev1.Pod) {
	into.TypeMeta, into.ObjectMeta, into.Spec, into.Status = metav1.TypeMeta{}, k.ObjectMeta, k.alike.spec, k.alike.status
	into.Spec.NodeName, into.Status.NominatedNodeName, into.Status.StartTime = k.node, k.nominated, k.started
}

// PodsOf returns the pods. All are the same variable, one after the other.
func PodsOf(pods iter.Seq[*CompactPod]) Pods {
	return func(yield func(*corev1.Pod) bool) {
		var p corev1.Pod
		for k := range pods {
			k.Read(&p)
			if !yield(&p) {
				return
			}
		}
	}
}

// Compact reduces the object as Keep does, and returns what is to be kept in its place: a pod in
// less memory, and any other object itself.
func (k *Keeper) Compact(object metav1.Object) metav1.Object {
	switch o := object.(type) {
	case *CompactPod:
		return o
	case *corev1.Pod:
		k.mu.Lock()
		defer k.mu.Unlock()
		return compact(o, k.pod(o))
	}
	k.Keep(object)
	return object
}

// copyOf copies a pod that stays in use after the next one is read; see PodsOf.
func copyOf(p *corev1.Pod) *corev1.Pod {
	out := *p
	return &out
}
