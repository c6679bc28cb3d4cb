package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// settle decides anew, while declared pods are still to come, which of the nodes
// that are up and kept for them open first. Pods that exist are gathered on as
// few of them as hold them, instead of a few on each, so that most open full and
// none has to be opened for a part of its content. Pods that other pods have a
// say about keep to what was planned.
func (s *step) settle() {
	kept := filter(s.hosts, func(h *host) bool { return h.stage == stageKept })
	if len(kept) == 0 || s.trace.Declared == 0 {
		return
	}
	var classes []*demandClass
	for _, c := range s.classes {
		if c.real() > 0 && !s.ruled(c) && len(c.group.Shape.Ports)+len(c.group.Shape.Unsupported) == 0 {
			classes = append(classes, c)
		}
	}
	for _, c := range classes {
		s.fillRunning(c)
	}
	classes = filter(classes, func(c *demandClass) bool { return c.real() > 0 })
	if len(classes) == 0 {
		return
	}
	slices.SortStableFunc(kept, func(a, b *host) int {
		return cmp.Or(cmp.Compare(work(a.free), work(b.free)), strings.Compare(a.name(), b.name()))
	})
	p := s.keptProblem(kept, classes)
	result, done := s.solve(p, 0)
	if !done {
		return
	}
	for _, b := range result.Bins {
		h := kept[b.Offer]
		if !s.settles(classes, h, b) {
			continue
		}
		for _, part := range b.Parts {
			c := classes[part.Class]
			s.take(c, c.last(), h, min(part.Count, c.real()))
		}
	}
}

// wellFilled is the part of a kept node, in thousandths, that pods which exist
// must fill before the node opens for them at once.
const wellFilled = 970

// settles says whether the node may open for this content: it is well filled, or
// a pod of it has waited long enough.
func (s *step) settles(classes []*demandClass, h *host, b pack.Bin) bool {
	var content quantity.Resources
	since := s.in.Now
	for _, part := range b.Parts {
		c := classes[part.Class]
		content = content.Add(c.group.Shape.Requests.Times(part.Count))
		if t := c.since(0, s.in.Now); len(c.pods) > 0 && t.Before(since) {
			since = t
		}
		if len(c.displaced) > 0 {
			return true
		}
	}
	if work(content) >= work(h.free)/1000*wellFilled {
		return true
	}
	ready := s.in.Now
	if t, known := firstSeen(s.memory.ReadySince, h.node.Name); known {
		ready = t
	}
	return !s.in.Now.Before(ready.Add(s.in.Policy.ReleaseWait)) && !s.in.Now.Before(since.Add(s.in.Policy.ReleaseWait))
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

// keptProblem is the pods that exist, to be packed on kept nodes, of which each
// costs what its room is worth.
func (s *step) keptProblem(kept []*host, classes []*demandClass) pack.Problem {
	var p pack.Problem
	dims := dimensionsOf(classes)
	for i, h := range kept {
		p.Offers = append(p.Offers, pack.Offer{
			Name: h.name(), Group: i, Net: dims.vector(h.free.Max(quantity.Resources{})),
			Prices: []quantity.Money{quantity.Money(max(1, work(h.free)))}, Zones: 1, Nodes: 1,
		})
	}
	where := map[string]int{}
	for _, c := range classes {
		l := &c.levels[c.last()]
		key := placeKey(&l.shape, false)
		w, known := where[key]
		if !known {
			w = len(p.Where)
			where[key] = w
			zones := make([]uint64, len(kept))
			for i, h := range kept {
				if h.accepts(l) {
					zones[i] = 1
				}
			}
			p.Where = append(p.Where, pack.Where{Zones: zones})
		}
		p.Classes = append(p.Classes, pack.Class{Key: c.group.Key, Need: dims.vector(l.shape.Requests), Count: c.real(), Where: w})
	}
	return p
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
