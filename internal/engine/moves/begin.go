package moves

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// begin begins to remove as many nodes of the target's present phase as the budgets
// allow and a second plan confirms: those whose pods have places on nodes that stay; in
// the last phase, if there are none, some that new nodes replace.
func (m *mover) begin() {
	t := &m.state.target
	x := Supposition{Going: map[string]plan.DeleteReason{}, Emptying: t.nodes(m.View.Snapshot)}
	var chosen []string
	overBudget := false
	with, inTurn := togetherOf(m.View), ""
	choose := func(c *cluster.Claim) {
		m.gates.begins(c)
		chosen = append(chosen, c.Name)
		x.Going[c.Name] = plan.Underutilized
	}
	for _, name := range t.names {
		c, _ := m.View.Snapshot.Claim(name)
		node := m.gates.saving(&c)
		state, up := m.View.Snapshot.State(c.Node)
		switch {
		case m.gates.keeps(node, toFollow).Reason != "":
		case m.gates.keeps(node, toBegin).Reason != "":
			overBudget = true
		case up && !with.add(state):
			inTurn = cmp.Or(inTurn, name)
		default:
			choose(&c)
		}
	}
	if len(chosen) == 0 && inTurn != "" {
		c, _ := m.View.Snapshot.Claim(inTurn)
		choose(&c)
	}
	if len(chosen) == 0 && overBudget {
		m.awaitBudget()
		return
	}
	if len(t.ratios) > 0 {
		for state := range m.View.Snapshot.States() {
			if t.fillsLater(&state.Node) {
				x.Emptying[state.Node.Name] = true
			}
		}
	}
	if m.tryDeleting(x) {
		m.state.failedTargets = 0
		return
	}
	if len(t.ratios) > 0 {
		t.ratios = t.ratios[1:]
		m.wait(m.View.Now.Add(sliceEvery), plan.NextSweep)
		return
	}
	if m.replaceSome(chosen, plan.Underutilized, x) {
		m.state.failedTargets = 0
		return
	}
	// There is something that the search did not know, as a budget.
	t.names = pick.Those(t.names, func(name string) bool { return !slices.Contains(chosen, name) })
	tell(m, "%d nodes that were to be deleted have to stay, %d are left", len(chosen), len(t.names))
	if len(t.names) == 0 {
		m.state.failedTargets++
	}
}

// awaitBudget asks for another Step when the window of a budget opens or closes.
func (m *mover) awaitBudget() {
	if at := m.gates.ledger().Changes(); !at.IsZero() {
		m.wait(at, plan.BudgetToOpen)
	}
}
