package engine

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fleet"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// try is one try to make a plan: what does not change while it lasts.
type try struct {
	View
	of     cursor
	fleet  *fleet.Fleet // compiled before, nil where there is none
	solver *pack.Solver
}

// begin starts the next try of the plan, or goes on with the one that was stopped,
// with so many units of work left.
func (c cursor) begin(units int) *try {
	v := View{Snapshot: c.in.Snapshot, Policy: c.in.Policy, Now: c.in.Now, Claims: slices.Collect(c.in.Snapshot.Unsettled())}
	return &try{View: v, of: c, fleet: c.in.Memory.fleet, solver: pack.NewSolver(c.answers, units, c.units)}
}

// again returns the plan before the next try.
func (t *try) again(l *launcher) cursor {
	c := t.of
	c.in.Memory.fleet = l.market.fleet
	c.try, c.units, c.answers = c.try+1, t.solver.Units(), nil
	return c
}

// gather collects the demand and the room, of which nobody has taken anything yet.
func (t *try) gather() *assigner {
	j := &journal{trace: Trace{Objects: len(t.Claims), Tries: t.of.try}}
	memory := t.of.in.Memory.next(t.Snapshot, t.Now)
	d := gatherDemand(t.View, &memory, j, t.of.excluded)
	d.gatherRules()
	return &assigner{View: t.View, journal: j, memory: &memory, demand: d, room: gatherRoom(t.View, d, j), solver: t.solver}
}

// place finds a place for the demand: on room that is there or on its way, else on
// new nodes.
func (t *try) place(a *assigner, m *market, tight bool) (*assigner, *launcher) {
	sparing := t.of.first != nil
	if sparing {
		a.demand.putAside()
	}
	a.fillAll()
	if !tight && !sparing { // else who is left over is not for the packer to say
		if anew := a.rearranged(t.gather); anew != a {
			a, m = anew, openMarket(t.View, m.fleet, anew.memory, anew.journal, anew.demand.classes)
		}
	}
	l := &launcher{
		View: t.View, journal: a.journal, demand: a.demand, market: m, slots: a.room.slots, solver: t.solver, growth: a.memory.Growth,
		seed: t.of.in.Seed, polish: t.of.in.Polish, unmet: map[string]bool{},
	}
	if sparing {
		l.sparing, l.least = true, t.of.first.refused.highest()
		t.launch(a, l)
		a.demand.bringBack()
		a.fillAll()
	}
	t.launch(a, l)
	a.trace.Launches = len(l.launches)
	return a, l
}

// launch launches for what found no room, level by level: what finds no place on
// new nodes either gives up a preference and looks for room again.
func (t *try) launch(a *assigner, l *launcher) {
	for !t.solver.Cut() {
		a.putOff()
		leaveOpen(t.View, a.memory, a.journal, a.demand, a.room)
		l.provision()
		if t.solver.Cut() || !a.demand.relax() {
			return
		}
		a.fillAll()
	}
}

// gangTries is how many times a Step is planned anew without a gang that found
// room for some of its pods only; after that all such gangs wait.
const gangTries = 12

// excludeIncomplete takes a gang out of the next try that found room for some of
// its pods only, and says whether there is one. After many tries all such gangs
// are taken out.
func (t *try) excludeIncomplete(d *demand) bool {
	id, found := d.incomplete()
	if !found {
		return false
	}
	t.of.excluded[id] = true
	for t.of.try >= gangTries && found {
		id, found = d.incomplete()
		t.of.excluded[id] = true
	}
	return true
}

// pause ends a Step that may do no more: it returns what is certain, and where to
// go on. Launches of finished rounds are final, unless a gang among the demand
// may yet turn out to be incomplete, or limits to be too short for all.
func (t *try) pause(a *assigner, l *launcher, tight bool) Output {
	unfinished := []plan.Refusal{{Cause: plan.PlanUnfinished}}
	for _, c := range a.demand.classes {
		c.postpone(a.journal, c.count(), unfinished)
	}
	if a.demand.triesGangs() || tight {
		l.launches, l.cost = nil, 0
		for i := range a.outcomes {
			if o := &a.outcomes[i]; o.Verdict == plan.OnLaunch {
				*o = plan.Outcome{Group: o.Group, Pods: o.Pods, Verdict: plan.Waiting, Reasons: unfinished}
			}
		}
	}
	a.memory.plan(l.launches)
	a.waitUntil(t.Now, plan.RestOfPlan)
	out := t.output(a, l, nil, nil)
	rest := t.of
	rest.in.Memory.fleet, rest.answers, rest.sent = l.market.fleet, t.solver.Answers(), max(t.of.sent, len(l.launches))
	out.Memory.cursor = &rest
	return out
}

// output says what was decided, without the launches that Steps before returned.
func (t *try) output(a *assigner, l *launcher, proofs []plan.Certificate, others []plan.Action) Output {
	launches := l.launches[min(t.of.sent, len(l.launches)):]
	actions := make([]plan.Action, 0, len(launches))
	for _, x := range launches {
		actions = append(actions, x)
	}
	actions = slices.Concat(actions, others)
	if !a.wait.Until.IsZero() {
		actions = append(actions, a.wait)
	}
	sortOutcomes(a.outcomes)
	a.trace.Units = t.solver.Units()
	return Output{
		Plan:   plan.Plan{Actions: actions, Outcomes: a.outcomes, Proofs: proofs, Cost: l.cost, Unnominated: t.Policy.CannotNominate},
		Memory: Memory{parts: *a.memory, fleet: l.market.fleet}, Trace: a.trace,
	}
}
