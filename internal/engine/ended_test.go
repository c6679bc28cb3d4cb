package engine_test

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// A node has drifted and its replacement is up. Then something keeps the node, and the
// pool lets no node be deleted because it is empty.
func TestStep_NoReplacementStaysBesideTheNodeThatItWasFor(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world, replacement *cluster.Claim)
		after  time.Duration // when the replacement is deleted
		nodes  int
	}{
		"its pods must not be disrupted": {func(w *world, _ *cluster.Claim) { w.onPods(func(p *cluster.Pod) { p.DoNotDisrupt = true }) }, 0, 3},
		"a pod budget": {func(w *world, _ *cluster.Claim) {
			w.objects.PodBudgets = []cluster.PodBudget{{UID: "b", Namespace: "default", Name: "all"}}
		}, 0, 3},
		"nodes do-not-consolidate": {func(w *world, _ *cluster.Claim) {
			w.onPods(func(p *cluster.Pod) { p.DoNotDisrupt = true })
			for i := range w.objects.Nodes {
				w.objects.Nodes[i].Stays = true
			}
		}, 0, 3},
		"it drifted no more": {func(w *world, _ *cluster.Claim) { w.objects.Claims[1].Drift = nil }, 0, 3},
		"a budget of no node, until the deadline": {func(w *world, c *cluster.Claim) {
			w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 0}}
			c.Move.Deadline = w.now.Add(50 * time.Minute)
		}, 50 * time.Minute, 3},
		"it runs pods by now": {func(w *world, c *cluster.Claim) {
			w.pods("late", 1, 100, func(p *cluster.Pod) { p.Node, p.Unschedulable = c.Node, false })
			w.onPods(func(p *cluster.Pod) { p.DoNotDisrupt = true })
		}, 0, 4},
		"the node is not to be disrupted": {func(w *world, c *cluster.Claim) {
			w.onPods(func(p *cluster.Pod) { p.DoNotDisrupt = true })
			w.onNode(c.Node, func(n *cluster.Node) { n.DoNotDisrupt = true })
		}, 0, 4},
	} {
		w := full(t).drift(1)
		w.obey(w.step())
		replacement := &w.objects.Claims[3]
		began := w.now
		c.change(w, replacement)
		gone := 0
		w.settle(30, func(o engine.Output) {
			for _, d := range of[plan.Delete](o) {
				gone++
				if d.Claim != replacement.Name || d.Why != plan.ReplacementUnused || !d.Checked || w.now.Sub(began) < c.after || w.now.Sub(began) > c.after+5*time.Second {
					t.Errorf("%s: %+v after %s", name, d, w.now.Sub(began))
				}
			}
		})
		if len(w.objects.Nodes) != c.nodes || gone != 4-c.nodes || len(w.pending()) > 0 {
			t.Errorf("%s: %d nodes, want %d; %d gone", name, len(w.objects.Nodes), c.nodes, gone)
		}
		for _, x := range w.objects.Claims {
			if x.Move != nil || x.Disrupting != nil {
				t.Errorf("%s: %+v", name, x)
			}
		}
	}
}

// At the deadline a source is tainted, and its pods have a place on the replacement: the
// source takes its last step, and the replacement stays.
func TestStep_ASourceThatCanGoAtTheDeadlineOfItsMoveGoes(t *testing.T) {
	w := full(t).drift(1)
	w.announced()
	w.objects.Claims[3].Move.Deadline = w.now.Add(time.Second)
	w.now = w.now.Add(time.Second)
	if gone, _ := w.renewed(100, plan.Drifted); len(gone) != 1 || len(w.objects.Nodes) != 3 {
		t.Errorf("gone %v, %d nodes", gone, len(w.objects.Nodes))
	}
}

// The drain of an announced source waits for a PodDisruptionBudget that has become full: its
// pods still need the replacement.
func TestStep_APodBudgetTakesNoReplacementFromASourceThatIsAnnounced(t *testing.T) {
	w := full(t).drift(1)
	w.announced()
	w.objects.PodBudgets = []cluster.PodBudget{{UID: "b", Namespace: "default", Name: "all"}}
	if gone, _ := w.renewed(100, plan.Drifted); len(gone) != 1 || len(w.objects.Nodes) != 3 {
		t.Errorf("gone %v, %d nodes", gone, len(w.objects.Nodes))
	}
}

// A pause holds a move, also beyond its deadline, and nothing is deleted meanwhile.
func TestStep_AMoveGoesOnAfterAPause(t *testing.T) {
	w := full(t).drift(1)
	w.announced()
	w.objects.Pools[0].Disruption.Paused = true
	if gone, _ := w.renewed(60, plan.Drifted); len(gone) != 0 || len(w.objects.Nodes) != 4 {
		t.Errorf("gone %v, %d nodes while paused", gone, len(w.objects.Nodes))
	}
	w.objects.Pools[0].Disruption.Paused = false
	w.now = w.now.Add(2 * time.Hour)
	if gone, _ := w.renewed(100, plan.Drifted); len(gone) != 1 || len(w.objects.Nodes) != 3 {
		t.Errorf("gone %v, %d nodes after the pause", gone, len(w.objects.Nodes))
	}
}
