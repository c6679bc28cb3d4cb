package engine_test

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// A node that registers and never becomes ready for its pods is given up after a
// while: they get another one, and it goes, unless it must not be disturbed.
func TestStep_PodsDoNotWaitForEverForANodeThatIsNeverInitialized(t *testing.T) {
	w := newWorld(t).pods("web", 2, 1500)
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches)
	w.objects.Nodes[0].Taints = append(w.objects.Nodes[0].Taints, cluster.Taint{Key: "agent", Effect: cluster.NoSchedule})
	w.now = w.now.Add(2*w.policy.RegistrationTimeout - time.Second)
	out := w.step()
	if len(of[plan.Launch](out))+len(of[plan.Delete](out)) > 0 {
		t.Errorf("given up too soon: %+v", out.Plan.Actions)
	}
	if waits := of[plan.Wait](out); len(waits) != 1 || waits[0].Until.Sub(w.now) != time.Second {
		t.Errorf("looked at again: %+v", waits)
	}
	w.now = w.now.Add(time.Second)
	out = w.step()
	gone := of[plan.Delete](out)
	if len(of[plan.Launch](out)) != 1 || len(gone) != 1 || gone[0].Why != plan.InitializationTimeout {
		t.Errorf("not given up: %+v", out.Plan.Actions)
	}
	w.objects.Nodes[0].DoNotDisrupt = true
	if gone := of[plan.Delete](w.step()); len(gone) > 0 {
		t.Errorf("disturbed: %+v", gone)
	}
}

// One that only waits for its pods is as good as ever.
func TestStep_ANodeThatIsKeptForItsPodsIsNotGivenUp(t *testing.T) {
	w := newWorld(t).pods("web", 2, 1500)
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches)
	w.now = w.now.Add(time.Hour)
	out := w.step()
	if len(of[plan.Launch](out))+len(of[plan.Delete](out)) > 0 || len(of[plan.Release](out)) != len(launches) {
		t.Errorf("given up: %+v", out.Plan.Actions)
	}
}
