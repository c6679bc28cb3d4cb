package engine_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// roomy is a cluster with a node that runs a pod and has room for one more.
func roomy(t testing.TB) *world {
	t.Helper()
	return newWorld(t).pods("a", 1, 1000, func(p *cluster.Pod) { p.Shape.Requests.MemoryBytes = 5 << 29 }).running()
}

// nominate writes the nominations of a plan, and says of how many pods.
func (w *world) nominate(out engine.Output) (n int) {
	for _, a := range of[plan.Nominate](out) {
		for i := range w.objects.Pods {
			if p := &w.objects.Pods[i]; p.ID() == a.Pod {
				p.Nominated, p.NominatedByUs = a.Node, true
				n++
			}
		}
	}
	return n
}

// refuse clears all nominations, as the scheduler does when an attempt fails.
func (w *world) refuse() *world {
	for i := range w.objects.Pods {
		w.objects.Pods[i].Nominated = ""
	}
	return w
}

// tried lets the scheduler refuse what is nominated, again and again, and returns the
// plan that leaves the node out, or the last.
func (w *world) tried(times int, every time.Duration) (out engine.Output) {
	for range times {
		if w.nominate(w.step()) > 0 {
			w.step() // the daemon sees its own nomination
		}
		w.now = w.now.Add(every)
		if out = w.refuse().step(); len(out.Plan.LeftOut) > 0 {
			return out
		}
		w.nominate(out)
	}
	return out
}

func TestStep_LeavesOutANodeWhereTheSchedulerRefusesAPod(t *testing.T) {
	w := roomy(t).pods("b", 1, 800)
	node := w.objects.Nodes[0].Name
	out := w.tried(10, 2*time.Second)
	if got := of[plan.Launch](out); len(got) != 1 || len(got[0].Pods) != 1 || got[0].Pods[0] != "default/b-00" {
		t.Fatalf("launches = %+v, want one for the pod that the node does not get", got)
	}
	until := w.now.Add(memory.LeftOutFor)
	want := plan.LeftOut{Pod: "default/b-00", Node: node, Times: memory.RefusedAtMost, Until: until}
	if got := out.Plan.LeftOut; len(got) != 1 || got[0] != want {
		t.Errorf("left out = %+v, want %+v", got, want)
	}
	if n := len(of[plan.Nominate](out)); n != 0 {
		t.Errorf("%d nominations, want none", n)
	}
	w.order(of[plan.Launch](out))
	w.now = w.now.Add(time.Millisecond)
	if again := w.step(); len(again.Plan.LeftOut)+len(of[plan.Launch](again))+len(of[plan.Nominate](again)) > 0 {
		t.Errorf("the next plan says it again, or does more: %+v", again.Plan)
	}
}

func TestStep_TriesANodeThatWasLeftOutAgainAfterAWhile(t *testing.T) {
	w := roomy(t).pods("b", 1, 800)
	w.objects.Pools[0].Limits = []quantity.Amount{{Name: "nodes", Count: 1}}
	out := w.tried(10, 2*time.Second)
	if len(out.Plan.LeftOut) != 1 {
		t.Fatal("nothing is left out")
	}
	waits := of[plan.Wait](out)
	if len(waits) != 1 || !waits[0].Until.Equal(w.now.Add(memory.LeftOutFor)) || waits[0].Why != plan.RefusedNode {
		t.Fatalf("waits %+v, want one for the node to be tried again", waits)
	}
	w.now = waits[0].Until
	if got := of[plan.Nominate](w.step()); len(got) != 1 || got[0].Node != w.objects.Nodes[0].Name {
		t.Errorf("nominations = %+v, want the pod tried on the node again", got)
	}
}

// The scheduler clears a nomination each time an attempt fails, also within the
// second in which another node opens.
func TestStep_ClearedNominationsInQuickSuccessionAreNoRefusals(t *testing.T) {
	w := roomy(t).pods("b", 1, 800)
	if out := w.tried(2*memory.RefusedAtMost, 100*time.Millisecond); len(out.Plan.LeftOut)+len(of[plan.Launch](out)) > 0 {
		t.Errorf("plan = %+v, want the pod nominated again", out.Plan)
	}
}

// A pod that is bound has lost its nomination, too, and the next of its class was
// never nominated before.
func TestStep_ANominationThatEndsWithTheBindingIsNoRefusal(t *testing.T) {
	w := roomy(t)
	for range 2 * memory.RefusedAtMost {
		w.pods("b", 1, 800)
		w.nominate(w.step())
		w.step()
		w.now = w.now.Add(2 * time.Second)
		p := &w.objects.Pods[len(w.objects.Pods)-1]
		p.Node, p.Nominated, p.Unschedulable = p.Nominated, "", false
		out := w.step()
		if p.Node == "" || len(out.Plan.LeftOut) > 0 || len(w.memory.Nominations) > 0 {
			t.Fatalf("pod on %q, plan %+v, remembered %+v; want the pod bound and forgotten", p.Node, out.Plan, w.memory.Nominations)
		}
		w.objects.Pods = w.objects.Pods[:len(w.objects.Pods)-1]
	}
}

// Where the scheduler refuses a class on every new node, another node does not help:
// not more than a few are launched for it.
func TestStep_LaunchesFewNodesForAPodThatTheSchedulerRefusesEverywhere(t *testing.T) {
	w := roomy(t).pods("b", 1, 800)
	launched := 0
	for end := w.now.Add(memory.LeftOutFor / 2); w.now.Before(end); {
		out := w.tried(memory.RefusedAtMost, 2*time.Second)
		launches := of[plan.Launch](out)
		launched += len(launches)
		w.order(launches).bringUp(launches)
		opened := w.step()
		w.nominate(opened)
		for _, r := range of[plan.Release](opened) {
			w.open([]plan.Action{r})
		}
		w.now = w.now.Add(2 * time.Second)
	}
	if launched != memory.LeftOutAtMost {
		t.Errorf("%d nodes launched for a pod that each of them refuses, want %d", launched, memory.LeftOutAtMost)
	}
}

// Whatever runs in the cluster, the scheduler is asked a few times for a place that it
// refuses, and not again for as long as the place is left out.
func TestStep_GivesUpAPlaceThatTheSchedulerRefuses(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		drawApps(rt, w)
		first := w.objects.Pods[rapid.IntRange(0, len(w.objects.Pods)-1).Draw(rt, "pod")].Shape.Requests.MilliCPU
		refusing, asked, leftOut := "", map[string]int{}, false // asked: by app, since each is refused apart
		for range 3 * memory.RefusedAtMost {
			out := w.step()
			leftOut = leftOut || len(out.Plan.LeftOut) > 0
			launches := of[plan.Launch](out)
			w.order(launches).bringUp(launches)
			before := maps.Clone(asked)
			for _, a := range out.Plan.Actions {
				x, nominates := a.(plan.Nominate)
				if !nominates {
					w.open([]plan.Action{a})
					continue
				}
				i := slices.IndexFunc(w.objects.Pods, func(p cluster.Pod) bool { return p.ID() == x.Pod })
				p := &w.objects.Pods[i]
				if p.Shape.Requests.MilliCPU == first && (refusing == "" || refusing == x.Node) {
					app := string(p.Labels.AppendKey(nil))
					refusing, asked[app] = x.Node, before[app]+1
					p.Nominated, p.NominatedByUs = x.Node, true
					continue
				}
				p.Node, p.Unschedulable = x.Node, false
			}
			w.step()
			w.refuse()
			w.now = w.now.Add(2 * time.Second)
		}
		for _, n := range asked {
			if most := memory.RefusedAtMost + 2; n > most {
				rt.Fatalf("%d nominations of an app for %s one after the other, want %d at most", n, refusing, most)
			}
		}
		if refusing == "" && leftOut {
			rt.Fatal("a node is left out that refused nobody")
		}
	})
}
