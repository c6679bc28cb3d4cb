package engine

import (
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/assign"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/derived"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/launch"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/open"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// try is one attempt to make a plan. It holds what does not change during the
// attempt.
type try struct {
	view.View
	of     cursor
	known  derived.Facts
	solver *pack.Solver
}

// begin starts the next try of the plan, or continues the stopped one. The units
// are the work that the Step has left.
func (c cursor) begin(units int) *try {
	v := c.in.view()
	v.Emptying, v.Places = c.in.Memory.moves.Emptying(v), c.in.Memory.moves.Places()
	if len(c.suppose.Going) > 0 {
		v = v.Suppose(c.suppose.Going)
		v.Replaces, v.Emptying = c.suppose.Replaces, c.suppose.Emptying
	}
	return &try{View: v, of: c, known: c.in.Memory.derived, solver: pack.NewSolver(c.answers, units, c.units)}
}

// again returns the cursor from which the next try starts.
func (t *try) again(l *launch.Launcher) cursor {
	c := t.of
	c.in.Memory.derived = t.derived(l)
	c.try, c.units, c.answers = c.try+1, t.solver.Units(), nil
	return c
}

// gather returns an Assigner with the demand and the room, before any pod has a
// place.
func (t *try) gather() *assign.Assigner {
	j := &journal.Journal{Trace: journal.Trace{Objects: len(t.Claims), Tries: t.of.try}}
	memory := t.of.in.Memory.Next(t.Snapshot, t.Now)
	d := demand.Gather(t.View, &memory, j, t.of.excluded)
	d.GatherRules(&t.known.Rules)
	r := room.Gather(t.View, d, j, &t.known.Room)
	r.NoteBackoffs(&memory)
	return &assign.Assigner{View: t.View, Journal: j, Memory: &memory, Demand: d, Room: r, Solver: t.solver, MinPriority: t.keepsFrom()}
}

// keepsFrom returns the least priority whose promises the try keeps. A first plan
// keeps all of them. A plan that spares what is limited keeps no promise to pods of
// lower priority than those that lacked a place: such pods get room after the others.
func (t *try) keepsFrom() int32 {
	if t.of.first == nil {
		return math.MinInt32
	}
	return t.of.first.refused.Highest()
}

// place finds a place for the demand: first on room that exists or is on its way,
// then on new nodes. A plan that spares what is limited serves pods by priority. Pods of
// nodes about to be deleted come last: they get what room is left. It returns the Assigner
// and the Launcher that hold the result. The returned Assigner differs from the given
// one if pods were rearranged.
func (t *try) place(a *assign.Assigner, m *offer.Market, tight bool) (*assign.Assigner, *launch.Launcher) {
	sparing := t.of.first != nil
	a.Demand.Evacuees().PutAside()
	assign.Meet(a, m)
	if !sparing {
		assign.FillPlaces(a)
		a.FillAll(math.MinInt32)
		if !tight || !m.Scarce(a.Demand.Classes) { // with scarce room, priorities choose who gets it, not the packer
			if anew := a.Rearranged(t.gather, m); anew != a {
				a, m = anew, offer.Open(t.View, m.Fleet, &t.known.Places, anew.Memory, anew.Journal, anew.Demand.Classes)
			}
		}
	}
	l := &launch.Launcher{
		View: t.View, Journal: a.Journal, Demand: a.Demand, Market: m, Slots: a.Room.Slots, Solver: t.solver, Growth: a.Memory.Growth,
		Seed: t.of.in.Seed, Polish: t.of.in.Polish, Unmet: map[string]bool{}, Sparing: sparing, MinPriority: math.MinInt32,
	}
	if sparing {
		a.Demand.PutAside()
		t.placeByPriority(a, l)
		a.Demand.BringBack()
		t.placeByPriority(a, l)
	} else {
		t.launch(a, l)
	}
	a.Trace.Launches = len(l.Launches)
	return a, l
}

// placeByPriority finds places for pods of the highest priority that lacked one in
// the first plan, and above; then for those of the next. So no pod loses its place
// to one of lower priority, not even for a preference.
func (t *try) placeByPriority(a *assign.Assigner, l *launch.Launcher) {
	for _, l.MinPriority = range a.Demand.Priorities(t.of.first.refused.Highest()) {
		a.FillAll(l.MinPriority)
		t.launch(a, l)
	}
}

// launch launches nodes for the demand that found no room. Demand that finds no
// place on new nodes either gives up its next preference and looks for room again.
func (t *try) launch(a *assign.Assigner, l *launch.Launcher) {
	for !t.solver.Cut() {
		a.DeferDeclared()
		open.Await(t.View, a.Memory, a.Journal, a.Demand, a.Room, l.MinPriority)
		l.Provision()
		if t.solver.Cut() || !a.Demand.Relax(l.MinPriority) {
			return
		}
		a.FillAll(l.MinPriority)
	}
}

// evacuate finds places for the pods of nodes about to be deleted: on nodes that stay,
// and on new ones if the plan supposes a replacement. It returns the nodes of which a
// pod found no place.
func (t *try) evacuate(a *assign.Assigner, l *launch.Launcher) (stay map[string]bool) {
	if len(t.Going) == 0 {
		return nil
	}
	assign.Evacuate(a, l.Market)
	if t.Replaces {
		a.Demand.Evacuees().KeepSupposed()
		l.MinPriority = math.MinInt32
		l.Provision()
		a.Trace.Launches = len(l.Launches)
	}
	return a.Demand.Evacuees().Stay()
}

// gangTries is the number of the try after which all incomplete gangs are left out
// at once. Each earlier try leaves out one incomplete gang.
const gangTries = 12

// excludeIncomplete excludes one incomplete gang from the next try, and says
// whether there was one. A gang is incomplete if only some of its pods found room.
// From try gangTries on it excludes all incomplete gangs.
func (t *try) excludeIncomplete(d *demand.Demand) bool {
	excluded := false
	for id, found := d.Incomplete(); found; id, found = d.Incomplete() {
		t.of.excluded[id] = true
		if excluded = true; t.of.try < gangTries {
			break
		}
	}
	return excluded
}

// pause ends a Step that reached its work limit. It returns what is certain, and a
// cursor in the memory from which the next Step continues. Launches of finished
// rounds are certain, with two exceptions: a gang in the demand may still turn out
// incomplete, and limits may turn out too short for all pods.
func (t *try) pause(a *assign.Assigner, l *launch.Launcher, tight bool) Output {
	unfinished := []plan.Refusal{{Cause: plan.PlanUnfinished}}
	for _, c := range a.Demand.Classes {
		c.Postpone(a.Journal, c.Count(), unfinished)
	}
	if a.Demand.TriesGangs() || tight {
		l.Launches, l.Cost, l.Extra = nil, 0, plan.Extra{}
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

// output returns what was decided, without the launches that earlier Steps
// returned.
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
		Plan:   plan.Plan{Actions: actions, Outcomes: a.Outcomes, Proofs: proofs, Cost: l.Cost, Extra: l.Extra, LeftOut: a.Memory.LeftOutFrom(t.Now)},
		Memory: Memory{Memory: *a.Memory, derived: t.derived(l)}, Trace: a.Trace,
	}
}

// derived is what the try leaves for those after it.
func (t *try) derived(l *launch.Launcher) derived.Facts {
	return derived.Facts{Fleet: l.Market.Fleet, Moves: t.known.Moves, Places: t.known.Places.Next(), Rules: t.known.Rules.Next(), Room: t.known.Room.Next(), Refusals: t.known.Refusals.Next()}
}
