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

// Pods that arrive in pieces are planned in pieces, and the room that is left on
// nodes on their way ends up where nobody can use it: CPU here, memory there. As
// long as a node is not up, what is planned there is only a plan. So before nodes
// are launched for pods that found no room, all that is planned on nodes on their
// way is packed anew together with them.
const (
	// worthMoving is how much of what found no room may find none after a
	// rearrangement either, in thousandths, for it to be made: it moves hundreds
	// of pods, and a little that is left over now fills the next node.
	worthMoving = 600
	// movesFor is for how long after it came a pod may be moved. One that has
	// waited longer keeps its place: it could be put off again and again.
	movesFor = 20 * time.Second
)

// Rearranged returns a plan in which the pods that are planned on nodes on their
// way are packed anew, together with those that found no room, if what is left
// without room then costs a good deal less; else a itself. The demand and the room
// are gathered again for it: those of a have been drawn from.
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

// mayRearrange says whether there is anything to be rearranged, and nothing
// against it: places mean nothing to a scheduler that is not told of them; and
// gatherOnKept has a plan of its own for nodes that are kept.
func (a *Assigner) mayRearrange() bool {
	return !a.Policy.CannotNominate && !a.gathered && slices.ContainsFunc(a.Room.Coming, (*room.Host).Planned)
}

// lacking is what new nodes cost for the pods without room that could be helped by
// moving others from nodes on their way.
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

// homelessOthers counts the pods without room that may not change places.
func (a *Assigner) homelessOthers() (n int64) {
	for _, c := range a.Demand.Classes {
		if !c.Exchangeable() {
			n += c.Count()
		}
	}
	return n
}

// packAnew keeps the promises of nodes that are up, of pods that may not be moved
// and of those that have waited long, and packs the rest on the nodes on their
// way.
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
	slices.SortStableFunc(bins, func(a, b bin) int { return room.Sooner(a.host, b.host) }) // the oldest pods take the first
	for _, b := range bins {
		for _, x := range b.parts {
			anew.take(b.host, x.class, x.count)
		}
	}
	anew.promise()
}
