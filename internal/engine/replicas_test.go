package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// The drain would wait without end for the replicas that do not get ready.
func TestStep_ANodeStaysWhoseReplicasAreTheLastThatAreReady(t *testing.T) {
	replicaSet := func(p *cluster.Pod, hash string) {
		p.Owner = cluster.Owner{Kind: "ReplicaSet", Name: "web-" + hash, UID: hash}
		p.Labels = label.FromMap(map[string]string{"app": "web", "pod-template-hash": hash})
	}
	for name, c := range map[string]struct {
		change func(*world)
		stays  bool
	}{
		"all are ready": {func(*world) {}, false},
		"one of six":    {func(w *world) { w.objects.Pods[0].NotReady = true }, true},
		"it just came":  {func(w *world) { w.objects.Pods[0].NotReady, w.objects.Pods[0].Created = true, w.now.Add(-time.Minute) }, false},
		"it is deleted": {func(w *world) { w.objects.Pods[0].NotReady, w.objects.Pods[0].Deleting = true, true }, false},
		"of many others": {func(w *world) {
			w.objects.Pods[0].NotReady = true
			replicaSet(&w.objects.Pods[0], "other")
			w.objects.Pods[0].Owner.Name = "api-other"
		}, false},
		"in a rollout": {func(w *world) { w.objects.Pods[0].NotReady = true; replicaSet(&w.objects.Pods[0], "new") }, true},
		"a pod budget decides": {func(w *world) {
			w.objects.Pods[0].NotReady = true
			w.objects.PodBudgets = []cluster.PodBudget{{UID: "b", Namespace: "default", Name: "all", Selector: pods("web"), Allowed: 9}}
		}, false},
		"a grace period ends the drain": {func(w *world) { w.objects.Pods[0].NotReady = true; w.objects.Claims[1].Grace = time.Hour }, false},
		"the user deleted the pool": {func(w *world) {
			w.objects.Pods[0].NotReady, w.objects.Pools[0].Deleting = true, true
			w.objects.Claims[1].Drift = nil
		}, false},
		"of a DaemonSet": {func(w *world) {
			w.onPods(func(p *cluster.Pod) { p.Owner.Kind = "DaemonSet" })
			w.objects.Pods[0].NotReady = true
		}, false},
	} {
		w := full(t).drift(1)
		w.onPods(func(p *cluster.Pod) { replicaSet(p, "old") })
		c.change(w)
		s := w.standings()[w.objects.Claims[1].Name]
		if stays := s.Stay.Reason == plan.ReplicasLate; stays != c.stays {
			t.Errorf("%s: %+v", name, s)
		}
		if out := w.step(); c.stays && len(of[plan.Launch](out))+len(of[plan.Disrupt](out)) > 0 {
			t.Errorf("%s: %+v", name, out.Plan.Actions)
		}
		if c.stays && !strings.Contains(s.Explain(), "replicas of its controller") {
			t.Errorf("%s: %s", name, s.Explain())
		}
	}
}
