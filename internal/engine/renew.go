package engine

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/budget"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/disrupt"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// renew begins to take nodes away that are due: a user asked for their end, they expire, or
// have drifted. Their pods move to nodes that stay if they can, else to new ones, whatever
// these cost. It says whether it begins anything.
func (m *mover) renew() bool {
	due, next := disrupt.Overdue(m.view)
	if !next.IsZero() {
		m.wait(next, plan.NodeToExpire)
	}
	if len(due) == 0 {
		return false
	}
	ledger := budget.Open(m.view)
	begun := false
	x := supposition{going: map[string]plan.DeleteReason{}, emptying: map[string]bool{}}
	var names []string
	for _, d := range due {
		c := d.Claim
		x.emptying[c.Node] = true
		if m.view.IsGoing(c.Name) || !m.mayRenew(d) {
			continue
		}
		if _, allowed := ledger.Allows(c.Pool, d.Why); !allowed && d.Why != plan.Surplus && !m.forced(d) {
			m.awaitBudget(ledger)
			continue
		}
		// One move has one reason.
		switch {
		case m.forced(d):
			begun = true
			m.force(d)
		case isStatic(m.view.Snapshot, c) && d.Why != plan.Surplus:
			if !begun && len(names) == 0 && replaceStatic(m, d, x) {
				return true
			}
			continue
		case len(names) == 0 || x.going[names[0]] == d.Why:
			names, x.going[c.Name] = append(names, c.Name), d.Why
		default:
			continue
		}
		ledger.Charge(c.Pool)
		m.judge.Promise(c)
	}
	if begun || len(names) == 0 {
		return begun
	}
	if renewThese(m, names, x) {
		return true
	}
	m.judge = m.newJudge() // nothing is promised to those that stay
	return false
}

// renewThese begins to take some of the NodeClaims' nodes away, which are due for the same
// reason, and says whether it does.
func renewThese(m *mover, names []string, x supposition) bool {
	if m.remove(x) {
		return true
	}
	why := x.going[names[0]]
	if !disrupt.Asked(why) {
		names = pick.Those(names, func(name string) bool { c, _ := m.view.Snapshot.Claim(name); return !holds(m, c.Pool) })
	}
	if len(names) == 0 {
		return false
	}
	if m.replaceSome(names, why, x) || disrupt.Asked(why) && forgo(m, names[0], why, x) {
		return true
	}
	// The first has no other place now. The others have their turn before it has another.
	m.out.Memory.Restored, _ = memory.Remember(m.out.Memory.Restored, names[0], m.in.Now)
	m.wait(m.in.Now.Add(sliceEvery), plan.NextSweep)
	return false
}

// mayRenew says whether the node may go now. If it may later, the plan asks for another
// Step.
func (m *mover) mayRenew(d disrupt.Due) bool {
	c := d.Claim
	if m.forced(d) {
		return true
	}
	if m.late[c.Pool] != "" && !disrupt.Asked(d.Why) {
		return false
	}
	if at, restored := memory.FirstSeen(m.out.Memory.Restored, c.Name); restored && d.Why != plan.Surplus {
		m.wait(at.Add(memory.StaysFor), plan.QuietLongEnough)
		return false
	}
	stays, until := m.judge.Stays(c, d.Why)
	if !until.IsZero() {
		m.wait(until, plan.QuietLongEnough)
	}
	return stays.Reason == "" && c.Move == nil && m.judge.Turn(c, d.Why).Reason == ""
}

// newJudge returns a judge that promises evictions also to the nodes that others are to
// replace and that are not announced yet: no more moves begin than the
// PodDisruptionBudgets of the pods allow.
func (m *mover) newJudge() *disrupt.Judge {
	j := disrupt.NewJudge(m.view, &m.out.Memory.Memory)
	for _, c := range m.view.Claims {
		if m.view.IsGoing(c.Name) && c.Disrupting == nil && !c.Leaving() {
			j.Promise(c)
		}
	}
	return j
}

// forced says whether the node goes now whatever its pods and budgets ask for, as in
// Karpenter.
func (m *mover) forced(d disrupt.Due) bool {
	pool, _ := m.view.Snapshot.Pool(d.Claim.Pool)
	held := pool.Disruption.Paused || m.in.Policy.PauseDisruption || m.in.Policy.CloudAway
	return d.Why == plan.Expired && disrupt.Forced(d.Claim, m.in.Now) && !held
}

// forgo takes a node away of which a user asked for the end although a pod of it has no
// other place, not even on new nodes. It says whether that is so.
func forgo(m *mover, name string, why plan.DeleteReason, x supposition) bool {
	x.going, x.replaces = map[string]plan.DeleteReason{name: why}, true
	out := m.suppose(x)
	if !out.Trace.Complete || !m.stay([]string{name}, out) {
		return false
	}
	c, _ := m.view.Snapshot.Claim(name)
	m.force(disrupt.Due{Claim: &c, Why: why})
	return true
}

// force takes the node away whether its pods have another place or not.
func (m *mover) force(d disrupt.Due) {
	c := d.Claim
	out := plan.Delete{Claim: c.Name, ClaimUID: c.UID, Node: c.Node, Why: d.Why, Waited: m.in.Now.Sub(c.Created)}
	out.Saves, _ = m.view.PriceOf(*c)
	disrupt.NoteEvictions(m.view, &m.out.Memory.Memory, c, d.Why)
	m.out.Plan.Actions = append(slices.Clip(m.out.Plan.Actions), out)
}
