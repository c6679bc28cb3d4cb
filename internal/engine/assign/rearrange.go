package assign

import (
	"math"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Pods that arrive in several waves are planned in several waves. The room that is
// left on nodes on their way then no longer fits any pod: one node has CPU left,
// another has memory left. A place on a node that is not up yet is only a plan, and
// can be changed. So before nodes are launched for pods that found no room,
// everything planned on nodes on their way is packed again together with these
// pods.
const (
	// worthMoving limits how much may stay without room, in thousandths of what
	// found no room before, for a rearrangement to be used. A rearrangement moves
	// hundreds of pods, and a little demand without room fills the next node.
	worthMoving = 600
	// movesFor is how long after its creation a pod may be moved. An older pod
	// keeps its place, because each move may delay it.
	movesFor = 20 * time.Second
)

// Rearranged returns a plan in which the pods planned on nodes on their way are
// packed again, together with the pods that found no room. It returns a itself
// unless new nodes for what is left without room then cost much less. The new plan
// cannot use the demand of a, from which pods have been drawn: the function anew
// gathers demand and room again.
func (a *Assigner) Rearranged(anew func() *Assigner, m *offer.Market) *Assigner {
	lacking := a.lacking(m)
	if lacking == 0 || a.Solver.Cut() || !a.mayRearrange() {
		return a
	}
	o := anew()
	o.packAnew()
	o.FillAll(math.MinInt32)
	if !o.Solver.Cut() && o.lacking(m) < lacking/1000*worthMoving && o.homelessOthers() <= a.homelessOthers() {
		o.Trace.Objects += a.Trace.Objects
		return o
	}
	return a
}

// mayRearrange says whether a rearrangement is possible and useful. It is not if
// pods cannot be nominated: the scheduler then does not know the planned places. It
// is not if gatherOnKept has already changed the plan.
func (a *Assigner) mayRearrange() bool {
	return !a.Policy.CannotNominate && !a.gathered && slices.ContainsFunc(a.Room.Coming, (*room.Host).Planned)
}

// lacking returns what new nodes cost for the pods without room that would fit a node
// on its way if other pods moved.
func (a *Assigner) lacking(m *offer.Market) (sum quantity.Money) {
	var largest quantity.Resources
	for _, h := range a.Room.Coming {
		if h.Planned() {
			largest = largest.Max(h.Most)
		}
	}
	for _, c := range a.Demand.Classes {
		if n := c.Count(); n > 0 && c.Exchangeable() && demand.WithoutAttach(c.Group.Shape.Requests).Fits(largest) {
			if sum += m.CostOf(c, n); sum < 0 {
				return math.MaxInt64
			}
		}
	}
	return sum
}

// homelessOthers returns the number of pods without room that are not exchangeable.
func (a *Assigner) homelessOthers() (n int64) {
	for _, c := range a.Demand.Classes {
		if !c.Exchangeable() {
			n += c.Count()
		}
	}
	return n
}

// packAnew packs exchangeable pods on the nodes on their way. Before that it keeps
// three kinds of promises: those of nodes that are up, those to pods that are not
// exchangeable, and those to pods that have waited longer than movesFor.
func (a *Assigner) packAnew() {
	for _, c := range a.Demand.Classes {
		a.keepNominations(c)
	}
	promises := a.promises()
	a.keepPlanned(promises, func(c *demand.Class) int64 {
		if c.Exchangeable() {
			return 0
		}
		return c.Count()
	})
	anew := a.newReplan(pick.Those(a.Room.Coming, (*room.Host).Planned), (*demand.Class).Exchangeable)
	for _, c := range a.Demand.Classes {
		if !c.Exchangeable() {
			continue
		}
		waited := c.Waited(a.Now.Add(-movesFor))
		for _, p := range slices.Concat(promises[c.Group.Kind], promises[shapeOf(c.Group.Kind)]) {
			if !p.host.Planned() {
				p.left -= p.host.Take(a.Journal, c, c.Last(), min(p.left, c.Count()))
				continue
			}
			n := anew.take(p.host, c, min(p.left, waited))
			waited, p.left = waited-n, p.left-n
		}
	}
	bins := anew.pack((*demand.Class).Count)
	if a.Solver.Cut() {
		return
	}
	slices.SortStableFunc(bins, func(a, b bin) int { return room.Sooner(a.host, b.host) }) // the oldest pods get the node that comes first
	for _, b := range bins {
		for _, x := range b.parts {
			anew.take(b.host, x.class, x.count)
		}
	}
	anew.promise()
}
