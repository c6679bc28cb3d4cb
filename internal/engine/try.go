package engine

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/assign"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/launch"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/open"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// try is one try to make a plan: what does not change while it lasts.
type try struct {
	view.View
	of     cursor
	known  derived
	solver *pack.Solver
}

// begin starts the next try of the plan, or goes on with the one that was stopped,
// with so many units of work left.
func (c cursor) begin(units int) *try {
	v := view.Of(c.in.Snapshot, c.in.Policy, c.in.Now)
	return &try{View: v, of: c, known: c.in.Memory.derived, solver: pack.NewSolver(c.answers, units, c.units)}
}

// again returns the plan before the next try.
func (t *try) again(l *launch.Launcher) cursor {
	c := t.of
	c.in.Memory.derived = t.derived(l)
	c.try, c.units, c.answers = c.try+1, t.solver.Units(), nil
	return c
}

// gather collects the demand and the room, of which nobody has taken anything yet.
func (t *try) gather() *assign.Assigner {
	j := &journal.Journal{Trace: journal.Trace{Objects: len(t.Claims), Tries: t.of.try}}
	memory := t.of.in.Memory.Next(t.Snapshot, t.Now)
	d := demand.Gather(t.View, &memory, j, t.of.excluded)
	d.GatherRules()
	return &assign.Assigner{View: t.View, Journal: j, Memory: &memory, Demand: d, Room: room.Gather(t.View, d, j, &t.known.room), Solver: t.solver}
}

// place finds a place for the demand: on room that is there or on its way, else on
// new nodes.
func (t *try) place(a *assign.Assigner, m *offer.Market, tight bool) (*assign.Assigner, *launch.Launcher) {
	sparing := t.of.first != nil
	if sparing {
		a.Demand.PutAside()
	}
	a.FillAll()
	if !tight && !sparing { // else who is left over is not for the packer to say
		if anew := a.Rearranged(t.gather); anew != a {
			a, m = anew, offer.Open(t.View, m.Fleet, &t.known.places, anew.Memory, anew.Journal, anew.Demand.Classes)
		}
	}
	l := &launch.Launcher{
		View: t.View, Journal: a.Journal, Demand: a.Demand, Market: m, Slots: a.Room.Slots, Solver: t.solver, Growth: a.Memory.Growth,
		Seed: t.of.in.Seed, Polish: t.of.in.Polish, Unmet: map[string]bool{},
	}
	if sparing {
		l.Sparing, l.Least = true, t.of.first.refused.Highest()
		t.launch(a, l)
		a.Demand.BringBack()
		a.FillAll()
	}
	t.launch(a, l)
	a.Trace.Launches = len(l.Launches)
	return a, l
}

// launch launches for what found no room, level by level: what finds no place on
// new nodes either gives up a preference and looks for room again.
func (t *try) launch(a *assign.Assigner, l *launch.Launcher) {
	for !t.solver.Cut() {
		a.DeferDeclared()
		open.Await(t.View, a.Memory, a.Journal, a.Demand, a.Room)
		l.Provision()
		if t.solver.Cut() || !a.Demand.Relax() {
			return
		}
		a.FillAll()
	}
}

// gangTries is how many times a Step is planned anew without a gang that found
// room for some of its pods only; after that all such gangs wait.
const gangTries = 12

// excludeIncomplete takes a gang out of the next try that found room for some of
// its pods only, and says whether there is one. After many tries all such gangs
// are taken out.
func (t *try) excludeIncomplete(d *demand.Demand) bool {
	id, found := d.Incomplete()
	if !found {
		return false
	}
	t.of.excluded[id] = true
	for t.of.try >= gangTries && found {
		id, found = d.Incomplete()
		t.of.excluded[id] = true
	}
	return true
}

// pause ends a Step that may do no more: it returns what is certain, and where to
// go on. Launches of finished rounds are final, unless a gang among the demand
// may yet turn out to be incomplete, or limits to be too short for all.
func (t *try) pause(a *assign.Assigner, l *launch.Launcher, tight bool) Output {
	unfinished := []plan.Refusal{{Cause: plan.PlanUnfinished}}
	for _, c := range a.Demand.Classes {
		c.Postpone(a.Journal, c.Count(), unfinished)
	}
	if a.Demand.TriesGangs() || tight {
		l.Launches, l.Cost = nil, 0
		for i := range a.Outcomes {
			if o := &a.Outcomes[i]; o.Verdict == plan.OnLaunch {
				*o = plan.Outcome{Group: o.Group, Pods: o.Pods, Verdict: plan.Waiting, Reasons: unfinished}
			}
		}
	}
	a.Memory.Plan(l.Launches)
	a.WaitUntil(t.Now, plan.RestOfPlan)
	out := t.output(a, l, nil, nil)
	rest := t.of
	rest.in.Memory.derived, rest.answers, rest.sent = out.Memory.derived, t.solver.Answers(), max(t.of.sent, len(l.Launches))
	out.Memory.cursor = &rest
	return out
}

// output says what was decided, without the launches that Steps before returned.
func (t *try) output(a *assign.Assigner, l *launch.Launcher, proofs []plan.Certificate, others []plan.Action) Output {
	launches := l.Launches[min(t.of.sent, len(l.Launches)):]
	actions := make([]plan.Action, 0, len(launches))
	for _, x := range launches {
		actions = append(actions, x)
	}
	actions = slices.Concat(actions, others)
	if !a.Wait.Until.IsZero() {
		actions = append(actions, a.Wait)
	}
	sortOutcomes(a.Outcomes)
	a.Trace.Units = t.solver.Units()
	return Output{
		Plan:   plan.Plan{Actions: actions, Outcomes: a.Outcomes, Proofs: proofs, Cost: l.Cost, Unnominated: t.Policy.CannotNominate},
		Memory: Memory{Memory: *a.Memory, derived: t.derived(l)}, Trace: a.Trace,
	}
}
