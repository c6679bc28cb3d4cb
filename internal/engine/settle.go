package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// settle decides anew, while declared pods are still to come, which of the nodes
// that are up and kept for them open first. Pods that exist are gathered on as
// few nodes as hold them, up or on their way, and those of these that are up open
// when they are full; else what is planned stays. Once a node has opened with
// other pods than were planned there, the rest is planned anew. Pods that other
// pods have a say about keep to what was planned.
func (s *step) settle() {
	kept := 0
	hosts := filter(s.hosts, func(h *host) bool { return h.stage != stageNode })
	for _, h := range hosts {
		if h.stage == stageKept {
			kept++
		}
	}
	if kept == 0 || s.trace.Declared == 0 {
		return
	}
	s.settled = true
	promises := s.promises()
	for _, c := range s.classes {
		c.movable = s.movable(c, hosts)
		if c.real() > 0 && c.movable {
			s.fillRunning(c)
		}
		if !c.movable {
			s.fillPlanned(c, promises[c.group.Kind], (*demandClass).count)
		}
	}
	if s.gather(hosts) {
		s.replan(filter(hosts, func(h *host) bool { return !h.opens }))
	}
}

// movable says whether the class's pods may change places freely: other pods have
// no say about them, and they would find room on most of the hosts.
func (s *step) movable(c *demandClass, hosts []*host) bool {
	if !s.free(c) {
		return false
	}
	need := withoutAttach(c.group.Shape.Requests)
	var room, holds int64
	for _, h := range hosts {
		room += work(h.most)
		holds += work(need) * need.CountIn(h.most, unlimited)
	}
	return holds > room/3
}

// free says whether no other pods have a say in where the class goes.
func (s *step) free(c *demandClass) bool {
	return !s.ruled(c) && len(c.group.Shape.Ports)+len(c.group.Shape.Unsupported) == 0
}

// gather gives pods that exist to nodes that may open for them, and says whether
// there are any.
func (s *step) gather(hosts []*host) bool {
	classes := filter(s.classes, func(c *demandClass) bool { return c.real() > 0 && c.movable })
	if len(classes) == 0 {
		return false
	}
	opened := false
	for _, f := range s.packHosts(hosts, classes, (*demandClass).real) {
		h := f.host
		if h.stage != stageKept || !s.opens(classes, h, f.parts) {
			continue
		}
		opened, h.opens = true, true
		for _, part := range f.parts {
			c := classes[part.Class]
			s.take(c, c.last(), h, min(part.Count, c.real()))
		}
	}
	return opened
}

// replan plans what is left of the demand anew on the hosts that stay closed.
func (s *step) replan(hosts []*host) {
	classes := filter(s.classes, func(c *demandClass) bool { return c.count() > 0 && c.movable })
	if len(classes) == 0 || len(hosts) == 0 {
		return
	}
	slots := s.fixedSlots(hosts, func(c *demandClass) bool { return !c.movable })
	for _, f := range s.packHosts(hosts, classes, (*demandClass).count) {
		for _, part := range f.parts {
			slots.add(f.host, classes[part.Class], part.Count)
		}
	}
	if !s.packer.cut {
		s.promise(slots)
	}
}

// wellFilled is the part of a kept node, in thousandths, that pods which exist
// must fill before the node opens for them at once.
const wellFilled = 970

// opens says whether the node may open for this content: it is well filled, or
// a pod of it has waited long enough.
func (s *step) opens(classes []*demandClass, h *host, parts []pack.Part) bool {
	content, oldest := h.real, s.in.Now
	for _, part := range parts {
		c := classes[part.Class]
		content = content.Add(c.group.Shape.Requests.Times(part.Count))
		if t := c.since(0, s.in.Now); len(c.pods) > 0 && t.Before(oldest) {
			oldest = t
		}
		if len(c.displaced) > 0 {
			return true
		}
	}
	return h.filled(content) || !s.in.Now.Before(s.patience(h, oldest))
}

// filled says whether the content fills the node, or is as much as the node was
// launched for.
func (h *host) filled(content quantity.Resources) bool {
	planned := h.claim.Requests.Sub(h.claim.Allocatable.Sub(h.most))
	return work(content) >= min(work(h.most), work(planned))/1000*wellFilled
}

// keptAtMost is how long a node is kept for declared pods while controllers make
// progress, in units of the wait where they make none.
const keptAtMost = 10

// patience is until when a node that is up is kept for declared pods, if the
// oldest of those that it has came then: as long as controllers make progress,
// but not without end.
func (s *step) patience(h *host, oldest time.Time) time.Time {
	from, known := firstSeen(s.memory.ReadySince, h.node.Name)
	if !known {
		from = s.in.Now
	}
	from = latest(from, oldest)
	progress := from
	for _, kind := range s.memory.Advanced {
		progress = latest(progress, kind.At)
	}
	return earliest(progress.Add(s.in.Policy.ReleaseWait), from.Add(keptAtMost*s.in.Policy.ReleaseWait))
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// real counts the pods of the class that exist.
func (c *demandClass) real() int64 { return int64(len(c.pods) + len(c.displaced)) }

// fillRunning gives pods that exist to nodes that run.
func (s *step) fillRunning(c *demandClass) {
	l := &c.levels[c.last()]
	for state := range s.in.Snapshot.Roomy(withoutAttach(l.shape.Requests)) {
		s.trace.Objects++
		if c.real() == 0 {
			return
		}
		if h := s.node(state); h != nil && h.stage == stageNode {
			s.take(c, c.last(), h, c.real())
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
func (s *step) packHosts(hosts []*host, classes []*demandClass, count func(*demandClass) int64) []hostBin {
	p, alike := s.hostsProblem(hosts, classes, count)
	result, done := s.packer.solve(p, 0)
	if !done {
		return nil
	}
	bins := slices.Clone(result.Bins) // the answer is kept as it is
	fills := func(b pack.Bin) (sum int64) {
		for _, part := range b.Parts {
			sum += work(classes[part.Class].group.Shape.Requests) * part.Count
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
func (s *step) hostsProblem(hosts []*host, classes []*demandClass, count func(*demandClass) int64) (p pack.Problem, alike [][]*host) {
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
		return cmp.Or(cmp.Compare(work(a.free), work(b.free)), a.free.Compare(b.free), sooner(a, b))
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
			Prices: []quantity.Money{quantity.Money(max(1, work(h.free)))}, Zones: 1, Nodes: 1,
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
func (s *step) putOff() {
	var sum quantity.Resources
	kept := false
	for _, h := range s.hosts {
		kept = kept || h.stage == stageKept
		sum = sum.Add(h.free.Max(quantity.Resources{}))
	}
	if !kept {
		return
	}
	for _, c := range s.classes {
		need := withoutAttach(c.group.Shape.Requests).Times(c.declared)
		if c.declared == 0 || s.ruled(c) || !need.Fits(sum) {
			continue
		}
		sum = sum.Sub(need)
		c.waiting += c.declared
		c.declared = 0
	}
}
