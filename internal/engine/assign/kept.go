package assign

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/timing"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// gatherOnKept decides anew, while declared pods are still to come, which of the nodes
// that are up and kept for them open first. Pods that exist are gathered on as
// few nodes as hold them, up or on their way, and those of these that are up open
// when they are full; else what is planned stays. Once a node has opened with
// other pods than were planned there, the rest is planned anew. Pods that other
// pods have a say about keep to what was planned.
func (a *Assigner) gatherOnKept() {
	kept := 0
	hosts := pick.Those(a.Room.Coming, func(h *room.Host) bool { return h.Stage != room.StageNode })
	for _, h := range hosts {
		if h.Stage == room.StageKept {
			kept++
		}
	}
	if kept == 0 || a.Trace.Declared == 0 {
		return
	}
	a.gathered = true
	promises := a.promises()
	moves := map[*demand.Class]bool{}
	for _, c := range a.Demand.Classes {
		moves[c] = movable(c, hosts)
		if c.Real() > 0 && moves[c] {
			a.fillRunning(c)
		}
		if !moves[c] {
			a.fillPlanned(c, promises[c.Group.Kind], (*demand.Class).Count)
		}
	}
	if opened := a.gather(hosts, moves); len(opened) > 0 {
		a.replan(pick.Those(hosts, func(h *room.Host) bool { return !opened[h] }), moves)
	}
}

// movable says whether the class's pods may change places freely: other pods have
// no say about them, and they would find room on most of the hosts.
func movable(c *demand.Class, hosts []*room.Host) bool {
	if !c.Free() {
		return false
	}
	need := demand.WithoutAttach(c.Group.Shape.Requests)
	var room, holds int64
	for _, h := range hosts {
		room += price.Bulk(h.Most)
		holds += price.Bulk(need) * need.CountIn(h.Most, demand.Unlimited)
	}
	return holds > room/3
}

// gather gives pods that exist to nodes that may open for them, and returns these.
func (a *Assigner) gather(hosts []*room.Host, moves map[*demand.Class]bool) (opened map[*room.Host]bool) {
	classes := pick.Those(a.Demand.Classes, func(c *demand.Class) bool { return c.Real() > 0 && moves[c] })
	if len(classes) == 0 {
		return nil
	}
	opened = map[*room.Host]bool{}
	for _, f := range a.packHosts(hosts, classes, (*demand.Class).Real) {
		h := f.host
		if h.Stage != room.StageKept || !a.opens(classes, h, f.parts) {
			continue
		}
		opened[h] = true
		for _, part := range f.parts {
			c := classes[part.Class]
			h.Take(a.Journal, c, c.Last(), min(part.Count, c.Real()))
		}
	}
	return opened
}

// replan plans what is left of the demand anew on the hosts that stay closed.
func (a *Assigner) replan(hosts []*room.Host, moves map[*demand.Class]bool) {
	classes := pick.Those(a.Demand.Classes, func(c *demand.Class) bool { return c.Count() > 0 && moves[c] })
	if len(classes) == 0 || len(hosts) == 0 {
		return
	}
	slots := a.fixedSlots(hosts, func(c *demand.Class) bool { return !moves[c] })
	for _, f := range a.packHosts(hosts, classes, (*demand.Class).Count) {
		for _, part := range f.parts {
			slots.add(f.host, classes[part.Class], part.Count)
		}
	}
	if !a.Solver.Cut() {
		a.promise(slots)
	}
}

// opens says whether the node may open for this content: it is well filled, or
// a pod of it has waited long enough.
func (a *Assigner) opens(classes []*demand.Class, h *room.Host, parts []pack.Part) bool {
	content, oldest := h.Real, a.Now
	for _, part := range parts {
		c := classes[part.Class]
		content = content.Add(c.Group.Shape.Requests.Times(part.Count))
		if t := c.Since(0, a.Now); len(c.Pods) > 0 && t.Before(oldest) {
			oldest = t
		}
		if len(c.Displaced) > 0 {
			return true
		}
	}
	return h.Filled(content) || !a.Now.Before(timing.Patience(a.View, a.Memory, h.Node.Name, oldest))
}

// fillRunning gives pods that exist to nodes that run.
func (a *Assigner) fillRunning(c *demand.Class) {
	l := &c.Levels[c.Last()]
	for state := range a.Snapshot.Roomy(demand.WithoutAttach(l.Shape.Requests)) {
		a.Trace.Objects++
		if c.Real() == 0 {
			return
		}
		if h := a.Room.Node(state); h != nil && h.Stage == room.StageNode {
			h.Take(a.Journal, c, c.Last(), c.Real())
		}
	}
}

// hostBin is what the packer puts on a host.
type hostBin struct {
	host  *room.Host
	parts []pack.Part
}

// packHosts packs demand on hosts, of which each costs what its room is worth.
// Hosts that are alike are one offer; of these the ones nearest to running get
// what fills them most.
func (a *Assigner) packHosts(hosts []*room.Host, classes []*demand.Class, count func(*demand.Class) int64) []hostBin {
	p, alike := hostsProblem(hosts, classes, count)
	result, done := a.Solver.Solve(p, 0)
	if !done {
		return nil
	}
	bins := slices.Clone(result.Bins) // the answer is kept as it is
	fills := func(b pack.Bin) (sum int64) {
		for _, part := range b.Parts {
			sum += price.Bulk(classes[part.Class].Group.Shape.Requests) * part.Count
		}
		return sum
	}
	slices.SortStableFunc(bins, func(a, b pack.Bin) int { return cmp.Compare(fills(b), fills(a)) })
	var out []hostBin
	for _, b := range bins {
		for range b.Copies {
			out = append(out, hostBin{alike[b.Offer][0], b.Parts})
			alike[b.Offer] = alike[b.Offer][1:]
		}
	}
	return out
}

// hostsProblem is demand to be packed on hosts, and for each offer the hosts that
// are alike, nearest to running first.
func hostsProblem(hosts []*room.Host, classes []*demand.Class, count func(*demand.Class) int64) (p pack.Problem, alike [][]*room.Host) {
	dims := demand.DimensionsOf(classes)
	wheres := map[string]int{}
	var levels []*demand.Level // by number of where
	for _, c := range classes {
		l := &c.Levels[c.Last()]
		key := demand.PlaceKey(&l.Shape, false)
		w, known := wheres[key]
		if !known {
			w = len(levels)
			wheres[key] = w
			levels = append(levels, l)
		}
		p.Classes = append(p.Classes, pack.Class{Key: c.Group.Key, Need: dims.Vector(l.Shape.Requests), Count: count(c), Where: w})
	}
	p.Where = make([]pack.Where, len(levels))
	hosts = slices.Clone(hosts)
	slices.SortStableFunc(hosts, func(a, b *room.Host) int {
		return cmp.Or(cmp.Compare(price.Bulk(a.Free), price.Bulk(b.Free)), a.Free.Compare(b.Free), room.Sooner(a, b))
	})
	takes := func(h *room.Host) []bool {
		out := make([]bool, len(levels))
		for w, l := range levels {
			out[w] = h.Accepts(l)
		}
		return out
	}
	var last []bool
	for _, h := range hosts {
		these := takes(h)
		n := len(alike)
		if n > 0 && alike[n-1][0].Free.Compare(h.Free) == 0 && slices.Equal(these, last) {
			alike[n-1] = append(alike[n-1], h)
			p.Offers[n-1].Nodes++
			continue
		}
		alike, last = append(alike, []*room.Host{h}), these
		p.Offers = append(p.Offers, pack.Offer{
			Name: h.Name(), Group: n, Net: dims.Vector(h.Free.Max(quantity.Resources{})),
			Prices: []quantity.Money{quantity.Money(max(1, price.Bulk(h.Free)))}, Zones: 1, Nodes: 1,
		})
		for w, yes := range these {
			zones := uint64(0)
			if yes {
				zones = 1
			}
			p.Where[w].Zones = append(p.Where[w].Zones, zones)
		}
	}
	return p, alike
}

// DeferDeclared lets declared pods that found no room wait until they exist, where the
// nodes that are kept, or on their way, have as much room in sum: gathering pods
// that exist has taken the places of some that do not, and theirs will be free
// when they come.
func (a *Assigner) DeferDeclared() {
	if !slices.ContainsFunc(a.Room.Coming, func(h *room.Host) bool { return h.Stage == room.StageKept }) {
		return
	}
	var sum quantity.Resources
	for _, h := range a.Room.Coming {
		sum = sum.Add(h.Free.Max(quantity.Resources{}))
	}
	for _, c := range a.Demand.Classes {
		need := demand.WithoutAttach(c.Group.Shape.Requests).Times(c.Declared)
		if c.Declared == 0 || c.Ruled() || !need.Fits(sum) {
			continue
		}
		sum = sum.Sub(need)
		c.Waiting += c.Declared
		c.Declared = 0
	}
}
