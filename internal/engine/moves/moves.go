package moves

import (
	"fmt"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/derived"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/disrupt"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// A node is deleted by a Supposition: a second plan is made as if the node were
// deleted. It is carried out instead of the first plan if every pod of the node has a
// place and, where the node is deleted to save money, what is launched costs less than
// what is deleted.

// Supposition is nodes that a plan takes away although nothing forces that.
type Supposition struct {
	Going    map[string]plan.DeleteReason // by NodeClaim; see View.Going
	Replaces bool                         // see View.Replaces
	Emptying map[string]bool              // by node; see View.Emptying
}

// Draft is a plan for the demand, to which moves are added.
type Draft struct {
	Plan    plan.Plan
	Trace   journal.Trace
	Memory  memory.Memory // as the Step leaves it
	Derived derived.Facts
	Stay    map[string]bool               // nodes about to be deleted, of which a pod found no place
	Placed  map[string]quantity.Resources // by node: what the plan puts there
}

// Planner makes a plan for the demand as if the nodes of the supposition were deleted, and
// nodes were emptied as the State says otherwise. It is given what plans derive, and returns
// more of that.
type Planner func(s cluster.Snapshot, x Supposition, st State, known derived.Facts) Draft

// Input is what moves are decided by.
type Input struct {
	// View is the one that plans begin with. Its Going has also what is deleted at once:
	// NodeClaims of pools that are being deleted, and those that are not up yet and that static
	// pools have too many of.
	View view.View
	Seed uint64 // the source of the names of moves
	Plan Planner
}

const (
	// sweepEvery is the least time between two searches of the fleet.
	sweepEvery = time.Second
	// mostDoublings is how often that time doubles at most.
	mostDoublings = 5
	// A search takes about sliceOfWork units of work in a Step, and asks for another Step
	// after sliceEvery.
	sliceOfWork = 2_000_000
	sliceEvery  = 10 * time.Millisecond
	// restsFor is for how long no search follows one that found nothing, for each Step that it
	// and the tries after it took, and mostRest the most: so searches take little of the
	// processor's time where pods come and go.
	restsFor = time.Second
	mostRest = time.Minute
	// targetLasts is how long a target is followed before the fleet is searched anew.
	targetLasts = 5 * time.Minute
	// changedPart is the part of the pods beyond which a search is repeated if so many have
	// come or gone meanwhile, and mostOutdated how often in a row it is.
	changedPart  = 100
	mostOutdated = 5
	// blockedFor is how long evicted pods hold back other moves at most.
	blockedFor = time.Minute
	// landsWithin is how long after a drain its pods may still be on their way.
	landsWithin = time.Second
	// suppositions is how many second plans a Step makes at most.
	suppositions = 4
)

// mover looks for moves that begin in this Step.
type mover struct {
	Input
	out       Draft
	state     State
	gates     *gates
	again     time.Time // see State
	cooldowns cooldowns
}

// Next returns the draft with the moves that begin now, and what is remembered of them:
// nodes are deleted that are due, else nodes are deleted to save money. The plan comes
// first: a plan that launches, or is not finished, begins no moves.
func Next(in Input, before State, out Draft) (Draft, State) {
	v := in.View
	m := &mover{Input: in, out: out, state: before}
	if out.Trace.Launches > 0 {
		m.state.stability.launches(v.Snapshot.Bound().Pods, v.Now)
	}
	m.state.observe(v, !out.Memory.Landing.Since.IsZero())
	m.state.watch(v, out.Plan.Actions, undone(v, &out))
	if !out.Trace.Complete || out.Trace.Launches > 0 || v.Policy.CloudAway {
		return m.out, m.state
	}
	m.gates = newGates(v, &m.out.Memory, &m.state)
	switch saves := slices.ContainsFunc(v.Snapshot.Supply().Pools, func(p cluster.Pool) bool { return disrupt.MaySave(&p) }); {
	case m.renew():
	case saves:
		m.save()
	default:
		m.state.target = target{}
	}
	m.out.Plan.Actions = slices.Concat(m.out.Plan.Actions, m.state.marked().preferences(m.View))
	return m.out, m.state
}

// tell notes for the record what the search for savings did.
func tell(m *mover, format string, about ...any) {
	m.out.Trace.Savings = fmt.Sprintf(format, about...)
}

// later notes that a node may be deleted at the time that may not be now.
func (m *mover) later(at time.Time) {
	if m.again.IsZero() || at.Before(m.again) {
		m.again = at
	}
	m.wait(at, plan.QuietLongEnough)
}

// wait asks for another Step at the time, if the plan does not ask for an earlier one.
func (m *mover) wait(at time.Time, why plan.WaitReason) {
	m.out.Plan.Actions = plan.WaitUntil(m.out.Plan.Actions, at, why)
}
