package taints_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/taints"
)

func pod(name, image string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: types.UID("uid-" + name), Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "sidecar", Image: "example.com/proxy"}, {Name: "main", Image: image}}},
	}
}

func TestReaders_AreFoundByImageAndByLabel(t *testing.T) {
	const descheduler, autoscaler = "descheduler in namespace kube-system", "cluster-autoscaler in namespace kube-system"
	for _, c := range []struct {
		image  string
		labels map[string]string
		want   string
	}{
		{"registry.k8s.io/descheduler/descheduler:v0.35.0", nil, descheduler},
		{"localhost:5000/mirror/descheduler", nil, descheduler},
		{"descheduler@sha256:0123", nil, descheduler},
		{"example.com/built-by-us:1", map[string]string{"app.kubernetes.io/name": "descheduler"}, descheduler},
		{"registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0", nil, autoscaler},
		{"registry.k8s.io/autoscaling/cluster-autoscaler-arm64:v1.35.0@sha256:0123", nil, autoscaler},
		{"example.com/x", map[string]string{"app": "cluster-autoscaler"}, autoscaler},
		{"example.com/x", map[string]string{"app.kubernetes.io/name": "aws-cluster-autoscaler"}, autoscaler},
		{"public.ecr.aws/karpenter/controller:1.15.1@sha256:0123", nil, "Karpenter in namespace kube-system"},
		{"ghcr.io/karpenterd/karpenterd:1.0.0", map[string]string{"app.kubernetes.io/name": "karpenter"}, ""},
		{"example.com/not-the-descheduler:1", map[string]string{"team": "descheduler"}, ""},
		{"example.com:5000/controller", nil, ""},
	} {
		r := taints.NewReaders(nil)
		r.Observe(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "descheduler"}})
		r.Observe(pod("x", c.image, c.labels))
		if got := r.Found(); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.image, c.labels, got, c.want)
		}
	}
}

// A descheduler is often a CronJob. Its pods come and go, and the daemon changes its ways
// once.
func TestReaders_AreRememberedBetweenTheRunsOfACronJob(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := taints.NewReaders(func() time.Time { return now })
	const want = "descheduler in namespace kube-system"
	wanted := func(when, want string) {
		t.Helper()
		if got := r.Found(); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	wanted("at first", "")
	run := func(name string) *corev1.Pod {
		p, yes := pod(name, "descheduler", nil), true
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "descheduler-1", Controller: &yes}}
		return p
	}
	first := run("run-1")
	r.Observe(first)
	now = now.Add(48 * time.Hour)
	wanted("while its pod is there", want)
	r.Forget(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "run-1", UID: first.UID}})
	r.Forget(first)
	now = now.Add(taints.RemembersFor - time.Second)
	wanted("between runs", want)
	r.Observe(run("run-2"))
	r.Observe(pod("ca", "cluster-autoscaler", nil))
	wanted("beside another", "cluster-autoscaler in namespace kube-system")
	r.Forget(pod("ca", "", nil))
	wanted("when the other is gone, which is no Job", want)
	r.Forget(run("run-2"))
	now = now.Add(taints.RemembersFor)
	wanted("a day after it has gone", "")
}

// A pod that was evicted by its kubelet stays as an object for as long as nobody deletes it,
// and one that is no reader any more may stay for ever. A new pod may have the name of one that
// is deleted.
func TestReaders_OnlyPodsThatRunCount(t *testing.T) {
	r := taints.NewReaders(nil)
	found := func(when, want string) {
		t.Helper()
		if got := r.Found(); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	const autoscaler = "cluster-autoscaler in namespace kube-system"
	p := pod("ca", "cluster-autoscaler", nil)
	r.Observe(p)
	found("while it runs", autoscaler)
	p = p.DeepCopy()
	p.Status.Phase = corev1.PodFailed
	r.Observe(p)
	found("once it has failed", "")

	labelled := pod("x", "example.com/x", map[string]string{"app": "cluster-autoscaler"})
	r.Observe(labelled)
	found("by its label", autoscaler)
	r.Observe(pod("x", "example.com/x", nil))
	found("without the label", "")

	again := pod("ca", "cluster-autoscaler", nil)
	again.UID = "uid-again"
	r.Observe(again)
	r.Forget(p)
	found("when the pod that had its name before is gone", autoscaler)
}
