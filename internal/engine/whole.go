package engine

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/budget"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/consolidate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// The search of the fleet counts rules between pods only in part: it lets pods that look at
// zones stay in theirs, and pods that must be on the host of others where they are. So where
// the search finds no node to take away, the nodes with such pods are tried one by one, each
// by a plan for it alone, which knows all rules.

// wholeTries is the nodes that are tried so after a search.
type wholeTries struct {
	queue   []string // NodeClaims that have their turn yet
	left    []string // NodeClaims that have none until the next search, as there are too many; sorted
	refused []string // NodeClaims that were tried and stay: they come last after the next search
}

// after returns the tries that follow the search: so many at most. Those that were refused
// before come last, so that all have their turn.
func (w wholeTries) after(ended *consolidate.Search, most int) wholeTries {
	refused := map[string]bool{}
	for _, name := range w.refused {
		refused[name] = true
	}
	all := consolidate.Uncounted(*ended.Question)
	all = slices.Concat(
		pick.Those(all, func(name string) bool { return !refused[name] }),
		pick.Those(all, func(name string) bool { return refused[name] }))
	is := wholeTries{queue: all}
	if len(all) > most {
		is.queue, is.left = all[:most], slices.Sorted(slices.Values(all[most:]))
		is.refused = pick.Those(w.refused, func(name string) bool { _, waits := slices.BinarySearch(is.left, name); return waits })
	}
	return is
}

// next tries some of the nodes, and says whether the Step begins nothing else: a node goes,
// or others have their turn in the next Step.
func (w *wholeTries) next(m *mover) bool {
	tries := min(len(w.queue), suppositions)
	if tries == 0 {
		return false
	}
	ledger, balances := budget.Open(m.view), balancesOf(m.view)
	for range tries {
		name := w.queue[0]
		w.queue = w.queue[1:]
		c, there := m.view.Snapshot.Claim(name)
		if !there || !m.may(&c) || m.judge.Turn(&c, plan.Underutilized).Reason != "" {
			continue
		}
		cost, known := m.view.CostOf(c)
		if _, allowed := ledger.Allows(c.Pool, plan.Underutilized); !allowed || !known || cost <= leastSaving(m.view, &m.out.Memory.sweep, balances, &c) {
			continue
		}
		x := supposition{going: map[string]plan.DeleteReason{name: plan.Underutilized}, emptying: map[string]bool{c.Node: true}}
		if m.remove(x) {
			m.out.Memory.sweep.begins(m.in.Now) // the others have their turn once its pods have landed
			return true
		}
		w.refused = append(slices.Clip(w.refused), name)
	}
	if tries < suppositions {
		return false // the search may go on
	}
	m.wait(m.in.Now.Add(sliceEvery), plan.NextSweep)
	return true
}

// leastSaving is what must be saved an hour for the node of the NodeClaim to go, if its pods
// go to nodes that run.
func leastSaving(v view.View, s *sweep, balances map[string]*balance, c *cluster.Claim) quantity.Money {
	state, up := v.Snapshot.State(c.Node)
	if !up {
		return v.Policy.LeastSaving
	}
	moving := consolidate.MoveCost(max(v.Policy.PodMove, s.moving), state.EvictionCost()+youngOn(state, s.pace.young(v.Now)))
	return max(v.Policy.LeastSaving, balances[c.Pool].least(state)).Add(moving)
}
