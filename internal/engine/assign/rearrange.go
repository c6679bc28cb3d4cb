package assign

import (
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
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
// unless that leaves much less demand without room. The new plan cannot use the
// demand of a, from which pods have been drawn: the function anew gathers demand
// and room again.
func (a *Assigner) Rearranged(anew func() *Assigner) *Assigner {
	lacking := a.lacking()
	if lacking == 0 || a.Solver.Cut() || !a.mayRearrange() {
		return a
	}
	o := anew()
	o.packAnew()
	o.FillAll()
	if !o.Solver.Cut() && o.lacking() < lacking/1000*worthMoving && o.homelessOthers() <= a.homelessOthers() {
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

// lacking returns the amount of demand without room that would fit a node on its
// way if other pods moved.
func (a *Assigner) lacking() int64 {
	var largest, sum quantity.Resources
	for _, h := range a.Room.Coming {
		if h.Planned() {
			largest = largest.Max(h.Most)
		}
	}
	for _, c := range a.Demand.Classes {
		if need := demand.WithoutAttach(c.Group.Shape.Requests); c.Exchangeable() && need.Fits(largest) {
			sum = sum.Add(need.Times(c.Count()))
		}
	}
	return price.Bulk(sum)
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
	hosts := pick.Those(a.Room.Coming, (*room.Host).Planned)
	slots := a.fixedSlots(hosts, func(c *demand.Class) bool { return !c.Exchangeable() })
	classes := pick.Those(a.Demand.Classes, (*demand.Class).Exchangeable)
	for _, c := range classes {
		waited := c.Waited(a.Now.Add(-movesFor))
		for _, p := range slices.Concat(promises[c.Group.Kind], promises[shapeOf(c.Group.Kind)]) {
			if !p.host.Planned() {
				p.left -= p.host.Take(a.Journal, c, c.Last(), min(p.left, c.Count()))
				continue
			}
			n := p.host.Take(a.Journal, c, c.Last(), min(p.left, waited))
			waited, p.left = waited-n, p.left-n
			slots.add(p.host, c, n)
		}
	}
	classes = pick.Those(classes, func(c *demand.Class) bool { return c.Count() > 0 })
	bins := a.packHosts(hosts, classes, (*demand.Class).Count)
	if a.Solver.Cut() {
		return
	}
	slices.SortStableFunc(bins, func(a, b hostBin) int { return room.Sooner(a.host, b.host) }) // the oldest pods get the node that comes first
	for _, b := range bins {
		for _, part := range b.parts {
			c := classes[part.Class]
			slots.add(b.host, c, b.host.Take(a.Journal, c, c.Last(), part.Count))
		}
	}
	a.promise(slots)
}

// slots is what NodeClaims promise from now on, by name of the NodeClaim.
type slots map[string][]cluster.Slot

func (x slots) add(h *room.Host, c *demand.Class, n int64) {
	if n > 0 {
		x[h.Claim.Name] = append(x[h.Claim.Name], cluster.Slot{Kind: c.Group.Kind, Count: n})
	}
}

// fixedSlots returns the promises of the hosts that stay as they are: those to
// fixed classes, and those to kinds that no class has now. A promise to a kind
// without a class is not fixed if a class of the same shape moves: keepPlanned
// gives such promises to pods of the same shape.
func (a *Assigner) fixedSlots(hosts []*room.Host, fixed func(*demand.Class) bool) slots {
	kinds, shapes := map[string]bool{}, map[string]bool{} // true: it moves
	for _, c := range a.Demand.Classes {
		kinds[c.Group.Kind] = !fixed(c)
		shapes[shapeOf(c.Group.Kind)] = shapes[shapeOf(c.Group.Kind)] || !fixed(c)
	}
	moves := func(kind string) bool {
		yes, here := kinds[kind]
		return yes || !here && shapes[shapeOf(kind)]
	}
	out := make(slots, len(hosts))
	for _, h := range hosts {
		out[h.Claim.Name] = pick.Those(a.Memory.PlannedOn(h.Claim), func(x cluster.Slot) bool { return !moves(x.Kind) })
	}
	return out
}

// promise replaces what the memory says that these NodeClaims are for.
func (a *Assigner) promise(anew slots) {
	a.Memory.Planned = pick.Those(a.Memory.Planned, func(p memory.Planned) bool { _, known := anew[p.Claim]; return !known })
	for name, list := range anew {
		a.Memory.Planned = append(a.Memory.Planned, memory.Planned{Claim: name, Slots: room.Merged(list)})
	}
	slices.SortFunc(a.Memory.Planned, func(a, b memory.Planned) int { return strings.Compare(a.Claim, b.Claim) })
}
