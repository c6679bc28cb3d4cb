package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// withoutARM is a world with a node of arm64 for two pods, and one of amd64. Then the class
// has lost its image for arm64: it has no such type any more, and the node has drifted. With
// selects, the pods run on arm64 alone.
func withoutARM(t *testing.T, selects bool) (w *world, node string) {
	t.Helper()
	w = newWorld(t)
	w.objects.Pools[0].Disruption = cluster.Disruption{Policy: cluster.WhenEmpty, Never: true}
	arm := instanceType("a1.large", 2, 4, 50_000_000)
	arm.Labels = arm.Labels.With(label.Arch, "arm64")
	types := w.objects.Classes[0].Types
	w.objects.Classes[0].Types = append([]catalog.InstanceType{arm}, types...)
	w.pods("arm", 2, 900, func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(label.Arch, "arm64")) })
	w.pods("web", 2, 900, func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(label.Arch, "amd64")) })
	w.running()
	if len(w.objects.Nodes) != 2 {
		t.Fatalf("%d nodes", len(w.objects.Nodes))
	}
	w.now = w.now.Add(time.Hour)
	w.objects.Classes[0].Types = types
	for i := range w.objects.Claims {
		if c := &w.objects.Claims[i]; c.InstanceType == arm.Name {
			node = c.Name
			c.Drift = &cluster.Drift{Reason: "AMIDrift", Since: w.now}
		}
	}
	if !selects {
		w.onPods(func(p *cluster.Pod) { p.Shape.Selector = nil })
	}
	return w, node
}

func TestStep_ANodeWhoseImageIsWithdrawnWaitsForAnotherPlaceOfItsPods(t *testing.T) {
	w, node := withoutARM(t, true)
	for range 5 {
		w.settle(40, func(o engine.Output) {
			if n := len(of[plan.Launch](o)) + len(of[plan.Disrupt](o)) + len(of[plan.Delete](o)); n > 0 {
				t.Errorf("%+v", o.Plan.Actions)
			}
		})
		w.now = w.now.Add(time.Hour)
	}
	s := w.standings()[node]
	if s.DeletedFor != "" || s.Stay.Reason == "" || !strings.Contains(s.Explain(), "arm-0") {
		t.Errorf("%q: %+v", s.Explain(), s)
	}
}

func TestStep_ANodeWhoseImageIsWithdrawnGoesWhenItsPodsFitElsewhere(t *testing.T) {
	w, node := withoutARM(t, false)
	gone, left := w.renewed(200, plan.Drifted)
	if len(gone) != 1 || gone[0] != node || len(left) != 1 || len(w.objects.Nodes) != 2 {
		t.Errorf("gone %v, left %v, %d nodes", gone, left, len(w.objects.Nodes))
	}
}

func TestStep_ANodeOfAStaticPoolWaitsForAnImageItsPoolCanLaunch(t *testing.T) {
	w := staticWorld(t, 2)
	for i := range w.objects.Claims {
		w.objects.Claims[i].Drift = &cluster.Drift{Reason: "AMIDrift", Since: w.now}
	}
	w.objects.Pools[1].Requirements = w.objects.Pools[1].Requirements.And(label.All(label.Is(label.InstanceType, "c5.large")))
	w.objects.Classes[0].Types = slices.DeleteFunc(slices.Clone(w.objects.Classes[0].Types), func(x catalog.InstanceType) bool { return x.Name == "c5.large" })
	w.settle(100, func(o engine.Output) {
		if n := len(of[plan.Launch](o)) + len(of[plan.Disrupt](o)) + len(of[plan.Delete](o)); n > 0 {
			t.Errorf("%+v", o.Plan.Actions)
		}
	})
	for _, c := range w.claimsOf("static") {
		s := w.standings()[c.Name]
		if s.DeletedFor != "" || s.Stay.Reason != plan.NoReplacement || !strings.Contains(s.Explain(), "requirements match no instance type") {
			t.Errorf("%q: %+v", s.Explain(), s)
		}
	}
}
