package world

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// Replicas returns how many pods the pod's controller declares, and those that it has,
// without finished ones. A controller of a kind that the world does not keep counts as if
// it declared those that it has.
func (w *World) Replicas(p *corev1.Pod) (declared int64, pods []*corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil {
		return 0, nil
	}
	for _, x := range w.podsOwned[owner.UID] {
		if !translate.Finished(x) {
			pods = append(pods, x)
		}
	}
	declared = int64(len(pods))
	controller := w.objects.controllers[owner.UID]
	replicas := func(n *int32) {
		if declared = 1; n != nil {
			declared = int64(*n)
		}
	}
	switch controller.kind {
	case replicaSetKind:
		if r, there := w.objects.replicaSets[controller.name]; there {
			replicas(r.Spec.Replicas)
		}
	case statefulSetKind:
		if s, there := w.objects.statefulSets[controller.name]; there {
			replicas(s.Spec.Replicas)
		}
	default: // no replicas
	}
	return declared, pods
}

// BudgetsOf returns the PodDisruptionBudgets that select the pod, in no order.
func (w *World) BudgetsOf(p *corev1.Pod) []cluster.PodBudget {
	w.mu.Lock()
	defer w.mu.Unlock()
	return translate.BudgetsOf(p, w.budgetsIn(p.Namespace))
}

// budgetsIn returns the PodDisruptionBudgets of the namespace. They are read once for each
// change, as drains ask for each pod.
func (w *World) budgetsIn(namespace string) []cluster.PodBudget {
	list, read := w.budgets[namespace]
	if !read {
		for _, b := range w.objects.podBudgets {
			if b.Namespace == namespace {
				x, _ := translate.PodBudget(b) // Snapshot reports the error
				list = append(list, x)
			}
		}
		w.budgets[namespace] = list
	}
	return list
}
