package moves

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/consolidate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// mostReplaced is how many nodes one move replaces at most.
const mostReplaced = 12

// suppose returns the plan in which the nodes are deleted.
func (m *mover) suppose(x Supposition) Draft { return supposeIn(m, m.View.Snapshot, x) }

// supposeIn returns the plan for the snapshot in which the nodes are deleted.
func supposeIn(m *mover, s cluster.Snapshot, x Supposition) Draft {
	out := m.Plan(s, x, m.state, m.out.Derived)
	out.Trace.ChangesTried, out.Trace.Savings = m.out.Trace.ChangesTried, m.out.Trace.Savings
	return out
}

// tryDeleting makes second plans in which the nodes go, and carries out the first in which all
// their pods have places on nodes that stay. It says whether there is one. A node of which a
// pod has no place stays, and the next second plan is made without it.
func (m *mover) tryDeleting(x Supposition) bool {
	x.Going = maps.Clone(x.Going)
	for range suppositions {
		if len(x.Going) == 0 {
			return false
		}
		out := m.suppose(x)
		if m.harms(out) {
			return false
		}
		stays := false
		for name := range maps.Clone(x.Going) {
			c, _ := m.View.Snapshot.Claim(name)
			if out.Stay[c.Node] {
				delete(x.Going, name)
				stays = true
			}
		}
		switch {
		case !stays && out.Trace.Launches == 0:
			m.out = out
			return true
		case !stays:
			return false // the next plan would be the same
		}
	}
	return false
}

// harms says whether pods of nodes about to be deleted already lack a place in the second
// plan that they have in the first.
func (m *mover) harms(second Draft) bool {
	for node := range second.Stay {
		n, _ := m.View.Snapshot.Node(node)
		if m.View.IsGoing(n.Claim) && !m.out.Stay[node] {
			return true
		}
	}
	return false
}

// replaceSome replaces as many of the NodeClaims' nodes as one move may, those first in
// the list, else half as many and so on, for the reason. It says whether it replaces any.
func (m *mover) replaceSome(names []string, why plan.DeleteReason, x Supposition) bool {
	x.Replaces = true
	for size := min(len(names), mostReplaced); size > 0; size /= 2 {
		x.Going = map[string]plan.DeleteReason{}
		for _, name := range names[:size] {
			x.Going[name] = why
		}
		if m.replace(names[:size], why, x) {
			return true
		}
	}
	return false
}

// replace takes the nodes away if the plan finds places for their pods. If that is to save
// money, these must cost less. It says whether it did.
func (m *mover) replace(names []string, why plan.DeleteReason, x Supposition) bool {
	out := m.suppose(x)
	saving := why.Traits().EvictsToSave()
	var frees quantity.Money
	spot := false
	var sources []cluster.Source
	for _, name := range names {
		c, _ := m.View.Snapshot.Claim(name)
		frees = frees.Add(m.View.LeastCostOf(c))
		sources, spot = append(sources, cluster.Source{Claim: name, UID: c.UID}), spot || c.CapacityType == label.Spot
	}
	cost := out.Plan.Cost.Add(out.Plan.Extra.Total())
	saves := frees - cost
	if !out.Trace.Complete || m.harms(out) || m.stay(names, out) || out.Trace.Launches == 0 || !why.Announced().Asked && holdsLaunch(m, out.Plan.Actions) {
		return false
	}
	if saving && (saves < leastOf(m.View, names) || saves < consolidate.LaunchCost(cost, m.state.each(m.View.Policy.MoveTime))) {
		return false
	}
	move := cluster.Move{Reason: string(why), Sources: sources, Deadline: deadline(m.View)}
	slices.SortFunc(move.Sources, func(a, b cluster.Source) int { return strings.Compare(a.Claim, b.Claim) })
	actions, launched := slices.Clone(out.Plan.Actions), 0
	for i, a := range actions {
		l, ok := a.(plan.Launch)
		if !ok {
			continue
		}
		if saving && spot && l.CapacityType == label.Spot {
			return false
		}
		y := move
		y.ID, y.Index, y.Count = fmt.Sprintf("%016x", m.Seed), launched, out.Trace.Launches
		launched++
		l.Move = &y
		actions[i] = l
	}
	if saving && !cheaper(out.Derived.Fleet, actions, frees) {
		return false
	}
	out.Plan.Actions = actions
	m.out = out
	return true
}

// deadline returns when a move that begins now is over also if its sources are still there.
// Its replacements have twice the RegistrationTimeout to become ready, and then the sources
// have it once more.
func deadline(v view.View) time.Time { return v.Now.Add(3 * v.Policy.RegistrationTimeout) }

// stay says whether one of the NodeClaims' nodes has a pod without a place.
func (m *mover) stay(names []string, out Draft) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		c, _ := m.View.Snapshot.Claim(name)
		return out.Stay[c.Node]
	})
}
