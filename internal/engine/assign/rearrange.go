package assign

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
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
	// movesFor limits for whom a pod can move: for pods that were created at most
	// movesFor later. Each move may delay a pod, so pods that waited longer keep their
	// places.
	movesFor = 20 * time.Second
)

// Rearranged returns a plan in which the pods planned on nodes on their way are
// packed again, together with the pods that found no room. It returns a itself
// unless new nodes for what is left without room then cost much less. The new plan
// cannot use the demand of a, from which pods have been drawn: the function anew
// gathers demand and room again.
func (a *Assigner) Rearranged(anew func() *Assigner, m *offer.Market) *Assigner {
	if a.lacking(m, nil, quantity.Resources{}) == 0 || a.Solver.Cut() || !a.mayRearrange() {
		return a
	}
	o := anew()
	o.packAnew(oldestLacking(a).Add(-movesFor))
	o.Demand.Evacuees().PutAside()
	Meet(o, m)
	o.FillAll(math.MinInt32)
	if !o.Solver.Cut() && o.lacking(m, a, pieces(o)) < a.lacking(m, o, quantity.Resources{})/1000*worthMoving && o.homelessOthers() <= a.homelessOthers() && !strands(o, a) {
		o.Trace.Objects += a.Trace.Objects
		noteMoved(o, a)
		return o
	}
	return a
}

// mayRearrange says whether a rearrangement is possible and useful. It is not if
// gatherOnKept has already changed the plan.
func (a *Assigner) mayRearrange() bool {
	return !a.gathered && slices.ContainsFunc(a.Room.Coming, (*room.Host).Planned)
}

// lacking returns what new nodes cost, as whole ones, for the pods without room that would
// fit a node on its way if other pods moved: so no pod loses its place to another where
// as many nodes are launched all the same. Plain pods that the pieces of room hold in
// total do not count. Pods with rules or preferences that lack room in
// the other plan, too, do not count: they may have no place anywhere.
func (a *Assigner) lacking(m *offer.Market, other *Assigner, pieces quantity.Resources) (sum quantity.Money) {
	var largest quantity.Resources
	for _, h := range a.Room.Coming {
		if h.Planned() {
			largest = largest.Max(h.Most)
		}
	}
	var shared quantity.Resources
	for i, c := range a.Demand.Classes {
		n := c.Count()
		if other != nil && !c.Exchangeable() {
			n -= min(n, other.Demand.Classes[i].Count())
		}
		if n > 0 && a.mayMove(c) && demand.WithoutAttach(c.Group.Shape.Requests).Fits(largest) {
			if need := demand.WithoutAttach(c.Shape().Requests); c.Exchangeable() && cluster.Devices(need) == 0 {
				shared = shared.Add(need.Times(n))
			} else {
				sum = sum.Add(costOf(m, c, n))
			}
		}
	}
	if shared.Fits(pieces) {
		return sum
	}
	return sum.Add(m.CostOfNodes(shared, m.Sale))
}

// pieces is what is left on all nodes on their way. A plain pod that fits none of them
// finds room there as soon as the scheduler binds another one elsewhere.
func pieces(a *Assigner) (sum quantity.Resources) {
	for _, h := range a.Room.Coming {
		if h.Planned() {
			sum = sum.Add(h.Free.Max(quantity.Resources{}))
		}
	}
	return sum
}

// oldestLacking returns when the oldest pod without room was created.
func oldestLacking(a *Assigner) time.Time {
	oldest := a.Now
	for _, c := range a.Demand.Classes {
		if c.Count() > 0 && a.mayMove(c) {
			oldest = pick.Earliest(oldest, c.Since(0, a.Now))
		}
	}
	return oldest
}

// noteMoved remembers which pods have lost the place that the other plan had for
// them: they wait for more pods as if they had just come.
func noteMoved(a, other *Assigner) {
	for i, c := range a.Demand.Classes {
		if c.Count() > other.Demand.Classes[i].Count() {
			a.Memory.Growth.Move(c.Group.Kind, a.Now)
			a.Memory.Lost, _ = memory.Remember(a.Memory.Lost, c.Group.Kind, a.Now)
		}
	}
}

// costOf returns what new nodes cost for n pods of the class that share them with no
// others: those with rules, preferences or devices. Pods that exclude each other from a
// node need a node each.
func costOf(m *offer.Market, c *demand.Class, n int64) quantity.Money {
	need, where := demand.WithoutAttach(c.Shape().Requests), m.Where(c)
	if exclusive(c) {
		return m.CostOfNodes(need, where).Times(n)
	}
	return m.CostOfNodes(need.Times(n), where)
}

// exclusive says whether each pod of the class needs a node of its own.
func exclusive(c *demand.Class) bool {
	if len(c.Shape().Ports) > 0 {
		return true
	}
	return c.Table != nil && slices.ContainsFunc(c.Table.Host(c.Rule()).Rules, func(r topology.HostRule) bool { return r.Binds && r.Counted && r.Max == 1 })
}

// homelessOthers returns the number of pods without room that may not move.
func (a *Assigner) homelessOthers() (n int64) {
	for _, c := range a.Demand.Classes {
		if !a.mayMove(c) {
			n += c.Count()
		}
	}
	return n
}

// strands says whether pods lack a place that they have in the other plan, and may
// have none on new nodes either: where these may be depends on other pods.
func strands(a, other *Assigner) bool {
	for i, c := range a.Demand.Classes {
		if c.Count() > other.Demand.Classes[i].Count() && len(c.DomainKeys()) > 0 {
			return true
		}
	}
	return false
}

// packAnew packs all pods that may move on the nodes on their way. Before that it
// keeps three kinds of promises: those of nodes that are up, those to pods that may
// not move, and those to pods that were created by the time keep. Pods that
// depend on other pods, or prefer a place, come first, one class after the other and
// the pickiest first; each place is checked by the rules between pods. The others
// are packed on the room that is left.
func (a *Assigner) packAnew(keep time.Time) {
	for _, c := range a.Demand.Classes {
		a.keepNominations(c)
	}
	promises := a.promises()
	a.keepPlanned(promises, only(func(c *demand.Class) bool { return !a.mayMove(c) }, (*demand.Class).Count))
	moving := pick.Those(pickiestFirst(a.Demand.Classes), a.mayMove)
	waited := map[*demand.Class]int64{}
	for _, c := range moving {
		waited[c] = c.Waited(keep)
	}
	goRound(moving, func(c *demand.Class) (moved bool) {
		for _, p := range slices.Concat(promises[c.Group.Kind], promises[shapeOf(c.Group.Kind)]) {
			n := min(p.left, c.Count())
			if p.host.Planned() {
				n = min(n, waited[c])
			}
			n = p.host.Take(a.Journal, c, c.Last(), n)
			if p.left -= n; p.host.Planned() {
				waited[c] -= n
			}
			moved = moved || n > 0
		}
		return moved
	})
	a.Room.Expect()
	goRound(pick.Those(moving, func(c *demand.Class) bool { return !c.Exchangeable() }), a.Fill)
	bins := a.packOn(pick.Those(a.Room.Coming, (*room.Host).Planned), only((*demand.Class).Exchangeable, (*demand.Class).Count))
	if a.Solver.Cut() {
		return
	}
	slices.SortStableFunc(bins, func(a, b bin) int { return room.Sooner(a.host, b.host) }) // the oldest pods get the node that comes first
	for _, b := range bins {
		for _, x := range b.parts {
			b.host.Take(a.Journal, x.class, x.class.Last(), x.count)
		}
	}
}

// mayMove says whether pods of the class may change places before their node is up.
// A gang keeps the places that it has found. Pods that are not exchangeable move
// only as long as it is remembered what every NodeClaim is for: without memory their
// earlier places would be promised to them once more.
func (a *Assigner) mayMove(c *demand.Class) bool {
	if c.Exchangeable() {
		return true
	}
	forgotten := func(h *room.Host) bool { _, known := a.Memory.PlannedFor(h.Claim.Name); return h.Planned() && !known }
	return c.Group.Shape.Gang.Name == "" && len(c.Group.Shape.Unsupported) == 0 && !slices.ContainsFunc(a.Room.Coming, forgotten)
}

// pickiestFirst returns the classes with those first that have the least choice:
// classes of which a node takes one pod, then those that depend on other pods, then
// those on which others depend, then those with preferences.
func pickiestFirst(classes []*demand.Class) []*demand.Class {
	turn := func(c *demand.Class) int {
		switch {
		case exclusive(c):
			return 0
		case c.Ruled():
			return 1
		case c.IsSought():
			return 2
		case !c.Exchangeable():
			return 3
		}
		return 4
	}
	order := slices.Clone(classes)
	slices.SortStableFunc(order, func(a, b *demand.Class) int { return cmp.Compare(turn(a), turn(b)) })
	return order
}
