package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// What else is planned says nothing about a node whose pods all have another place: it
// is drained at once. One whose pods do not waits as long as it can.
func TestStep_EachInterruptedNodeIsDrainedWhenItsOwnPodsHaveAnotherPlace(t *testing.T) {
	interrupt := func(w *world, pod string) string {
		at := slices.IndexFunc(w.objects.Pods, func(p cluster.Pod) bool { return p.Name == pod })
		for i := range w.objects.Claims {
			if c := &w.objects.Claims[i]; c.Node == w.objects.Pods[at].Node {
				c.Interruption = &cluster.Interruption{Noticed: w.now, Deadline: w.now.Add(2 * time.Minute)}
				return c.Name
			}
		}
		t.Fatalf("%s does not run", pod)
		return ""
	}
	fleet := func() *world {
		w := newWorld(t).pods("small", 1, 1500, ownedBy("small")).running().pods("big", 1, 3800, ownedBy("big")).running().pods("half", 1, 2000, ownedBy("half")).running()
		w.now = w.now.Add(time.Minute)
		return w
	}
	for name, elsewhere := range map[string]func(*world){
		"nothing":                             func(*world) {},
		"a launch for other pods":             func(w *world) { w.pods("other", 1, 3500) },
		"a launch for another node's pods":    func(w *world) { interrupt(w, "big-00") },
		"another node's pods without a place": func(w *world) { interrupt(w, "big-00"); w.objects.Pools[0].Ready = false },
	} {
		w := fleet()
		first := interrupt(w, "small-00")
		elsewhere(w)
		gone := of[plan.Delete](w.step())
		if len(gone) != 1 || gone[0].Claim != first {
			t.Errorf("%s: deletes = %+v, want %s alone", name, gone, first)
		}
	}
	w := fleet().pods("other", 1, 1900)
	interrupt(w, "small-00")
	if out := w.step(); len(of[plan.Delete](out)) != 0 || len(of[plan.Launch](out)) != 1 {
		t.Errorf("its pod has no place that is up: %+v", out.Plan.Actions)
	}
}

// checkDrains wants the nodes drained before they must be whose pods all have a place
// on a node that is up, and no others.
func checkDrains(t fataler, w *world, out engine.Output) {
	t.Helper()
	up, gone := map[string]bool{}, map[string]bool{}
	for _, x := range out.Plan.Outcomes {
		for _, id := range x.Pods {
			up[id] = x.Verdict == plan.OnNode
		}
	}
	for _, d := range of[plan.Delete](out) {
		gone[d.Claim] = true
	}
	for _, c := range w.objects.Claims {
		if c.Interruption == nil || c.Deleting || c.Node == "" || !w.now.Before(c.Interruption.Deadline.Add(-w.policy.DrainReserve)) {
			continue
		}
		waits := slices.ContainsFunc(w.objects.Pods, func(p cluster.Pod) bool { return p.Node == c.Node && !up[p.ID()] })
		if waits == gone[c.Name] {
			t.Fatalf("%s: some of its pods have no place: %t, and it is drained: %t", c.Name, waits, gone[c.Name])
		}
	}
}

func TestStep_NothingIsLaunchedForPodsThatNothingCreatesAnew(t *testing.T) {
	for name, goes := range map[string]func(*world){
		"a deleted NodeClaim": func(w *world) { w.objects.Claims[0].Deleting = true },
		"a deleted Node":      func(w *world) { w.objects.Nodes[0].Deleting = true },
		"an interruption": func(w *world) {
			w.objects.Claims[0].Interruption = &cluster.Interruption{Noticed: w.now, Deadline: w.now.Add(2 * time.Minute)}
		},
	} {
		w := newWorld(t).pods("bare", 1, 900).pods("web", 1, 900, ownedBy("web")).running()
		goes(w)
		if l := of[plan.Launch](w.step()); len(l) != 1 || l[0].Content.MilliCPU >= 1800 {
			t.Errorf("%s: launched %+v, want one node for the pod that comes back", name, l)
		}
	}
}

// It runs as long as it can where no other pod waits for the node to be deleted, and holds
// up none.
func TestStep_AnInterruptedNodeWaitsForNoPlaceOfAPodThatNothingCreatesAnew(t *testing.T) {
	interrupted := func(w *world) []plan.Delete {
		w.objects.Claims[0].Interruption = &cluster.Interruption{Noticed: w.now, Deadline: w.now.Add(time.Hour)}
		return of[plan.Delete](w.step())
	}
	alone := newWorld(t).pods("bare", 1, 900).running()
	if gone := interrupted(alone); len(gone) > 0 {
		t.Errorf("alone: %+v", gone)
	}
	alone.now = alone.now.Add(time.Hour - time.Minute)
	if gone := of[plan.Delete](alone.step()); len(gone) != 1 {
		t.Errorf("at the end of the notice: %+v", gone)
	}
	w := newWorld(t).pods("bare", 1, 900).pods("web", 1, 900, ownedBy("web")).running().pods("other", 1, 900, ownedBy("other")).running()
	if gone := interrupted(w); len(gone) != 1 {
		t.Errorf("beside a pod that has another place: %+v", gone)
	}
}

// The drain of a deleted node may take hours. Its pods are news when they are evicted, and
// until then nothing changes.
func TestStep_ADrainThatWaitsAsksForNoOtherStep(t *testing.T) {
	w := newWorld(t).pods("web", 1, 900, ownedBy("web"), func(p *cluster.Pod) { p.DoNotDisrupt = true }).running()
	w.objects.Pools[0].Disruption = saving()
	w.objects.Claims[0].Deleting = true
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches)
	for range 5 {
		w.now = w.now.Add(10 * time.Minute)
		if out := w.step(); len(launches) != 1 || len(out.Plan.Actions) > 0 {
			t.Fatalf("launched %+v, then %+v", launches, out.Plan.Actions)
		}
	}
	w.objects.Pods = nil // evicted
	w.step()
	w.pods("web", 1, 900, ownedBy("web"), func(p *cluster.Pod) { p.Created = w.now })
	w.now = w.now.Add(5 * time.Second)
	if out := w.step(); len(of[plan.Nominate](out)) != 1 || len(of[plan.Release](out)) != 1 {
		t.Errorf("when the pod is back: %+v", out.Plan.Actions)
	}
}
