package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// full has three full nodes of a pool that lets no node be deleted to save money.
func full(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	w.objects.Pools[0].Disruption = cluster.Disruption{Policy: cluster.WhenEmpty, Never: true}
	w.pods("web", 6, 900).running()
	if n := len(w.objects.Nodes); n != 3 {
		t.Fatalf("%d nodes", n)
	}
	w.now = w.now.Add(time.Hour)
	return w
}

func (w *world) drift(claims ...int) *world {
	for _, i := range claims {
		w.objects.Claims[i].Drift = &cluster.Drift{Reason: "NodeClassDrifted", Since: w.now.Add(time.Duration(-i) * time.Minute)}
	}
	return w
}

// renewed settles the world, and returns the NodeClaims that were deleted and those
// that are left of the given ones. No pod may ever lack a node.
func (w *world) renewed(steps int, why plan.DeleteReason) (gone, left []string) {
	w.t.Helper()
	var old []string
	for _, c := range w.objects.Claims {
		old = append(old, c.Name)
	}
	w.settle(steps, func(o engine.Output) {
		for _, d := range of[plan.Delete](o) {
			gone = append(gone, d.Claim)
			if d.Why != why || !d.Checked {
				w.t.Errorf("%+v", d)
			}
		}
	})
	if p := w.pending(); len(p) > 0 {
		w.t.Errorf("pods without a node: %v", p)
	}
	for _, c := range w.objects.Claims {
		if slices.Contains(old, c.Name) {
			left = append(left, c.Name)
		}
		if c.Disrupting != nil {
			w.t.Errorf("still announced: %+v", c)
		}
	}
	return gone, left
}

func TestStep_ADriftedNodeIsReplacedBeforeItGoes(t *testing.T) {
	w := full(t).drift(1)
	gone, left := w.renewed(100, plan.Drifted)
	if len(gone) != 1 || len(left) != 2 || len(w.objects.Nodes) != 3 {
		t.Errorf("gone %v, left %v, %d nodes", gone, left, len(w.objects.Nodes))
	}
}

func TestStep_WhatDriftedFirstGoesFirstWithinTheBudget(t *testing.T) {
	w := full(t).drift(0, 1, 2)
	w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 1, Reasons: []string{"Drifted"}}}
	want := []string{w.objects.Claims[2].Name, w.objects.Claims[1].Name, w.objects.Claims[0].Name}
	if gone, _ := w.renewed(300, plan.Drifted); !slices.Equal(gone, want) {
		t.Errorf("gone %v, want %v", gone, want)
	}
}

func TestStep_WhatProtectsANodeKeepsItFromDriftUnlessItsDrainIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*world)
		bounded bool // by terminationGracePeriod: it is deleted all the same
	}{
		"a budget":             {func(w *world) { w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 0}} }, false},
		"a paused pool":        {func(w *world) { w.objects.Pools[0].Disruption.Paused = true }, false},
		"the node":             {func(w *world) { w.objects.Nodes[1].DoNotDisrupt = true }, false},
		"the node for a while": {func(w *world) { w.objects.Nodes[1].ProtectedUntil = w.now.Add(100 * time.Hour) }, false},
		"its pods":             {func(w *world) { w.onPods(func(p *cluster.Pod) { p.DoNotDisrupt = true }) }, true},
		"a paused daemon":      {func(w *world) { w.policy.PauseDisruption = true }, false},
		"a pod budget": {func(w *world) {
			w.objects.PodBudgets = []cluster.PodBudget{{UID: "b", Namespace: "default", Name: "all"}}
		}, true},
		"no room elsewhere": {func(w *world) { w.limit("nodes", 3) }, false},
	} {
		for _, grace := range []time.Duration{0, time.Minute} {
			w := full(t).drift(1)
			w.objects.Claims[1].Grace = grace
			c.change(w)
			gone, _ := w.renewed(60, plan.Drifted)
			if goes := c.bounded && grace > 0; goes != (len(gone) == 1) {
				t.Errorf("%s, grace %s: gone %v", name, grace, gone)
			}
		}
	}
}

func TestStep_ANodeThatDriftsNoMoreStays(t *testing.T) {
	w := full(t).drift(1)
	w.announced()
	w.objects.Claims[1].Drift = nil
	if gone, left := w.renewed(60, plan.ReplacementUnused); len(gone) != 1 || len(left) != 3 || slices.Contains(left, gone[0]) || len(w.objects.Nodes) != 3 {
		t.Errorf("gone %v, left %v, want the replacement alone to go", gone, left)
	}
}

// announced settles the world until the drifted node is tainted.
func (w *world) announced() {
	w.t.Helper()
	for range 50 {
		if w.objects.Claims[1].Disrupting == nil {
			w.settle(1, nil)
		}
	}
	if w.objects.Claims[1].Disrupting == nil {
		w.t.Fatal("nothing began")
	}
}

func TestStep_APausedDaemonTakesBackWhatItHasNotDeleted(t *testing.T) {
	w := full(t).drift(1)
	w.announced()
	w.policy.PauseDisruption = true
	if gone, _ := w.renewed(60, plan.Drifted); len(gone) != 0 {
		t.Errorf("gone %v while paused", gone)
	}
	w.policy.PauseDisruption = false
	w.now = w.now.Add(time.Hour)
	if gone, _ := w.renewed(100, plan.Drifted); len(gone) != 1 {
		t.Errorf("gone %v after the pause", gone)
	}
}

func TestStep_APausedDaemonStillReplacesAnInterruptedNode(t *testing.T) {
	w := full(t)
	w.policy.PauseDisruption = true
	w.objects.Claims[1].Interruption = &cluster.Interruption{Noticed: w.now, Deadline: w.now.Add(2 * time.Minute)}
	first, gone := w.objects.Claims[1].Name, false
	w.settle(60, func(o engine.Output) {
		for _, d := range of[plan.Delete](o) {
			gone = gone || d.Claim == first && d.Why == plan.Interrupted
		}
	})
	if !gone || len(w.pending()) > 0 {
		t.Errorf("the interrupted node is gone: %v; pods without a node: %v", gone, w.pending())
	}
}

// A pod without another place keeps its node only: the others have their turn.
func TestStep_ANodeThatCannotBeReplacedHidesNoOther(t *testing.T) {
	w := full(t).drift(0, 2)
	stuck, free := w.objects.Claims[2], w.objects.Claims[0].Name
	for i := range w.objects.Pods {
		if p := &w.objects.Pods[i]; p.Node == stuck.Node {
			p.Shape.Unsupported = []string{"something that no plan understands"}
		}
	}
	gone, _ := w.renewed(100, plan.Drifted)
	if !slices.Equal(gone, []string{free}) {
		t.Errorf("gone %v, want %s", gone, free)
	}
}

func TestStep_ANodeExpiresBeforeItsTimeAndIsReplacedFirst(t *testing.T) {
	w := full(t)
	for i := range w.objects.Claims {
		w.objects.Claims[i].ExpiresAt = w.objects.Claims[i].Created.Add(1000 * time.Hour)
	}
	w.now = w.objects.Claims[0].Created.Add(899 * time.Hour)
	out := w.step()
	if got := of[plan.Wait](out); len(got) != 1 || got[0].Why != plan.NodeToExpire || got[0].Until.Before(w.objects.Claims[0].Created.Add(900*time.Hour)) {
		t.Fatalf("%+v", out.Plan.Actions)
	}
	w.now = w.objects.Claims[0].Created.Add(950 * time.Hour)
	if gone, left := w.renewed(300, plan.Expired); len(gone) != 3 || len(left) != 0 {
		t.Errorf("gone %v, left %v", gone, left)
	}
}

func TestStep_AtTheEndOfItsLifeANodeGoesWhateverItsPodsAskForIfItsDrainIsBounded(t *testing.T) {
	for _, c := range []struct {
		name   string
		grace  time.Duration
		change func(*world)
		goes   bool
	}{
		{"no grace", 0, nil, false},
		{"grace", time.Minute, nil, true},
		{"paused", time.Minute, func(w *world) { w.objects.Pools[0].Disruption.Paused = true }, false},
		{"daemon paused", time.Minute, func(w *world) { w.policy.PauseDisruption = true }, false},
		{"cloud away", time.Minute, func(w *world) { w.policy.CloudAway = true }, false},
		{"budget", time.Minute, func(w *world) { w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 0}} }, true},
		{"budget without grace", 0, func(w *world) { w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 0}} }, false},
	} {
		w := full(t)
		w.limit("nodes", 3)
		w.onPods(func(p *cluster.Pod) { p.DoNotDisrupt = true })
		k := &w.objects.Claims[1]
		k.ExpiresAt, k.Grace = w.now, c.grace
		if c.change != nil {
			c.change(w)
		}
		got := of[plan.Delete](w.step())
		if goes := len(got) == 1 && got[0].Claim == k.Name && got[0].Why == plan.Expired; goes != c.goes || len(got) > 1 {
			t.Errorf("%s: %+v", c.name, got)
		}
		// Pods that come in their place are not evicted again a moment later.
		if noted := len(w.memory.Evicted) > 0; noted != c.goes {
			t.Errorf("%s: evictions are noted: %v", c.name, noted)
		}
	}
}

func (w *world) onPods(f func(*cluster.Pod)) {
	for i := range w.objects.Pods {
		f(&w.objects.Pods[i])
	}
}

// What a node is deleted for before, and what it waits for there, does not make it
// outlive its time.
func TestStep_AMoveUnderWayHoldsNoNodeAtTheEndOfItsLife(t *testing.T) {
	w := full(t).drift(1)
	w.objects.Claims[1].Grace = time.Minute
	w.obey(w.step())
	w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 0}}
	w.settle(5, nil)
	w.objects.Claims[1].ExpiresAt = w.now
	if d := of[plan.Delete](w.step()); len(d) != 1 || d[0].Claim != w.objects.Claims[1].Name || d[0].Why != plan.Expired {
		t.Errorf("%+v", d)
	}
}

// Pods of a source that is announced alone could land on the others, and would move twice.
func TestStep_AllSourcesOfAMoveAreAnnouncedOnceAllItsNodesAreUp(t *testing.T) {
	w := full(t).drift(0, 1)
	launches := of[plan.Launch](w.step())
	if len(launches) != 2 || launches[0].Move == nil || len(launches[0].Move.Sources) != 2 {
		t.Fatalf("%+v", launches)
	}
	w.order(launches)
	for i := range w.objects.Claims {
		for _, l := range launches {
			if c := &w.objects.Claims[i]; c.Name == l.Name {
				c.Move = l.Move
			}
		}
	}
	w.bringUp(launches[:1])
	for range 5 {
		w.now = w.now.Add(time.Second)
		if got := of[plan.Disrupt](w.step()); len(got) > 0 {
			t.Fatalf("announced before the second node is up: %+v", got)
		}
	}
	w.bringUp(launches[1:])
	if got := of[plan.Disrupt](w.step()); len(got) != 2 {
		t.Errorf("announced %+v, want both sources", got)
	}
}

// The budget was two when the move began, and is one now: its nodes are deleted one after
// the other.
func TestStep_SourcesOfAMoveGoInTurnWhenTheBudgetHasBecomeSmaller(t *testing.T) {
	w := full(t).drift(0, 1)
	w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 2}}
	w.obey(w.step())
	w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 1}}
	w.seen = func(engine.Output) {
		n := 0
		for _, c := range w.objects.Claims {
			if c.Disrupting != nil {
				n++
			}
		}
		if n > 1 {
			t.Errorf("%d announced at once", n)
		}
	}
	if gone, _ := w.renewed(100, plan.Drifted); len(gone) != 2 {
		t.Errorf("gone %v", gone)
	}
}
