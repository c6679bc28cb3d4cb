package assign

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/timing"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// gatherOnKept decides which kept nodes open first while declared pods have not
// come. It gathers the real pods on as few hosts as hold them. A kept node opens if
// they fill it, or if they have waited long enough. If a node opens with other pods
// than were planned there, the remaining demand is planned again on the other
// hosts. Pods that depend on other pods keep their planned places.
func (a *Assigner) gatherOnKept() {
	hosts := pick.Those(a.Room.Coming, func(h *room.Host) bool { return !h.Claim.Initialized }) // those that are closed for evicted pods keep their promises
	isKept := func(h *room.Host) bool { return h.Stage == room.StageKept }
	if a.Trace.Declared == 0 || !slices.ContainsFunc(hosts, isKept) {
		return
	}
	a.gathered = true
	promises := a.promises()
	var worth int64 // of the room of the hosts
	for _, h := range hosts {
		worth += price.Bulk(h.Most)
	}
	moving := map[*demand.Class]bool{}
	for _, c := range a.Demand.Classes {
		moving[c] = movable(c, hosts, worth)
		if c.Real() > 0 && moving[c] {
			a.fillRunning(c, c.Last(), c.Real())
		}
	}
	moves, stays := func(c *demand.Class) bool { return moving[c] }, func(c *demand.Class) bool { return !moving[c] }
	a.keepPlanned(promises, only(stays, (*demand.Class).Count))
	opened := map[*room.Host]bool{}
	for _, b := range a.packOn(hosts, only(moves, (*demand.Class).Real)) {
		if !isKept(b.host) || !a.opens(b) {
			continue
		}
		opened[b.host] = true
		for _, x := range b.parts {
			b.host.Take(a.Journal, x.class, x.class.Last(), min(x.count, x.class.Real()))
		}
	}
	if len(opened) == 0 {
		return
	}
	rest := pick.Those(hosts, func(h *room.Host) bool { return !opened[h] })
	bins := a.packOn(rest, only(moves, (*demand.Class).Count))
	if a.Solver.Cut() {
		return
	}
	promiseAnew(a.Memory, rest, moving, bins)
}

// promiseAnew promises the bins to the hosts, in place of what the hosts were
// promised for classes that move. A class that moves also gives up what is promised
// to its shape under labels that no class has any more; see keepPlanned.
func promiseAnew(m *memory.Memory, hosts []*room.Host, moving map[*demand.Class]bool, bins []bin) {
	kinds, shapes := map[string]bool{}, map[string]bool{} // what moves
	for c, yes := range moving {
		kinds[c.Group.Kind] = yes
		shapes[shapeOf(c.Group.Kind)] = shapes[shapeOf(c.Group.Kind)] || yes
	}
	stays := func(x cluster.Slot) bool {
		moves, here := kinds[x.Kind]
		return !moves && (here || !shapes[shapeOf(x.Kind)])
	}
	slots := make(map[string][]cluster.Slot, len(hosts))
	for _, h := range hosts {
		old, _ := m.PlannedOn(h.Claim)
		slots[h.Claim.Name] = pick.Those(old, stays)
	}
	for _, b := range bins {
		for _, x := range b.parts {
			slots[b.host.Claim.Name] = append(slots[b.host.Claim.Name], cluster.Slot{Kind: x.class.Group.Kind, Count: x.count})
		}
	}
	for name := range slots {
		slots[name] = room.Merged(slots[name])
	}
	m.Promise(slots)
}

// movable says whether the pods of the class may change places: they do not depend
// on other pods, and could fill more than a third of the room of the hosts, which is
// worth so much.
func movable(c *demand.Class, hosts []*room.Host, worth int64) bool {
	if !c.Free() {
		return false
	}
	need := demand.WithoutAttach(c.Group.Shape.Requests)
	var holds int64
	for _, h := range hosts {
		holds += price.Bulk(need) * need.CountIn(h.Most, demand.Unlimited)
	}
	return holds > worth/3
}

// opens says whether the node may open for the bin: the bin fills the node, or
// contains displaced pods, or contains a pod that has waited long enough.
func (a *Assigner) opens(b bin) bool {
	content, oldest := b.host.Real, a.Now
	for _, x := range b.parts {
		content = content.Add(x.class.Group.Shape.Requests.Times(x.count))
		if t := x.class.Since(0, a.Now); len(x.class.Pods) > 0 && t.Before(oldest) {
			oldest = t
		}
		if len(x.class.Displaced) > 0 {
			return true
		}
	}
	return b.host.Filled(content) || !a.Now.Before(timing.KeptUntil(a.View, a.Memory, b.host.Node.Name, oldest))
}

// DeferDeclared lets declared pods wait that found no room, if kept nodes and nodes
// on their way have as much free room in total, and one of these nodes could hold such
// a pod beside its real pods. Gathering real pods has taken places that were planned
// for declared ones; the planned places of the real pods become free in exchange.
func (a *Assigner) DeferDeclared() {
	if !slices.ContainsFunc(a.Room.Coming, func(h *room.Host) bool { return h.Stage == room.StageKept }) {
		return
	}
	var sum quantity.Resources
	for _, h := range a.Room.Coming {
		sum = sum.Add(h.Free.Max(quantity.Resources{}))
	}
	for _, c := range a.Demand.Classes {
		one := demand.WithoutAttach(c.Group.Shape.Requests)
		need := one.Times(c.Declared)
		holds := func(h *room.Host) bool { return one.Fits(h.Most.Sub(h.Real)) && h.Accepts(&c.Levels[c.Level]) }
		if c.Declared == 0 || c.Ruled() || !need.Fits(sum) || !slices.ContainsFunc(a.Room.Coming, holds) {
			continue
		}
		sum = sum.Sub(need)
		c.Waiting += c.Declared
		c.Declared = 0
	}
}
