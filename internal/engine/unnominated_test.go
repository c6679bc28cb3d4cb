package engine_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// unnominated is a world whose daemon may not nominate.
func unnominated(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	w.policy.CannotNominate = true
	return w
}

// upAll brings up the launches of the next Step.
func (w *world) upAll() []plan.Launch {
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches)
	return launches
}

func TestUnnominated_NothingIsNominatedAndThePlanSaysSo(t *testing.T) {
	w := unnominated(t).pods("web", 3, 1000)
	w.upAll()
	out := w.step()
	if n := of[plan.Nominate](out); len(n) != 0 {
		t.Errorf("nominations: %+v", n)
	}
	if got := of[plan.Release](out); len(got) != 1 || got[0].Planned != 3 {
		t.Errorf("releases = %+v, want one node opened at once, as no other is on its way", got)
	}
	if !out.Plan.Unnominated {
		t.Error("the plan does not say that pods cannot be nominated")
	}
}

func TestUnnominated_NodesOpenTogetherAndAreNotKeptForLong(t *testing.T) {
	w := unnominated(t).pods("web", 8, 1700)
	launches := of[plan.Launch](w.step())
	if len(launches) < 3 {
		t.Fatalf("%d launches, want some", len(launches))
	}
	w.order(launches).bringUp(launches[:2])
	out := w.step()
	waits := of[plan.Wait](out)
	if got := of[plan.Release](out); len(got) != 0 || len(waits) != 1 || waits[0].Why != plan.Company {
		t.Fatalf("releases %+v, waits %+v; want none before the others are up, and to wait for them", got, waits)
	}
	w.now = waits[0].Until
	if w.now.Sub(start) > w.policy.ReleaseWait {
		t.Errorf("nodes are kept for %s, want %s at most", w.now.Sub(start), w.policy.ReleaseWait)
	}
	if got := of[plan.Release](w.step()); len(got) != 2 {
		t.Errorf("%d nodes open when the wait is over, want both", len(got))
	}
	w.now = start
	w.bringUp(launches[2:])
	if got := of[plan.Release](w.step()); len(got) != len(launches) {
		t.Errorf("%d of %d nodes open when all are up", len(got), len(launches))
	}
}

func TestUnnominated_ManyNodesDoNotWaitForMore(t *testing.T) {
	w := unnominated(t).pods("web", 21, 3500)
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches[:len(launches)-1])
	if got := of[plan.Release](w.step()); len(launches) != 21 || len(got) != 20 {
		t.Errorf("%d of %d nodes open, want all that are up", len(got), len(launches))
	}
}

func TestUnnominated_PodsLeftOverWaitForNodesOfTheirWaveOnly(t *testing.T) {
	for _, c := range []struct {
		name      string
		late, now time.Duration // when the pod came, and now; the nodes were ordered after a minute and a half
		waits     bool
	}{
		{"nodes of its wave", 40 * time.Second, 2 * time.Minute, true},
		{"nodes that were ordered long after it", 20 * time.Second, 2 * time.Minute, false},
		{"a pod that has just come", 2*time.Minute - time.Second, 2 * time.Minute, false},
	} {
		w := unnominated(t).pods("large", 2, 2900)
		w.now = start.Add(90 * time.Second)
		launches := of[plan.Launch](w.step())
		if w.order(launches); len(launches) != 2 {
			t.Fatalf("%d launches, want one for each pod", len(launches))
		}
		// Each node has 1000m left: the room is there in sum only.
		w.pods("late", 1, 1900, func(p *cluster.Pod) { p.Created = start.Add(c.late) })
		w.now = start.Add(c.now)
		out := w.step()
		left := slices.ContainsFunc(out.Plan.Outcomes, func(o plan.Outcome) bool { return o.Verdict == plan.LeftOpen })
		if got := of[plan.Launch](out); left != c.waits || (len(got) == 0) != c.waits {
			t.Errorf("%s: left open %v with %d launches; outcomes %+v", c.name, left, len(got), out.Plan.Outcomes)
		}
	}
}

// What pods get without nominations, if the scheduler happens to do as planned,
// needs no further plan.
func TestUnnominated_ItsOwnResultNeedsNoFurtherPlan(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := unnominated(t)
		drawApps(rt, w)
		launches := of[plan.Launch](w.step())
		w.order(launches)
		again := func(stage string) engine.Output {
			out := w.step()
			if more := of[plan.Launch](out); len(more) > 0 {
				rt.Fatalf("%s: %d launches more, first %+v", stage, len(more), more[0])
			}
			return out
		}
		again("ordered")
		w.bringUp(launches)
		out := again("up")
		w.open(out.Plan.Actions)
		place := map[string]string{}
		for _, o := range out.Plan.Outcomes {
			for _, id := range o.Pods {
				place[id] = o.On
			}
		}
		for i := range w.objects.Pods {
			if p := &w.objects.Pods[i]; place[p.ID()] != "" {
				p.Node, p.Unschedulable = place[p.ID()], false
			}
		}
		checkPlaces(rt, w)
		if out := again("open"); len(of[plan.Release](out))+len(of[plan.Nominate](out)) > 0 {
			rt.Fatalf("a settled cluster wants %+v", out.Plan.Actions)
		}
	})
}
