package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
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

// rearranged returns a plan in which the pods that are planned on nodes on their
// way are packed anew, together with those that found no room, if that leaves a
// good deal less without room; else a itself. The demand and the room are gathered
// again for it: those of a have been drawn from.
func (a *assigner) rearranged(anew func() *assigner) *assigner {
	lacking := a.lacking()
	if lacking == 0 || a.solver.Cut() || !a.mayRearrange() {
		return a
	}
	o := anew()
	o.packAnew()
	o.fillAll()
	if !o.solver.Cut() && o.lacking() < lacking/1000*worthMoving && o.homelessOthers() <= a.homelessOthers() {
		o.trace.Objects += a.trace.Objects
		return o
	}
	return a
}

// mayRearrange says whether there is anything to be rearranged, and nothing
// against it: places mean nothing to a scheduler that is not told of them; and
// settle has a plan of its own for nodes that are kept.
func (a *assigner) mayRearrange() bool {
	return !a.Policy.CannotNominate && !a.settled && slices.ContainsFunc(a.room.coming, (*host).planned)
}

// lacking is the work of the pods without room that could be helped by moving
// others from nodes on their way.
func (a *assigner) lacking() int64 {
	var largest, sum quantity.Resources
	for _, h := range a.room.coming {
		if h.planned() {
			largest = largest.Max(h.most)
		}
	}
	for _, c := range a.demand.classes {
		if need := withoutAttach(c.group.Shape.Requests); c.exchangeable() && need.Fits(largest) {
			sum = sum.Add(need.Times(c.count()))
		}
	}
	return price.Bulk(sum)
}

// homelessOthers counts the pods without room that may not change places.
func (a *assigner) homelessOthers() (n int64) {
	for _, c := range a.demand.classes {
		if !c.exchangeable() {
			n += c.count()
		}
	}
	return n
}

// packAnew keeps the promises of nodes that are up, of pods that may not be moved
// and of those that have waited long, and packs the rest on the nodes on their
// way.
func (a *assigner) packAnew() {
	for _, c := range a.demand.classes {
		a.keepNominations(c)
	}
	promises := a.promises()
	a.keepPlanned(promises, func(c *demandClass) int64 {
		if c.exchangeable() {
			return 0
		}
		return c.count()
	})
	hosts := pick.Those(a.room.coming, (*host).planned)
	slots := a.fixedSlots(hosts, func(c *demandClass) bool { return !c.exchangeable() })
	classes := pick.Those(a.demand.classes, (*demandClass).exchangeable)
	for _, c := range classes {
		waited := c.waited(a.Now.Add(-movesFor))
		for _, p := range slices.Concat(promises[c.group.Kind], promises[shapeOf(c.group.Kind)]) {
			if !p.host.planned() {
				p.left -= p.host.take(a.journal, c, c.last(), min(p.left, c.count()))
				continue
			}
			n := p.host.take(a.journal, c, c.last(), min(p.left, waited))
			waited, p.left = waited-n, p.left-n
			slots.add(p.host, c, n)
		}
	}
	classes = pick.Those(classes, func(c *demandClass) bool { return c.count() > 0 })
	bins := a.packHosts(hosts, classes, (*demandClass).count)
	if a.solver.Cut() {
		return
	}
	slices.SortStableFunc(bins, func(a, b hostBin) int { return sooner(a.host, b.host) }) // the oldest pods take the first
	for _, b := range bins {
		for _, part := range b.parts {
			c := classes[part.Class]
			slots.add(b.host, c, b.host.take(a.journal, c, c.last(), part.Count))
		}
	}
	a.promise(slots)
}

// slots is what is promised anew, by NodeClaim.
type slots map[string][]cluster.Slot

func (x slots) add(h *host, c *demandClass, n int64) {
	if n > 0 {
		x[h.claim.Name] = append(x[h.claim.Name], cluster.Slot{Kind: c.group.Kind, Count: n})
	}
}

// fixedSlots is what the hosts are promised to pods of classes that are fixed, or
// that have none here now. A class that moves also had what is promised to its
// shape under labels that no class has any more; see keepPlanned.
func (a *assigner) fixedSlots(hosts []*host, fixed func(*demandClass) bool) slots {
	kinds, shapes := map[string]bool{}, map[string]bool{} // what moves
	for _, c := range a.demand.classes {
		kinds[c.group.Kind] = !fixed(c)
		shapes[shapeOf(c.group.Kind)] = shapes[shapeOf(c.group.Kind)] || !fixed(c)
	}
	moves := func(kind string) bool {
		yes, here := kinds[kind]
		return yes || !here && shapes[shapeOf(kind)]
	}
	out := make(slots, len(hosts))
	for _, h := range hosts {
		out[h.claim.Name] = pick.Those(a.memory.plannedOn(h.claim), func(x cluster.Slot) bool { return !moves(x.Kind) })
	}
	return out
}

// promise remembers what the NodeClaims are for from now on.
func (a *assigner) promise(anew slots) {
	a.memory.Planned = pick.Those(a.memory.Planned, func(p Planned) bool { _, known := anew[p.Claim]; return !known })
	for name, list := range anew {
		a.memory.Planned = append(a.memory.Planned, Planned{Claim: name, Slots: merged(list)})
	}
	slices.SortFunc(a.memory.Planned, func(a, b Planned) int { return strings.Compare(a.Claim, b.Claim) })
}
