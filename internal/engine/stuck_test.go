package engine_test

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// A node that registers and never becomes ready for its pods is given up after a
// while: they get another one, and it is deleted, unless it must not be disturbed.
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
	checkSound(t, w.objects, out)
	gone := of[plan.Delete](out)
	if len(of[plan.Launch](out)) != 1 || len(gone) != 1 || gone[0].Why != plan.InitializationTimeout {
		t.Errorf("not given up: %+v", out.Plan.Actions)
	}
	w.objects.Nodes[0].DoNotDisrupt = true
	if gone := of[plan.Delete](w.step()); len(gone) > 0 {
		t.Errorf("disturbed: %+v", gone)
	}
}

// A NodeClaim that is not launched, or does not register, in time gets no pods in the
// plan that removes it.
func TestStep_PodsDoNotWaitForANodeClaimThatIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		limit  time.Duration
		change func(*cluster.Claim)
	}{
		"not launched":   {engine.DefaultPolicy().LaunchTimeout, func(*cluster.Claim) {}},
		"not registered": {engine.DefaultPolicy().RegistrationTimeout, func(c *cluster.Claim) { c.Launched = true }},
	} {
		w := newWorld(t).pods("web", 1, 1500)
		launches := of[plan.Launch](w.step())
		w.order(launches).bringUp(launches)
		claim := &w.objects.Claims[0]
		claim.Launched, claim.Registered, claim.Node, w.objects.Nodes = false, false, "", nil
		c.change(claim)
		w.now = w.now.Add(c.limit - 1)
		if out := w.step(); len(of[plan.Launch](out))+len(of[plan.Delete](out)) > 0 {
			t.Errorf("%s: given up too soon: %+v", name, out.Plan.Actions)
		}
		w.now = w.now.Add(1)
		out := w.step()
		if len(of[plan.Launch](out)) != 1 || len(of[plan.Delete](out)) != 1 {
			t.Errorf("%s: not given up: %+v", name, out.Plan.Actions)
		}
		checkSound(t, w.objects, out)
	}
}

// There is no instance to pay for.
func TestStep_TheEndOfANodeClaimThatWasNotLaunchedSavesNothing(t *testing.T) {
	w := newWorld(t).pods("web", 1, 1500)
	w.order(of[plan.Launch](w.step()))
	w.now = w.now.Add(engine.DefaultPolicy().LaunchTimeout)
	if gone := of[plan.Delete](w.step()); len(gone) != 1 || gone[0].Saves != 0 {
		t.Errorf("deletes = %+v", gone)
	}
}

// What a policy leaves out is as by default.
func TestStep_APolicyThatSaysNothingHasTheDefaultTimes(t *testing.T) {
	w := newWorld(t).pods("web", 1, 1500)
	w.policy = engine.Policy{}
	launches := of[plan.Launch](w.step())
	out := w.order(launches).step()
	if len(of[plan.Delete](out))+len(of[plan.Launch](out)) > 0 {
		t.Errorf("given up at once: %+v", out.Plan.Actions)
	}
	if waits := of[plan.Wait](out); len(waits) != 1 || waits[0].Until.Sub(w.now) != engine.DefaultPolicy().LaunchTimeout {
		t.Errorf("looked at again: %+v", waits)
	}
	if out := w.bringUp(launches).step(); len(of[plan.Release](out)) != 1 {
		t.Errorf("not opened: %+v", out.Plan.Actions)
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
