package engine_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// evicts counts the pods of nodes that are announced and still there which need an
// eviction that the budget allows, and those nodes.
func (w *world) evicts(b *cluster.PodBudget) (pods int64, nodes int) {
	for _, c := range w.objects.Claims {
		if c.Disrupting == nil && !c.Deleting {
			continue
		}
		var here int64
		for _, p := range w.objects.Pods {
			if p.Node == c.Node && p.Moves() && b.Selects(p.Namespace, p.Labels) && !p.NotStarted && !(p.NotReady && b.EvictsNotReady) {
				here++
			}
		}
		if pods += here; here > 0 {
			nodes++
		}
	}
	return pods, nodes
}

// inTurn fails if nodes are announced together that need more evictions than a
// PodDisruptionBudget allows. One node alone may: its pods are evicted in turn.
func (w *world) inTurn(t testing.TB) {
	t.Helper()
	for i := range w.objects.PodBudgets {
		b := &w.objects.PodBudgets[i]
		if pods, nodes := w.evicts(b); nodes > 1 && pods > b.Allowed {
			t.Fatalf("%d pods of %d nodes are to be evicted, %s allows %d", pods, nodes, b.ID(), b.Allowed)
		}
	}
}

func webBudget(allowed int64) []cluster.PodBudget {
	return []cluster.PodBudget{{UID: "b", Namespace: "default", Name: "web", Allowed: allowed, Selector: pods("web")}}
}

func TestStep_NodesThatShareAPodBudgetAreAnnouncedTogetherOnlyWithinIt(t *testing.T) {
	for allowed, want := range map[int64]int{1: 1, 2: 2, 3: 3} {
		w := halfEmpty(t)
		w.objects.PodBudgets = webBudget(allowed)
		most := 0
		w.settle(200, func(engine.Output) {
			_, n := w.evicts(&w.objects.PodBudgets[0])
			most = max(most, n)
		})
		if most != want || len(w.objects.Nodes) != 3 {
			t.Errorf("%d allowed: %d announced at once, %d nodes are left", allowed, most, len(w.objects.Nodes))
		}
	}
}

// A node with more pods of a budget than it allows is deleted alone: its drain takes turns.
func TestStep_ANodeWithMorePodsThanTheirBudgetAllowsStillGoes(t *testing.T) {
	w := full(t).drift(0, 1)
	w.objects.PodBudgets = []cluster.PodBudget{{UID: "b", Namespace: "default", Name: "all", Allowed: 1}}
	w.seen = func(engine.Output) { w.inTurn(t) }
	if gone, _ := w.renewed(200, plan.Drifted); len(gone) != 2 {
		t.Errorf("gone %v", gone)
	}
}

// Nodes that wait for their turn get no replacements yet, which would run for nothing.
func TestStep_DriftedNodesThatShareAPodBudgetAreReplacedInTurn(t *testing.T) {
	w := full(t).drift(0, 1, 2)
	w.objects.PodBudgets = []cluster.PodBudget{{UID: "b", Namespace: "default", Name: "all", Allowed: 2}}
	w.seen = func(engine.Output) {
		if n := len(w.objects.Claims); n > 4 {
			t.Errorf("%d nodes at once", n)
		}
	}
	if gone, _ := w.renewed(300, plan.Drifted); len(gone) != 3 {
		t.Errorf("gone %v", gone)
	}
}

func TestStep_EvictionsOfDrainsThatGoOnCountForAPodBudget(t *testing.T) {
	for name, c := range map[string]struct {
		allowed int64
		change  func(*world)
		goes    int // of the three nodes that could
	}{
		"a node drains":           {1, func(*world) {}, 0},
		"the budget allows more":  {2, func(*world) {}, 1},
		"its pod is evicted":      {1, func(w *world) { w.objects.Pods[0].Deleting = true }, 1},
		"its pod has not started": {1, func(w *world) { w.objects.Pods[0].NotReady, w.objects.Pods[0].NotStarted = true, true }, 1},
		"a pod holds it for ever": {1, func(w *world) { w.objects.Pods[0].DoNotDisrupt = true }, 1},
		"it is taken by EC2": {1, func(w *world) {
			c := claimAt(w, 0)
			c.Deleting, c.Interruption = false, &cluster.Interruption{Noticed: w.now, Deadline: w.now.Add(time.Hour)}
		}, 1},
		"pods of another app only": {1, func(w *world) { w.objects.PodBudgets[0].Selector = pods("other") }, 3},
	} {
		w := halfEmpty(t)
		w.objects.PodBudgets = webBudget(c.allowed)
		claimAt(w, 0).Deleting = true
		c.change(w)
		most := 0
		w.settle(100, func(engine.Output) {
			n := 0
			for _, x := range w.objects.Claims {
				if x.Disrupting != nil && x.Disrupting.Reason == string(plan.Underutilized) {
					n++
				}
			}
			most = max(most, n)
		})
		if c.goes == 0 && most > 0 || c.goes > 0 && most == 0 || c.goes == 1 && most > 1 {
			t.Errorf("%s: %d announced at once, want %d", name, most, c.goes)
		}
	}
}

// One node is about to be replaced, another has drifted and may not be deleted yet. The one
// eviction that the first needs counts once, so that of the others one may be deleted.
func TestStep_EvictionsOfAMoveUnderWayCountOnceForAPodBudget(t *testing.T) {
	w := halfEmpty(t).drift(0, 1)
	w.objects.PodBudgets = webBudget(2)
	source, held := w.objects.Claims[0], w.objects.Claims[1]
	w.onPods(func(p *cluster.Pod) { p.DoNotDisrupt = p.Node == held.Node })
	w.objects.Claims = append(w.objects.Claims, cluster.Claim{
		Name: "coming", UID: "coming", Pool: source.Pool, Class: source.Class, Created: w.now, Launched: true, InstanceType: source.InstanceType, Zone: source.Zone, CapacityType: source.CapacityType,
		Move: &cluster.Move{ID: "m", Count: 1, Reason: string(plan.Drifted), Sources: []cluster.Source{{Claim: source.Name, UID: source.UID}}, Deadline: w.now.Add(time.Hour)},
	})
	announced := 0
	for range 100 {
		announced += len(of[plan.Disrupt](w.step()))
		if announced > 0 {
			break
		}
		w.now = w.now.Add(100 * time.Millisecond)
	}
	if announced != 1 {
		t.Errorf("%d announced, want 1", announced)
	}
}

// claimAt returns the NodeClaim whose node runs the i-th pod.
func claimAt(w *world, i int) *cluster.Claim {
	for k := range w.objects.Claims {
		if w.objects.Claims[k].Node == w.objects.Pods[i].Node {
			return &w.objects.Claims[k]
		}
	}
	return nil
}

func TestStandings_NameTheBudgetOfPodsForWhichOtherNodesGoFirst(t *testing.T) {
	w := full(t).drift(0)
	w.objects.PodBudgets = []cluster.PodBudget{{UID: "b", Namespace: "default", Name: "all", Allowed: 2}}
	w.objects.Claims[1].Deleting = true
	s := w.standings()[w.objects.Claims[0].Name]
	if s.Stay.Reason != plan.PodBudget || !strings.Contains(s.Explain(), "PodDisruptionBudget default/all of pod default/web-") || !strings.Contains(s.Explain(), "nodes that are leaving already") {
		t.Errorf("%s: %+v", s.Explain(), s)
	}
}

// In drawn worlds, nodes that are deleted to save money or have drifted keep within the
// budgets of their pods together, and none waits for ever.
func TestStep_NodesAreAnnouncedWithinPodBudgetsInAnyWorld(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.objects.Pools[0].Disruption = saving()
		drawApps(rt, w)
		w.settle(60, nil)
		keep := rapid.IntRange(1, 3).Draw(rt, "keep")
		i := 0
		w.drop(func(cluster.Pod) bool { i++; return i%(keep+1) == 0 })
		w.now = w.now.Add(time.Hour)
		for _, app := range []string{"app0", "app1"} {
			if rapid.Bool().Draw(rt, "budget of "+app) {
				w.objects.PodBudgets = append(w.objects.PodBudgets, cluster.PodBudget{
					UID: app, Namespace: "default", Name: app, Selector: pods(app), Allowed: rapid.Int64Range(1, 3).Draw(rt, "allowed"),
					EvictsNotReady: rapid.Bool().Draw(rt, "evicts not ready"),
				})
			}
		}
		for i := range w.objects.Claims {
			if rapid.Bool().Draw(rt, "drifts") {
				w.drift(i)
			}
		}
		w.settle(600, func(engine.Output) {
			for i := range w.objects.PodBudgets {
				b := &w.objects.PodBudgets[i]
				if pods, nodes := w.evicts(b); nodes > 1 && pods > b.Allowed {
					rt.Fatalf("%d pods of %d nodes are to be evicted, %s allows %d", pods, nodes, b.ID(), b.Allowed)
				}
			}
		})
		for _, s := range w.standings() {
			if s.DeletedFor != "" || s.Stay.Reason == plan.PodBudget {
				rt.Fatalf("%s still %s", s.Claim, s.Explain())
			}
		}
	})
}
