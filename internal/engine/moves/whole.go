package moves

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/consolidate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
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
	tries := wholeTries{queue: all}
	if len(all) > most {
		tries.queue, tries.left = all[:most], slices.Sorted(slices.Values(all[most:]))
		tries.refused = pick.Those(w.refused, func(name string) bool { _, waits := slices.BinarySearch(tries.left, name); return waits })
	}
	return tries
}

// next tries some of the nodes, and says whether the Step begins nothing else: a node is
// deleted, or others have their turn in the next Step.
func (w *wholeTries) next(m *mover) bool {
	tries := min(len(w.queue), suppositions)
	if tries == 0 {
		return false
	}
	// A pod with a place on a node that is up may wait until the node is deleted that it was
	// evicted from; see topology.Vacated. A second one would wait longer.
	awaitsEnd := slices.ContainsFunc(m.View.Claims, func(c *cluster.Claim) bool { return c.Leaving() && c.Disrupting != nil }) &&
		slices.ContainsFunc(m.out.Plan.Outcomes, func(o plan.Outcome) bool { return o.Verdict == plan.OnNode })
	if awaitsEnd {
		return false
	}
	for range tries {
		name := w.queue[0]
		w.queue = w.queue[1:]
		c, there := m.View.Snapshot.Claim(name)
		node := m.gates.saving(&c)
		if !there || !m.deletable(node) || m.gates.keeps(node, toBegin).Reason != "" {
			continue
		}
		if cost, _ := node.costs(); cost <= m.gates.minSaving(&c) {
			continue
		}
		x := Supposition{Going: map[string]plan.DeleteReason{name: plan.Underutilized}, Emptying: map[string]bool{c.Node: true}}
		if m.tryDeleting(x) {
			m.state.failedTargets, m.state.rests = 0, 0 // the others have their turn once its pods have landed
			return true
		}
		w.refused = append(slices.Clip(w.refused), name)
	}
	m.state.rests = min(m.state.rests+restsFor, mostRest)
	if tries < suppositions {
		return false // the search may continue
	}
	m.wait(m.View.Now.Add(sliceEvery), plan.NextSweep)
	return true
}
