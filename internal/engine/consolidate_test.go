package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// saving lets nodes with pods be deleted at once to save money.
func saving() cluster.Disruption {
	return cluster.Disruption{Policy: cluster.WhenEmptyOrUnderutilized, After: time.Nanosecond}
}

// halfEmpty has six nodes, each with one of the two pods that it was launched for.
func halfEmpty(t testing.TB) *world {
	t.Helper()
	return halfEmptyOf(t, 6)
}

// halfEmptyOf is a fleet of so many nodes that are half empty.
func halfEmptyOf(t testing.TB, nodes int) *world {
	t.Helper()
	w := newWorld(t)
	w.objects.Pools[0].Disruption = saving()
	w.pods("web", 2*nodes, 900, func(p *cluster.Pod) { p.Labels = label.FromMap(map[string]string{"app": "web"}) }).running()
	if n := len(w.objects.Nodes); n != nodes {
		t.Fatalf("%d nodes", n)
	}
	seen := map[string]bool{}
	w.drop(func(p cluster.Pod) bool { was := seen[p.Node]; seen[p.Node] = true; return was })
	w.now = w.now.Add(time.Hour)
	return w
}

// drop removes pods.
func (w *world) drop(gone func(cluster.Pod) bool) *world {
	w.objects.Pods = slices.DeleteFunc(w.objects.Pods, gone)
	return w
}

// cost is what the nodes cost an hour.
func (w *world) cost() (sum quantity.Money) {
	for _, c := range w.objects.Claims {
		for _, t := range w.objects.Classes[0].Types {
			for _, o := range t.Offerings {
				if t.Name == c.InstanceType && o.Zone == c.Zone && o.CapacityType == c.CapacityType {
					sum = sum.Add(o.Price)
				}
			}
		}
	}
	return sum
}

func (w *world) nodeNamed(name string) (cluster.Node, bool) {
	i := slices.IndexFunc(w.objects.Nodes, func(n cluster.Node) bool { return n.Name == name })
	if i < 0 {
		return cluster.Node{}, false
	}
	return w.objects.Nodes[i], true
}

func (w *world) pending() (names []string) {
	for _, p := range w.objects.Pods {
		if p.Node == "" {
			names = append(names, p.ID())
		}
	}
	return names
}

func TestStep_NodesWhosePodsFitElsewhereGo(t *testing.T) {
	w := halfEmpty(t)
	var taken []string
	w.settle(100, func(o engine.Output) {
		for _, d := range of[plan.Delete](o) {
			taken = append(taken, d.Claim)
			if d.Why != plan.Underutilized || !d.Checked || len(d.Pods) != 1 || d.Saves == 0 {
				t.Errorf("%+v", d)
			}
		}
		if l := of[plan.Launch](o); len(l) > 0 {
			t.Errorf("launched %+v", l)
		}
	})
	if len(taken) != 3 || len(w.objects.Nodes) != 3 || len(w.pending()) > 0 {
		t.Errorf("%v went, %d nodes are left, without a node: %v", taken, len(w.objects.Nodes), w.pending())
	}
}

// Each case changes the world so that nothing, or not everything, may be deleted.
func TestStep_WhatProtectsANodeKeepsItFromSavingMoney(t *testing.T) {
	every := func(f func(*cluster.Pod)) func(*world) {
		return func(w *world) {
			for i := range w.objects.Pods {
				f(&w.objects.Pods[i])
			}
		}
	}
	pdb := func(allowed int64) cluster.PodBudget {
		return cluster.PodBudget{UID: "b", Namespace: "default", Name: "web", Allowed: allowed, Selector: pods("web")}
	}
	for name, c := range map[string]struct {
		change func(*world)
		left   int
	}{
		"policy WhenEmpty":    {func(w *world) { w.objects.Pools[0].Disruption.Policy = cluster.WhenEmpty }, 6},
		"no policy":           {func(w *world) { w.objects.Pools[0].Disruption.Policy = "" }, 6},
		"never":               {func(w *world) { w.objects.Pools[0].Disruption.Never = true }, 6},
		"paused":              {func(w *world) { w.objects.Pools[0].Disruption.Paused = true }, 6},
		"daemon paused":       {func(w *world) { w.policy.PauseDisruption = true }, 6},
		"budget of no node":   {func(w *world) { w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 0}} }, 6},
		"budget of a node":    {func(w *world) { w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 1}} }, 3},
		"pods do-not-disrupt": {every(func(p *cluster.Pod) { p.DoNotDisrupt = true }), 6},
		"pods for an hour":    {every(func(p *cluster.Pod) { p.ProtectedUntil = start.Add(100 * time.Hour) }), 6},
		"pods of a gang":      {every(func(p *cluster.Pod) { p.Shape.Gang = cluster.Gang{Name: "g", Size: 1} }), 6},
		"a pod budget":        {func(w *world) { w.objects.PodBudgets = []cluster.PodBudget{pdb(0)} }, 6},
		"a pod budget allows": {func(w *world) { w.objects.PodBudgets = []cluster.PodBudget{pdb(1)} }, 3},
		"a pod budget of unhealthy pods": {func(w *world) {
			b := pdb(0)
			b.EvictsNotReady = true
			w.objects.PodBudgets = []cluster.PodBudget{b}
			every(func(p *cluster.Pod) { p.NotReady = true })(w)
		}, 3},
		"a pod budget that guards unhealthy pods": {func(w *world) {
			w.objects.PodBudgets = []cluster.PodBudget{pdb(0)}
			every(func(p *cluster.Pod) { p.NotReady = true })(w)
		}, 6},
		"two pod budgets of pods that have not started": {func(w *world) {
			other := pdb(0)
			other.Name, other.UID = "other", "o"
			w.objects.PodBudgets = []cluster.PodBudget{pdb(0), other}
			every(func(p *cluster.Pod) { p.NotReady, p.NotStarted = true, true })(w)
		}, 3},
		"two pod budgets": {func(w *world) {
			other := pdb(1)
			other.Name, other.UID = "other", "o"
			w.objects.PodBudgets = []cluster.PodBudget{pdb(1), other}
		}, 6},
		"nodes do-not-disrupt": {func(w *world) {
			for i := range w.objects.Nodes {
				w.objects.Nodes[i].DoNotDisrupt = true
			}
		}, 6},
		"nodes do-not-consolidate": {func(w *world) {
			for i := range w.objects.Nodes {
				w.objects.Nodes[i].Stays = true
			}
		}, 6},
		"pods that just came": {func(w *world) {
			w.objects.Pools[0].Disruption.After = 100 * time.Hour
			for i := range w.objects.Claims {
				w.objects.Claims[i].LastPodEvent = w.now
			}
		}, 6},
	} {
		w := halfEmpty(t)
		c.change(w)
		most := 0
		w.settle(60, func(engine.Output) {
			n := 0
			for i := range w.objects.Claims {
				if w.objects.Claims[i].Disrupting != nil {
					n++
				}
			}
			most = max(most, n)
		})
		if len(w.objects.Nodes) != c.left || name == "budget of a node" && most != 1 {
			t.Errorf("%s: %d nodes are left, want %d; %d at once", name, len(w.objects.Nodes), c.left, most)
		}
	}
}

func TestStep_ANodeThatIsNotToBeConsolidatedStaysAlsoWhenItIsEmpty(t *testing.T) {
	for name, stays := range map[string]bool{"do-not-consolidate": true, "no annotation": false} {
		w := halfEmpty(t)
		w.objects.Pools[0].Disruption.Policy = cluster.WhenEmpty
		n := &w.objects.Nodes[0]
		w.drop(func(p cluster.Pod) bool { return p.Node == n.Name })
		n.Stays = stays
		empty := n.Name
		w.settle(60, nil)
		if _, up := w.nodeNamed(empty); up != stays {
			t.Errorf("%s: the empty node is there: %v", name, up)
		}
	}
}

// Node 0 is a sixth of the pool's cost. With twenty small pods it is two thirds of what
// moving all pods disturbs.
func TestStep_ABalancedPoolGivesUpNoNodeThatDisturbsMoreThanItSaves(t *testing.T) {
	for _, c := range []struct {
		policy cluster.Policy
		small  int
		change func(*cluster.Pod)
		goes   bool
	}{
		{cluster.WhenEmptyOrUnderutilized, 20, nil, true},
		{cluster.Balanced, 20, nil, false},
		{cluster.Balanced, 2, nil, true},
		{cluster.Balanced, 2, func(p *cluster.Pod) { p.DeletionCost = 1 << 30 }, false},   // nine each
		{cluster.Balanced, 2, func(p *cluster.Pod) { p.Shape.Priority = 1 << 30 }, false}, // ten each
		{cluster.Balanced, 20, func(p *cluster.Pod) { p.DeletionCost = -1 << 30 }, true},  // nothing
	} {
		w := halfEmpty(t)
		w.objects.Pools[0].Disruption.Policy = c.policy
		w.policy.MoveTime = 1 // moves cost next to nothing
		first := w.objects.Nodes[0].Name
		w.onPods(func(p *cluster.Pod) { p.DoNotDisrupt = p.Node != first })
		w.pods("small", c.small, 2, func(p *cluster.Pod) {
			p.Node, p.Unschedulable = first, false
			if c.change != nil {
				c.change(p)
			}
		})
		w.settle(60, nil)
		if _, stays := w.nodeNamed(first); stays == c.goes {
			t.Errorf("%s with %d small pods: stays %v", c.policy, c.small, stays)
		}
	}
}

// Two large nodes with little on them are replaced by a small one, which is ready
// before anything is evicted.
func TestStep_ACheaperNodeIsReadyBeforeTheNodesThatItReplacesGo(t *testing.T) {
	w := newWorld(t)
	w.objects.Pools[0].Disruption = saving()
	w.pods("big", 2, 3000).pods("small", 2, 500).running()
	for i := range w.objects.Pods { // one small pod on each large node
		if p := &w.objects.Pods[i]; strings.HasPrefix(p.Name, "small") {
			p.Node = w.objects.Nodes[i%2].Name
		}
	}
	w.drop(func(p cluster.Pod) bool { return strings.HasPrefix(p.Name, "big") })
	w.objects.Nodes[0].Labels, w.objects.Nodes[1].Labels = w.objects.Nodes[0].Labels.With("only", "here"), w.objects.Nodes[1].Labels.With("only", "there")
	w.now = w.now.Add(time.Hour)
	began := w.cost()
	var story []string
	w.settle(100, func(o engine.Output) {
		for _, a := range o.Plan.Actions {
			switch a := a.(type) {
			case plan.Launch:
				if a.Move == nil || a.Move.Reason != "Underutilized" || len(a.Move.Sources) == 0 {
					t.Errorf("move %+v", a.Move)
				}
				story = append(story, "launch")
			case plan.Delete:
				story = append(story, "delete")
				if len(w.pending()) > 0 {
					t.Errorf("pods without a node: %v", w.pending())
				}
			}
		}
	})
	if w.cost() >= began || len(w.pending()) > 0 || len(w.objects.Nodes) != 1 {
		t.Errorf("%v; cost %s, before %s, on %d nodes; without a node: %v", story, w.cost().Dollars(), began.Dollars(), len(w.objects.Nodes), w.pending())
	}
}

func TestStep_ANodeIsRestoredWhenItsPodsLoseTheirPlace(t *testing.T) {
	w := halfEmpty(t)
	out := w.step()
	for len(of[plan.Disrupt](out)) == 0 {
		w.now = w.now.Add(10 * time.Millisecond)
		out = w.step()
	}
	w.carry(out.Plan.Actions)
	for i := range w.objects.Nodes { // nothing has room any more
		w.objects.Nodes[i].Allocatable.MilliCPU = 1000
	}
	out = w.step()
	if got := of[plan.Restore](out); len(got) != 3 || len(of[plan.Launch](out)) != 0 {
		t.Fatalf("%+v", out.Plan.Actions)
	}
	w.carry(out.Plan.Actions)
	for _, c := range w.objects.Claims {
		if c.Disrupting != nil {
			t.Errorf("%+v", c)
		}
	}
}

// One budget that allows no eviction may allow it when other nodes have drained. Two
// budgets on a pod never do.
func TestStep_ATaintedNodeIsRestoredForTwoBudgetsAndNotForOne(t *testing.T) {
	one := cluster.PodBudget{UID: "a", Namespace: "default", Name: "a", Selector: pods("web")}
	two := one
	two.UID, two.Name = "b", "b"
	for _, c := range []struct {
		budgets []cluster.PodBudget
		want    int
	}{{[]cluster.PodBudget{one}, 0}, {[]cluster.PodBudget{one, two}, 3}} {
		w := halfEmpty(t)
		out := w.step()
		for len(of[plan.Disrupt](out)) == 0 {
			w.now = w.now.Add(10 * time.Millisecond)
			out = w.step()
		}
		w.carry(out.Plan.Actions)
		w.objects.PodBudgets = c.budgets
		if got := of[plan.Restore](w.step()); len(got) != c.want {
			t.Errorf("%d budgets: restored %+v", len(c.budgets), got)
		}
	}
}

// The budget of one pod keeps an announced node waiting, and hides no other pod that keeps
// the node for good.
func TestStep_ABudgetOfOnePodHidesNoOtherPodThatProtectsItsNode(t *testing.T) {
	w := halfEmpty(t)
	out := w.step()
	for len(of[plan.Disrupt](out)) == 0 {
		w.now = w.now.Add(10 * time.Millisecond)
		out = w.step()
	}
	w.carry(out.Plan.Actions)
	w.objects.PodBudgets = webBudget(0)
	node := of[plan.Disrupt](out)[0].Node
	w.pods("zz-late", 1, 10, func(p *cluster.Pod) { p.Node, p.Unschedulable, p.DoNotDisrupt = node, false, true })
	if got := of[plan.Restore](w.step()); len(got) != 1 || got[0].Node != node {
		t.Errorf("restored %+v, want %s", got, node)
	}
}

// A pod that was bound while the node was tainted is not known to the plan that
// deletes: the next plan counts it.
func TestStep_APodBoundAtTheLastMomentIsFoundAPlaceToo(t *testing.T) {
	w := halfEmpty(t)
	var late string
	w.settle(200, func(o engine.Output) {
		for _, d := range of[plan.Delete](o) {
			if late == "" {
				late = d.Node
				w.pods("late", 1, 100, func(p *cluster.Pod) { p.Node, p.Unschedulable = d.Node, false })
			}
		}
	})
	if late == "" || len(w.pending()) > 0 || len(w.objects.Nodes) != 3 {
		t.Errorf("late on %q; %d nodes; without a node: %v", late, len(w.objects.Nodes), w.pending())
	}
}

// From any point of a removal, a daemon that has lost its memory ends it or takes it
// back: nothing stays announced.
func TestStep_ARemovalEndsWhenTheMemoryIsLost(t *testing.T) {
	for lostAt := range 12 {
		w := halfEmpty(t)
		w.settle(lostAt, nil)
		w.memory = engine.Memory{}
		w.settle(200, nil)
		for _, c := range w.objects.Claims {
			if c.Disrupting != nil || c.Move != nil {
				t.Errorf("memory lost after %d Steps: %+v", lostAt, c)
			}
		}
		if len(w.pending()) > 0 || len(w.objects.Nodes) != 3 {
			t.Errorf("memory lost after %d Steps: %d nodes; without a node: %v", lostAt, len(w.objects.Nodes), w.pending())
		}
	}
}

// Karpenter taints a node first and then says why. One that ended in between has left a node
// that takes no pod.
func TestStep_ANodeThatIsTaintedAndThatNothingDisruptsIsRestored(t *testing.T) {
	w := newWorld(t).pods("web", 1, 1000).running()
	w.onNode(w.objects.Nodes[0].Name, func(n *cluster.Node) { n.Disrupted = true })
	restored := of[plan.Restore](w.step())
	if len(restored) != 1 || restored[0].Node != w.objects.Nodes[0].Name || restored[0].Why != "nothing disrupts the node" {
		t.Fatalf("restored %+v", restored)
	}
	if again := of[plan.Restore](w.step()); len(again) > 0 {
		t.Errorf("asked again at once for a taint that somebody else has put there: %+v", again)
	}
	w.now = w.now.Add(10 * time.Minute)
	w.onNode(w.objects.Nodes[0].Name, func(n *cluster.Node) { n.Disrupted = false })
	w.objects.Claims[0].Interruption = &cluster.Interruption{Noticed: w.now, Deadline: w.now.Add(2 * time.Minute)}
	w.step()
	w.onNode(w.objects.Nodes[0].Name, func(n *cluster.Node) { n.Disrupted = true })
	if wrong := of[plan.Restore](w.step()); len(wrong) > 0 {
		t.Errorf("an interrupted node is restored: %+v", wrong)
	}
}
