package world

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	if n, pods := w.Replicas(first); n != 2 || len(pods) != 2 {
		t.Errorf("%d replicas, %d pods; want those that are there of an unknown controller", n, len(pods))
	}
	r := &appsv1.ReplicaSet{ObjectMeta: meta("web", 1), Spec: appsv1.ReplicaSetSpec{Replicas: &five}}
	r.Namespace = "default"
	w.Observe(r)
	if n, pods := w.Replicas(first); n != 5 || len(pods) != 2 {
		t.Errorf("%d replicas, %d pods", n, len(pods))
	}
	if n, pods := w.Replicas(pod("d", 1, "n")); n != 0 || len(pods) != 0 {
		t.Errorf("%d replicas, %d pods of a pod without a controller", n, len(pods))
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
