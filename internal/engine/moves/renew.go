package moves

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/disrupt"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// renew begins to take nodes away that are due: a user asked for their end, they expire, or
// have drifted. Their pods move to nodes that stay if they can, else to new ones, whatever
// these cost. It says whether it begins anything.
func (m *mover) renew() bool {
	due, next := m.state.overdue(m.View)
	if !next.IsZero() {
		m.wait(next, plan.NodeToExpire)
	}
	if len(due) == 0 {
		return false
	}
	begun := false
	x := Supposition{Going: map[string]plan.DeleteReason{}, Emptying: map[string]bool{}}
	var names []string
	for _, d := range due {
		c := d.Claim
		x.Emptying[c.Node] = true
		if m.View.IsGoing(c.Name) || !m.mayRenew(d) {
			continue
		}
		// One move has one reason.
		switch {
		case m.forced(d):
			begun = true
			m.force(d)
		case isStatic(m.View.Snapshot, c) && d.Why.Traits().Budgets:
			if !begun && len(names) == 0 && replaceStatic(m, d, x) {
				return true
			}
			continue
		case len(names) == 0 || x.Going[names[0]] == d.Why:
			names, x.Going[c.Name] = append(names, c.Name), d.Why
		default:
			continue
		}
		m.gates.begins(c)
	}
	if begun || len(names) == 0 {
		return begun
	}
	if renewThese(m, names, x) {
		return true
	}
	m.gates = newGates(m.View, &m.out.Memory, &m.state) // nothing is promised to those that stay
	return false
}

// renewThese begins to take some of the NodeClaims' nodes away, which are due for the same
// reason, and says whether it does.
func renewThese(m *mover, names []string, x Supposition) bool {
	if m.tryDeleting(x) {
		return true
	}
	why := x.Going[names[0]]
	if !why.Announced().Asked {
		names = pick.Those(names, func(name string) bool { c, _ := m.View.Snapshot.Claim(name); return !holds(m, c.Pool) })
	}
	if len(names) == 0 {
		return false
	}
	if m.replaceSome(names, why, x) || why.Announced().Asked && forgo(m, names[0], why, x) {
		return true
	}
	// The first has no other place now. The others have their turn before it has another.
	m.out.Memory.Restored, _ = memory.Remember(m.out.Memory.Restored, names[0], m.View.Now)
	m.wait(m.View.Now.Add(sliceEvery), plan.NextSweep)
	return false
}

// mayRenew says whether the node may be deleted now. If it may later, the plan asks for
// another Step.
func (m *mover) mayRenew(d disrupt.Due) bool {
	if m.forced(d) {
		return true
	}
	stays := m.gates.keeps(m.gates.candidate(d.Claim, d.Why, true), toChoose, toBegin)
	switch {
	case stays.Reason == plan.BudgetUsed:
		m.awaitBudget()
	case !stays.Until.IsZero():
		m.wait(stays.Until, plan.QuietLongEnough)
	}
	return stays.Reason == ""
}

// forced says whether the node is deleted now whatever its pods and budgets ask for, as in
// Karpenter.
func (m *mover) forced(d disrupt.Due) bool {
	pool, _ := m.View.Snapshot.Pool(d.Claim.Pool)
	paused := pool.Disruption.Paused || m.View.Policy.PauseDisruption || m.View.Policy.CloudAway
	return d.Why.Traits().Expires && disrupt.Forced(d.Claim, m.View.Now) && !paused
}

// forgo takes a node away of which a user asked for the end although a pod of it has no
// other place, not even on new nodes. It says whether that is so.
func forgo(m *mover, name string, why plan.DeleteReason, x Supposition) bool {
	x.Going, x.Replaces = map[string]plan.DeleteReason{name: why}, true
	out := m.suppose(x)
	if !out.Trace.Complete || !m.stay([]string{name}, out) {
		return false
	}
	c, _ := m.View.Snapshot.Claim(name)
	m.force(disrupt.Due{Claim: &c, Why: why})
	return true
}

// force takes the node away whether its pods have another place or not.
func (m *mover) force(d disrupt.Due) {
	c := d.Claim
	out := plan.Delete{Claim: c.Name, ClaimUID: c.UID, Node: c.Node, Why: d.Why, Waited: m.View.Now.Sub(c.Created)}
	out.Saves, _ = m.View.PriceOf(*c)
	disrupt.NoteEvictions(m.View, &m.out.Memory, c, d.Why)
	m.out.Plan.Actions = append(slices.Clip(m.out.Plan.Actions), out)
}
