package world

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// Replicas returns the controller that the pod is a replica of, how many pods it declares,
// and those that it has, without finished ones. The replicas of a ReplicaSet are those of
// its Deployment: a rollout has some in one ReplicaSet and some in another. A controller of
// a kind that the world does not keep counts as if it declared those that it has.
func (w *World) Replicas(p *corev1.Pod) (of *metav1.OwnerReference, declared int64, pods []*corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	of = metav1.GetControllerOf(p)
	if of == nil {
		return nil, 0, nil
	}
	owned := func(by types.UID) {
		for _, x := range w.podsOwned[by] {
			if p := x.Pod(); !translate.Finished(p) {
				pods = append(pods, p)
			}
		}
	}
	controller := w.objects.controllers[of.UID]
	if r, there := w.objects.replicaSets[controller.name]; there && controller.kind == replicaSetKind {
		sets := map[string]*appsv1.ReplicaSet{controller.name: r}
		if above := metav1.GetControllerOf(r); above != nil {
			of, sets = above, w.setsOwned[above.UID]
		}
		for _, r := range sets {
			owned(r.UID)
		}
		return of, translate.DeclaredBy(maps.Values(sets)), pods
	}
	owned(of.UID)
	if s, there := w.objects.statefulSets[controller.name]; there && controller.kind == statefulSetKind {
		if declared = 1; s.Spec.Replicas != nil {
			declared = int64(*s.Spec.Replicas)
		}
		return of, declared, pods
	}
	return of, int64(len(pods)), pods
}

// indexSet notes whose the ReplicaSet is; nil is one that is deleted.
func (w *World) indexSet(k string, r *appsv1.ReplicaSet) {
	if by, known := w.setOwner[k]; known {
		delete(w.setsOwned[by], k)
		if len(w.setsOwned[by]) == 0 {
			delete(w.setsOwned, by)
		}
		delete(w.setOwner, k)
	}
	if r == nil {
		return
	}
	if by := metav1.GetControllerOfNoCopy(r); by != nil {
		if w.setsOwned[by.UID] == nil {
			w.setsOwned[by.UID] = map[string]*appsv1.ReplicaSet{}
		}
		w.setsOwned[by.UID][k], w.setOwner[k] = r, by.UID
	}
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
