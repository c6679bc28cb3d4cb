package engine_test

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// deleting is a world of three full nodes whose pool is being deleted.
func deleting(t testing.TB) *world {
	t.Helper()
	w := full(t)
	w.objects.Pools[0].Deleting = true
	return w
}

func TestStep_NodesOfADeletedPoolAreReplacedFirstByThoseOfAnotherPool(t *testing.T) {
	w := deleting(t).pool(cluster.Pool{Name: "other"})
	w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 1}}
	gone := 0
	w.settle(300, func(o engine.Output) {
		for _, d := range of[plan.Delete](o) {
			if gone++; d.Why != plan.PoolDeleted || !d.Checked {
				t.Errorf("%+v", d)
			}
		}
		if p := w.pending(); len(p) > 2 {
			t.Errorf("more than the pods of one node at once: %v", p)
		}
	})
	if n := len(w.claimsOf("general")); n != 0 || gone != 3 || len(w.pending()) > 0 || len(w.claimsOf("other")) == 0 {
		t.Errorf("%d left, %d gone, pending %v", n, gone, w.pending())
	}
}

func TestStep_NodesOfADeletedPoolGoOneByOneWithoutReplacementIfNoOtherTakesTheirPods(t *testing.T) {
	w := deleting(t)
	w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 1}}
	gone := 0
	w.settle(300, func(o engine.Output) {
		list := of[plan.Delete](o)
		if gone += len(list); len(list) > 1 || len(of[plan.Launch](o)) > 0 {
			t.Errorf("%+v", o.Plan.Actions)
		}
	})
	if n := len(w.claimsOf("general")); n != 0 || gone != 3 {
		t.Errorf("%d left, %d gone", n, gone)
	}
}

func TestStep_ADeletedPoolWhoseBudgetAllowsNothingKeepsItsNodesAndSaysSo(t *testing.T) {
	w := deleting(t)
	w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 0}}
	for _, s := range w.standings() {
		if s.Stay.Reason != plan.BudgetUsed {
			t.Errorf("%+v", s)
		}
	}
	w.objects.Pools[0].Disruption = cluster.Disruption{Paused: true}
	for _, s := range w.standings() {
		if s.Stay.Reason != plan.PoolPaused {
			t.Errorf("%+v", s)
		}
	}
}

func TestStep_ProtectedPodsKeepTheirNodeOfADeletedPoolUnlessTheDrainIsBounded(t *testing.T) {
	for grace, goes := range map[time.Duration]int{0: 0, time.Minute: 3} {
		w := deleting(t)
		w.onPods(func(p *cluster.Pod) { p.DoNotDisrupt = true })
		for i := range w.objects.Claims {
			w.objects.Claims[i].Grace = grace
		}
		gone := 0
		w.settle(100, func(o engine.Output) { gone += len(of[plan.Delete](o)) })
		if gone != goes {
			t.Errorf("grace %s: %d gone", grace, gone)
		}
	}
}

func TestStep_APoolThatIsTerminatedLosesAllNodesAtOnce(t *testing.T) {
	w := deleting(t)
	w.objects.Pools[0].Terminate = true
	w.objects.Pools[0].Disruption = cluster.Disruption{Budgets: []cluster.Budget{{Most: 0}}, Paused: true}
	w.objects.Nodes[1].DoNotDisrupt = true
	out := w.step()
	if list := of[plan.Delete](out); len(list) != 3 || list[0].Why != plan.PoolDeleted || list[0].Checked || len(of[plan.Launch](out)) > 0 {
		t.Errorf("%+v", out.Plan.Actions)
	}
	w.objects.Pools[0].Deleting = false // the mark alone does nothing
	w.memory = engine.Memory{}
	if list := of[plan.Delete](w.step()); len(list) > 0 {
		t.Errorf("%+v", list)
	}
}

func TestStep_ANodeOfADeletedPoolThatIsNotUpYetGoesAtOnce(t *testing.T) {
	w := newWorld(t).pods("web", 1, 900)
	launches := of[plan.Launch](w.step())
	w.order(launches)
	w.objects.Pools[0].Deleting = true
	out := w.step()
	if list := of[plan.Delete](out); len(list) != 1 || list[0].Claim != launches[0].Name {
		t.Errorf("%+v", out.Plan.Actions)
	}
	for _, o := range out.Plan.Outcomes {
		if o.Verdict != plan.Unplaceable {
			t.Errorf("%+v", o)
		}
	}
}

func TestStep_ADeletedStaticPoolLaunchesNothing(t *testing.T) {
	w := staticWorld(t, 2)
	w.objects.Pools[1].Deleting = true
	w.objects.Claims[0].Deleting = true
	gone := 0
	w.settle(100, func(o engine.Output) {
		gone += len(of[plan.Delete](o))
		if l := of[plan.Launch](o); len(l) > 0 {
			t.Errorf("%+v", l)
		}
	})
	if gone != 1 {
		t.Errorf("%d gone", gone)
	}
}

// Pods that were placed there would have to move again soon.
func TestStep_NoPodGoesToANodeOfADeletedPool(t *testing.T) {
	for name, c := range map[string]struct {
		other cluster.Pool
		goes  plan.Verdict
	}{
		"room in another pool":     {cluster.Pool{Name: "static", Static: true, Replicas: 1}, plan.OnNode},
		"a new node elsewhere":     {cluster.Pool{Name: "other"}, plan.OnLaunch},
		"no room but in that pool": {cluster.Pool{Name: "other", Limits: []quantity.Amount{{Name: "nodes", Count: 0}}}, plan.Unplaceable},
	} {
		w := newWorld(t).pods("web", 1, 300).running().pool(c.other)
		w.settle(20, nil)
		w.objects.Pools[0].Deleting = true
		w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 0}}
		w.pods("late", 1, 300)
		w.now = w.now.Add(time.Minute)
		out := w.step()
		if list := out.Plan.Outcomes; len(list) != 1 || list[0].Verdict != c.goes {
			t.Errorf("%s: %+v, want %s", name, list, c.goes)
		}
		old := w.claimsOf("general")[0].Node
		for _, n := range of[plan.Nominate](out) {
			if n.Node == old {
				t.Errorf("%s: %+v", name, n)
			}
		}
		if c.goes == plan.OnLaunch && len(out.Plan.Proofs) != 1 {
			t.Errorf("%s: %+v", name, out.Plan.Proofs)
		}
		for _, x := range out.Plan.Proofs {
			if err := w.check(x); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A node is deleted only when it is initialized, so it opens also for nobody.
func TestStep_ANodeOfADeletedPoolThatRunsPodsOpensForNoOthers(t *testing.T) {
	w := newWorld(t).pods("web", 1, 300)
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches).pool(cluster.Pool{Name: "other"})
	p, node := &w.objects.Pods[0], w.objects.Nodes[0].Name
	p.Node, p.Unschedulable = node, false
	w.objects.Pools[0].Deleting = true
	w.pods("late", 1, 300)
	for range 3 {
		out := w.step()
		for _, r := range of[plan.Release](out) {
			if r.Node == node && len(of[plan.Nominate](out)) == 0 {
				return
			}
		}
		w.now = w.now.Add(time.Minute)
	}
	t.Errorf("%s does not open", node)
}

func TestStep_AnInterruptedNodeOfAPoolThatIsTerminatedWaitsForNoReplacement(t *testing.T) {
	w := deleting(t)
	w.objects.Pools[0].Terminate = true
	w.objects.Claims[1].Interruption = &cluster.Interruption{Reason: "spot_interrupted", Noticed: w.now, Deadline: w.now.Add(2 * time.Minute)}
	if list := of[plan.Delete](w.step()); len(list) != 3 {
		t.Errorf("%+v", list)
	}
}

// A node that is empty is deleted because its pool is, and for no other reason: else the
// two reasons would take turns.
func TestStep_AnEmptyNodeOfADeletedPoolGoesWithItsPool(t *testing.T) {
	w := deleting(t)
	w.objects.Pools[0].Disruption = cluster.Disruption{Policy: cluster.WhenEmpty, Budgets: []cluster.Budget{{Most: 0, Reasons: []string{"Drifted"}}}}
	w.objects.Pods = nil
	w.settle(50, func(o engine.Output) {
		for _, d := range of[plan.Disrupt](o) {
			if d.Why != plan.PoolDeleted {
				t.Errorf("%+v", d)
			}
		}
		if list := of[plan.Restore](o); len(list) > 0 {
			t.Errorf("%+v", list)
		}
	})
	if n := len(w.claimsOf("general")); n > 0 {
		t.Errorf("%d left", n)
	}
}
