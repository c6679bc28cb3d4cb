package engine

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/assign"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/certify"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/derived"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/disrupt"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/explain"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/moves"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/open"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/static"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Policy holds the settings of the core.
type Policy = view.Policy

// Hindrances is what the daemon cannot do at present.
type Hindrances = view.Hindrances

// Trace counts the work of a Step, for benchmarks and for the record.
type Trace = journal.Trace

// Shortages is what is known of capacity from launches; the zero value is that nothing has
// failed.
type Shortages = memory.Shortages

// PacedShortages is that nothing has failed; see memory.Paced for the pace of what will.
func PacedShortages(thousandths int64) Shortages { return memory.Paced(thousandths) }

// Tried is what came of a launch, for Shortages.After.
type Tried = memory.Tried

// Lack is an offering that a launch tried in vain.
type Lack = memory.Lack

// Cause is what the cloud said about that.
type Cause = memory.Cause

// DefaultPolicy returns the settings that the daemon starts with.
func DefaultPolicy() Policy { return view.DefaultPolicy() }

// Input is all that a Step may look at.
type Input struct {
	Snapshot cluster.Snapshot
	Memory   Memory
	Policy   Policy
	Now      time.Time
	Seed     uint64 // the source of the names of new NodeClaims
	// Polish is the number of improvement steps for each packing of new nodes. They
	// come before any launch of that packing.
	Polish int
	// WorkLimit is the number of units of work after which the Step stops; 0 means
	// no limit. One unit is one search for places for the whole demand, or one
	// improvement step. The plan is then a prefix of the plan without a limit, and
	// the next Step continues from the returned Memory. The limit is never a
	// duration, so that the result does not depend on a clock.
	WorkLimit int
}

// view is what all stages of a Step look at.
func (in Input) view() view.View {
	return static.WithSurplus(disrupt.WithUnwanted(view.Of(in.Snapshot, in.Policy, in.Now)))
}

// Output is all that a Step returns.
type Output struct {
	Plan   plan.Plan
	Memory Memory
	Trace  Trace

	stay   map[string]bool               // nodes about to be deleted, of which a pod found no place
	placed map[string]quantity.Resources // by node: what the plan puts there
}

// Memory carries from Step to Step what the cluster's objects cannot say. Losing it
// delays a removal and forgets a penalty; nothing breaks.
type Memory struct {
	memory.Memory

	derived derived.Facts
	moves   moves.State
	// cursor is the unfinished plan; nil if there is none.
	cursor *cursor
	// launchedStatic says that the last Step only launched nodes of static pools.
	launchedStatic bool
}

// After returns the memory of a daemon that starts, where nodes were deleted until the
// given time for another reason than that they were empty; zero for never.
func After(disruption time.Time) Memory {
	return Memory{Memory: memory.Memory{EvictedUntil: disruption}}
}

// WithShortages returns the memory with what is known of capacity now. It also makes the
// unfinished plan, if there is one, start again.
func (m Memory) WithShortages(s Shortages) Memory {
	m.Shortages = s
	return m.PlanAnew()
}

// Step decides what to do. It never fails: the plan's outcomes say what cannot be
// done.
//
// A Step that reaches its WorkLimit returns what is certain by then: final
// launches, and the outcome Waiting for pods that the Step did not reach.
// Everything that depends on the whole plan comes with the Step that finishes the
// plan, the removal of nodes included; so an unfinished Step has no proofs. Outcomes,
// costs and the trace include earlier Steps of the plan. Actions are only those that
// no earlier Step of the plan returned: all Steps of one plan together return the
// actions of one Step without a limit.
//
// A Step that launches nodes of static pools plans nothing else: pods may find room on
// these nodes, so the demand waits until they are in the Snapshot. But no two Steps in a
// row leave the demand out.
//
// Else function planned makes the plan, in eight stages. It makes the plan again from the
// start if a gang found room for only some of its pods, or if limits left pods without a
// place to which another plan could give room.
//
// A Step whose plan is finished and launches nothing then begins to delete nodes that are due
// or cost more than they are worth; see package moves.
func Step(in Input) Output {
	in.Policy = in.Policy.WithDefaults()
	statics := launchStatic(in)
	if out, first := statics.first(); first {
		return out
	}
	c, units := resume(in) // the cursor of the plan, and the work that is left
	return statics.rest(withMoves(in, planned(c, units)))
}

// planned returns the plan of the cursor, made with so many units of work. Step calls it for
// the plan of the demand, and package moves for a plan as if nodes were deleted.
func planned(c cursor, units int) Output {
	for {
		t := c.begin(units) // one try of the plan
		// 1. Demand and room: what needs room, and which room exists or is on its way.
		// Both are in the Assigner a.
		a := t.gather()
		// 2. Assign: promised room is given to the demand that it was promised to.
		assign.KeepMoves(a)
		a.KeepPromises()
		// 3. Offer: what can be bought, and whether the limits leave enough of it.
		market := offer.Open(t.View, t.known.Fleet, &t.known.Places, a.Memory, a.Journal, a.Demand.Classes)
		tight := market.Scarce(a.Demand.Classes)
		// 4. Assign and launch: demand is put on any room, and the rest on new nodes. A
		// plan that rearranges pods has an Assigner and a market of its own. The
		// Launcher l has the launches.
		a, l := t.place(a, market, tight)
		if t.solver.Cut() {
			return t.pause(a, l, tight)
		}
		if t.excludeIncomplete(a.Demand) {
			// The gang's room is given to other pods, so the whole plan is made again.
			c, units = t.again(l), t.solver.Left()
			continue
		}
		stay := t.evacuate(a, l) // of nodes about to be deleted, those of which a pod found no place
		a.Promise()
		a.Memory.Plan(l.Launches) // what the new NodeClaims are for
		// 5. Explain: the rest is refused, with the reasons why it has no place.
		explain.Unplaced(t.View, a.Memory, &t.known.Refusals, a.Demand, l.Market, a.Room.Slots, l.Unmet)
		// 6. Certify: a lower bound on the cost of the launches.
		proofs := certify.Launches(t.View, a.Journal, a.Room, a.Demand.Classes, l)
		// 7. Open: nodes that are up open for their pods.
		opened := open.Nodes(t.View, a.Memory, a.Journal, a.Demand, a.Room, &t.known.Rules)
		// 8. Disrupt: interrupted nodes, empty nodes and nodes that never came up are
		// deleted, and nodes about to be deleted take their next step.
		retired := disrupt.Retire(t.View, a.Memory, a.Journal, a.Room, stay)
		a.Trace.Complete = true
		out := t.output(a, l, proofs, slices.Concat(opened, retired))
		out.stay, out.placed = stay, a.Room.Placed()
		switch refused := a.Demand.Refused; {
		case c.first == nil && tight && refused.Short && gives(a.Demand, a.Room, l):
			// This first plan is kept, and a second one spares what is limited.
			c, units = t.again(l), t.solver.Left()
			c.first = &finished{out, refused}
		case c.first == nil || c.first.worse(out, refused):
			return out // the only plan, or the second one, which beats the first
		default:
			return c.first.instead(out.Trace) // the first plan, with the work of both
		}
	}
}

// Audit returns what the whole fleet costs, the least that it would cost if it were
// bought from scratch, and what every constraint adds. Audit is pure, as Step is,
// and decides nothing.
func Audit(in Input) plan.Audit {
	v := view.Of(in.Snapshot, in.Policy.WithDefaults(), in.Now)
	return certify.Audit(v, in.Memory.Next(in.Snapshot, in.Now), in.Memory.derived.Fleet)
}
