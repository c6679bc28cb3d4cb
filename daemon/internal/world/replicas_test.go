package world

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestWorld_CountsTheReplicasOfAPodsController(t *testing.T) {
	w := newWorld()
	yes, five := true, int32(5)
	owned := func(name, kind string, phase corev1.PodPhase) *corev1.Pod {
		p := pod(name, 1, "n")
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "web", UID: "uid-web", Controller: &yes}}
		p.Status.Phase = phase
		return p
	}
	first := owned("a", "ReplicaSet", corev1.PodRunning)
	w.Observe(first)
	w.Observe(owned("b", "ReplicaSet", corev1.PodRunning))
	w.Observe(owned("c", "ReplicaSet", corev1.PodFailed))
	if _, n, pods := w.Replicas(first); n != 2 || len(pods) != 2 {
		t.Errorf("%d replicas, %d pods; want those that are there of an unknown controller", n, len(pods))
	}
	r := &appsv1.ReplicaSet{ObjectMeta: meta("web", 1), Spec: appsv1.ReplicaSetSpec{Replicas: &five}}
	r.Namespace = "default"
	w.Observe(r)
	if _, n, pods := w.Replicas(first); n != 5 || len(pods) != 2 {
		t.Errorf("%d replicas, %d pods", n, len(pods))
	}
	if _, n, pods := w.Replicas(pod("d", 1, "n")); n != 0 || len(pods) != 0 {
		t.Errorf("%d replicas, %d pods of a pod without a controller", n, len(pods))
	}
}

// A rollout has replicas of a Deployment in two ReplicaSets: the last ready one may be the
// only one that the old ReplicaSet still wants.
func TestWorld_ReplicasOfADeploymentCountInAllItsReplicaSets(t *testing.T) {
	w := newWorld()
	yes := true
	set := func(name string, version int, replicas int32, deployment string) *appsv1.ReplicaSet {
		r := &appsv1.ReplicaSet{ObjectMeta: meta(name, version), Spec: appsv1.ReplicaSetSpec{Replicas: &replicas}}
		r.Namespace = "default"
		if deployment != "" {
			r.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", Name: deployment, UID: "uid-" + types.UID(deployment), Controller: &yes}}
			r.Annotations = map[string]string{"deployment.kubernetes.io/desired-replicas": "4"}
		}
		return r
	}
	of := func(name, set string) *corev1.Pod {
		p := pod(name, 1, "n")
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: set, UID: "uid-" + types.UID(set), Controller: &yes}}
		w.Observe(p)
		return p
	}
	old := of("old", "web-1")
	of("new-1", "web-2")
	of("new-2", "web-2")
	of("other", "db-1")
	want := func(when, kind, name string, declared int64, pods int) {
		t.Helper()
		if by, n, all := w.Replicas(old); by.Kind != kind || by.Name != name || n != declared || len(all) != pods {
			t.Errorf("%s: %s %s declares %d and has %d, want %s %s with %d and %d", when, by.Kind, by.Name, n, len(all), kind, name, declared, pods)
		}
	}
	w.Observe(set("web-1", 1, 1, "web"))
	w.Observe(set("db-1", 1, 1, "db"))
	want("before the rollout", "Deployment", "web", 4, 1)
	w.Observe(set("web-2", 1, 4, "web"))
	want("in the rollout", "Deployment", "web", 4, 3)
	w.Observe(set("web-2", 2, 4, ""))
	want("one is given up", "Deployment", "web", 4, 1)
	w.Observe(set("web-2", 3, 4, "web"))
	w.Forget(set("web-2", 3, 4, "web"))
	want("one is gone", "Deployment", "web", 4, 1)
	w.Observe(set("web-1", 2, 1, ""))
	want("without a Deployment", "ReplicaSet", "web-1", 1, 1)
	if len(w.setsOwned) != 1 || len(w.setOwner) != 1 {
		t.Errorf("remembered: %v, %v; want the other Deployment alone", w.setsOwned, w.setOwner)
	}
}

func TestWorld_FindsThePodDisruptionBudgetsOfAPod(t *testing.T) {
	w := newWorld()
	p := pod("a", 1, "n")
	p.Labels = map[string]string{"app": "web"}
	budget := func(name, namespace, app string, version int) *policyv1.PodDisruptionBudget {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: meta(name, version)}
		b.UID += "/" + b.UID
		b.Namespace, b.Spec.Selector = namespace, &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
		return b
	}
	want := func(names ...string) {
		t.Helper()
		var got []string
		for _, b := range w.BudgetsOf(p) {
			got = append(got, b.Name)
		}
		slices.Sort(got)
		if !slices.Equal(got, names) {
			t.Errorf("budgets %q, want %q", got, names)
		}
	}
	want()
	one := budget("one", "default", "web", 1)
	w.Observe(one)
	w.Observe(budget("elsewhere", "other", "web", 1))
	w.Observe(budget("two", "default", "db", 1))
	want("one")
	w.Observe(budget("two", "default", "web", 2))
	want("one", "two")
	w.Forget(one)
	want("two")
}
