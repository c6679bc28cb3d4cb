package engine

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/certify"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/disrupt"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/explain"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/open"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Policy holds the settings of the core.
type Policy = view.Policy

// Trace counts the work of a Step, for benchmarks and for the record.
type Trace = journal.Trace

// DefaultPolicy returns the settings that the daemon starts with.
func DefaultPolicy() Policy { return view.DefaultPolicy() }

// Input is all that a Step may look at.
type Input struct {
	Snapshot cluster.Snapshot
	Memory   Memory
	Policy   Policy
	Now      time.Time
	Seed     uint64 // names of new NodeClaims come from it
	// Polish is how many steps of improving it each packing of new nodes gets
	// before anything of it is launched.
	Polish int
	// WorkLimit is after how many units of work the Step stops, 0 for none: a
	// unit is a search for places for the whole demand, or a step of improving
	// it. The plan is then a prefix of what it would be without a limit, and the
	// Memory goes on with it in the next Step. No clock ever decides.
	WorkLimit int
}

// Output is all that a Step has to say.
type Output struct {
	Plan   plan.Plan
	Memory Memory
	Trace  Trace
}

// Memory carries from Step to Step what the cluster's objects cannot. Losing it
// delays a removal and forgets a penalty; it never breaks anything.
type Memory struct {
	memory.Memory

	derived derived
	// cursor is the plan that is still being made, nil where there is none.
	cursor *cursor
}

// WithUnavailable returns the memory with the offerings out of plans until t,
// also of one that is still being made.
func (m Memory) WithUnavailable(until time.Time, offerings ...catalog.OfferingKey) Memory {
	m.Memory = m.Memory.Without(until, offerings)
	return m.PlanAnew()
}

// Step decides. It never fails: what cannot be done is said in the plan's
// outcomes.
//
// A Step that its WorkLimit stops returns what is certain by then: launches that
// are final, and for pods that were not reached the outcome that they wait. What
// depends on the whole plan, the removal of nodes among it, comes with the Step
// that ends it. Outcomes, costs, proofs and the trace are always of the plan as a
// whole, actions only what no Step of it has returned before: together they are
// those of one Step without a limit.
//
// A plan is tried again, from the start, where a gang found room for some of its
// pods only, and where limits leave pods out.
func Step(in Input) Output {
	c, units := resume(in)
	for {
		t := c.begin(units)
		// 1. Demand and room: what needs room, and which room is there or on its way.
		a := t.gather()
		// 2. Assign: demand goes where it was promised room.
		a.KeepPromises()
		// 3. Offer: what can be bought, and whether limits leave enough of it.
		m := offer.Open(t.View, t.known.fleet, &t.known.places, a.Memory, a.Journal, a.Demand.Classes)
		tight := m.Scarce(a.Demand.Classes)
		// 4. Assign and launch: demand goes to any room, and what finds none to new nodes.
		a, l := t.place(a, m, tight)
		if t.solver.Cut() {
			return t.pause(a, l, tight)
		}
		if t.excludeIncomplete(a.Demand) {
			// Without the gang its room goes to others, so all is planned anew.
			c, units = t.again(l), t.solver.Left()
			continue
		}
		a.Memory.Plan(l.Launches)
		// 5. Explain: why the rest has no place.
		explain.Unplaced(t.View, &t.known.refusals, a.Demand, l.Market, a.Room.Slots, l.Unmet)
		// 6. Certify: how much less the launches could cost at best.
		proofs := certify.Launches(t.View, a.Journal, a.Room, a.Demand.Classes, l)
		// 7. Open: nodes that are up open for their pods.
		opened := open.Nodes(t.View, a.Memory, a.Journal, a.Demand, a.Room)
		// 8. Disrupt: nodes that are interrupted, empty or never came up go.
		retired := disrupt.Retire(t.View, a.Memory, a.Journal, a.Demand, a.Room, len(l.Launches))
		a.Trace.Complete = true
		out := t.output(a, l, proofs, slices.Concat(opened, retired))
		switch refused := a.Demand.Refused; {
		case c.first == nil && tight && refused.Short && gives(a.Room, l):
			c, units = t.again(l), t.solver.Left()
			c.first = &finished{out, refused}
		case c.first == nil || c.first.worse(out, refused):
			return out
		default:
			return c.first.instead(out.Trace)
		}
	}
}

// Audit says what the whole fleet costs, what it would cost at the least from
// scratch, and what every constraint adds. It is pure, as Step is, and decides
// nothing.
func Audit(in Input) plan.Audit {
	v := view.Of(in.Snapshot, in.Policy, in.Now)
	return certify.Audit(v, in.Memory.Next(in.Snapshot, in.Now), in.Memory.derived.fleet)
}
