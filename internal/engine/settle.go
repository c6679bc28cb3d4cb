package engine

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// settle decides anew, while declared pods are still to come, which of the nodes
// that are up and kept for them open first. Pods that exist are gathered on as
// few nodes as hold them, up or on their way, and those of these that are up open
// when they are full; else what is planned stays. Once a node has opened with
// other pods than were planned there, the rest is planned anew. Pods that other
// pods have a say about keep to what was planned.
func (a *assigner) settle() {
	kept := 0
	hosts := pick.Those(a.room.coming, func(h *host) bool { return h.stage != stageNode })
	for _, h := range hosts {
		if h.stage == stageKept {
			kept++
		}
	}
	if kept == 0 || a.trace.Declared == 0 {
		return
	}
	a.settled = true
	promises := a.promises()
	moves := map[*demandClass]bool{}
	for _, c := range a.demand.classes {
		moves[c] = movable(c, hosts)
		if c.real() > 0 && moves[c] {
			a.fillRunning(c)
		}
		if !moves[c] {
			a.fillPlanned(c, promises[c.group.Kind], (*demandClass).count)
		}
	}
	if opened := a.gather(hosts, moves); len(opened) > 0 {
		a.replan(pick.Those(hosts, func(h *host) bool { return !opened[h] }), moves)
	}
}

// movable says whether the class's pods may change places freely: other pods have
// no say about them, and they would find room on most of the hosts.
func movable(c *demandClass, hosts []*host) bool {
	if !c.free() {
		return false
	}
	need := withoutAttach(c.group.Shape.Requests)
	var room, holds int64
	for _, h := range hosts {
		room += price.Bulk(h.most)
		holds += price.Bulk(need) * need.CountIn(h.most, unlimited)
	}
	return holds > room/3
}

// gather gives pods that exist to nodes that may open for them, and returns these.
func (a *assigner) gather(hosts []*host, moves map[*demandClass]bool) (opened map[*host]bool) {
	classes := pick.Those(a.demand.classes, func(c *demandClass) bool { return c.real() > 0 && moves[c] })
	if len(classes) == 0 {
		return nil
	}
	opened = map[*host]bool{}
	for _, f := range a.packHosts(hosts, classes, (*demandClass).real) {
		h := f.host
		if h.stage != stageKept || !a.opens(classes, h, f.parts) {
			continue
		}
		opened[h] = true
		for _, part := range f.parts {
			c := classes[part.Class]
			h.take(a.journal, c, c.last(), min(part.Count, c.real()))
		}
	}
	return opened
}

// replan plans what is left of the demand anew on the hosts that stay closed.
func (a *assigner) replan(hosts []*host, moves map[*demandClass]bool) {
	classes := pick.Those(a.demand.classes, func(c *demandClass) bool { return c.count() > 0 && moves[c] })
	if len(classes) == 0 || len(hosts) == 0 {
		return
	}
	slots := a.fixedSlots(hosts, func(c *demandClass) bool { return !moves[c] })
	for _, f := range a.packHosts(hosts, classes, (*demandClass).count) {
		for _, part := range f.parts {
			slots.add(f.host, classes[part.Class], part.Count)
		}
	}
	if !a.solver.Cut() {
		a.promise(slots)
	}
}

// opens says whether the node may open for this content: it is well filled, or
// a pod of it has waited long enough.
func (a *assigner) opens(classes []*demandClass, h *host, parts []pack.Part) bool {
	content, oldest := h.real, a.Now
	for _, part := range parts {
		c := classes[part.Class]
		content = content.Add(c.group.Shape.Requests.Times(part.Count))
		if t := c.since(0, a.Now); len(c.pods) > 0 && t.Before(oldest) {
			oldest = t
		}
		if len(c.displaced) > 0 {
			return true
		}
	}
	return h.filled(content) || !a.Now.Before(patience(a.View, a.memory, h.node.Name, oldest))
}

// fillRunning gives pods that exist to nodes that run.
func (a *assigner) fillRunning(c *demandClass) {
	l := &c.levels[c.last()]
	for state := range a.Snapshot.Roomy(withoutAttach(l.shape.Requests)) {
		a.trace.Objects++
		if c.real() == 0 {
			return
		}
		if h := a.room.node(state); h != nil && h.stage == stageNode {
			h.take(a.journal, c, c.last(), c.real())
		}
	}
}

// hostBin is what the packer puts on a host.
type hostBin struct {
	host  *host
	parts []pack.Part
}

// packHosts packs demand on hosts, of which each costs what its room is worth.
// Hosts that are alike are one offer; of these the ones nearest to running get
// what fills them most.
func (a *assigner) packHosts(hosts []*host, classes []*demandClass, count func(*demandClass) int64) []hostBin {
	p, alike := hostsProblem(hosts, classes, count)
	result, done := a.solver.Solve(p, 0)
	if !done {
		return nil
	}
	bins := slices.Clone(result.Bins) // the answer is kept as it is
	fills := func(b pack.Bin) (sum int64) {
		for _, part := range b.Parts {
			sum += price.Bulk(classes[part.Class].group.Shape.Requests) * part.Count
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
func hostsProblem(hosts []*host, classes []*demandClass, count func(*demandClass) int64) (p pack.Problem, alike [][]*host) {
	dims := dimensionsOf(classes)
	wheres := map[string]int{}
	var levels []*level // by number of where
	for _, c := range classes {
		l := &c.levels[c.last()]
		key := placeKey(&l.shape, false)
		w, known := wheres[key]
		if !known {
			w = len(levels)
			wheres[key] = w
			levels = append(levels, l)
		}
		p.Classes = append(p.Classes, pack.Class{Key: c.group.Key, Need: dims.vector(l.shape.Requests), Count: count(c), Where: w})
	}
	p.Where = make([]pack.Where, len(levels))
	hosts = slices.Clone(hosts)
	slices.SortStableFunc(hosts, func(a, b *host) int {
		return cmp.Or(cmp.Compare(price.Bulk(a.free), price.Bulk(b.free)), a.free.Compare(b.free), sooner(a, b))
	})
	takes := func(h *host) []bool {
		out := make([]bool, len(levels))
		for w, l := range levels {
			out[w] = h.accepts(l)
		}
		return out
	}
	var last []bool
	for _, h := range hosts {
		these := takes(h)
		n := len(alike)
		if n > 0 && alike[n-1][0].free.Compare(h.free) == 0 && slices.Equal(these, last) {
			alike[n-1] = append(alike[n-1], h)
			p.Offers[n-1].Nodes++
			continue
		}
		alike, last = append(alike, []*host{h}), these
		p.Offers = append(p.Offers, pack.Offer{
			Name: h.name(), Group: n, Net: dims.vector(h.free.Max(quantity.Resources{})),
			Prices: []quantity.Money{quantity.Money(max(1, price.Bulk(h.free)))}, Zones: 1, Nodes: 1,
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

// putOff lets declared pods that found no room wait until they exist, where the
// nodes that are kept, or on their way, have as much room in sum: gathering pods
// that exist has taken the places of some that do not, and theirs will be free
// when they come.
func (a *assigner) putOff() {
	var sum quantity.Resources
	kept := false
	for _, h := range a.room.coming {
		kept = kept || h.stage == stageKept
		sum = sum.Add(h.free.Max(quantity.Resources{}))
	}
	if !kept {
		return
	}
	for _, c := range a.demand.classes {
		need := withoutAttach(c.group.Shape.Requests).Times(c.declared)
		if c.declared == 0 || c.ruled() || !need.Fits(sum) {
			continue
		}
		sum = sum.Sub(need)
		c.waiting += c.declared
		c.declared = 0
	}
}
