package pack

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
)

// result is the plan in classes and offers. Counters continue from the given result.
func (c *core) result(from *plan, r Result, prices price.Prices) Result {
	r.Left, r.Cost, r.Trace, r.nodes = make([]int64, len(c.p.Classes)), 0, c.trace, from.nodes
	r.Prices = c.widen(prices)
	for i := range c.p.Classes {
		r.Left[i] = max(0, c.p.Classes[i].Count)
	}
	s := newSplitter(c, from, r.Left)
	for i := range from.nodes {
		s.split(&from.nodes[i])
	}
	r.Bins = s.bins
	for i := range r.Bins {
		b := &r.Bins[i]
		b.Zones = ^uint64(0)
		for _, p := range b.Parts {
			b.Zones &= c.p.zonesFor(b.Offer, p.Class)
			r.Left[p.Class] -= p.Count * b.Copies
		}
		r.Cost = r.Cost.Add(c.p.Offers[b.Offer].cheapest(b.Zones).Times(b.Copies))
	}
	return r
}

// splitter turns nodes of kinds into bins of classes. It hands out the pods of a
// kind's classes in the order of their keys. Where a kind has pods left, the
// classes that the problem names last have them.
type splitter struct {
	classes []Class
	columns []column
	members [][]Part // per kind, what is still to be handed out
	bins    []Bin
}

func newSplitter(c *core, from *plan, counts []int64) *splitter {
	s := &splitter{classes: c.p.Classes, columns: c.supply.columns, members: make([][]Part, len(c.demand.kinds))}
	for k := range c.demand.kinds {
		kd := &c.demand.kinds[k]
		placed := kd.count - from.left[k]
		members := make([]Part, 0, len(kd.members))
		for _, i := range kd.members {
			n := min(counts[i], placed)
			placed -= n
			members = append(members, Part{i, n})
		}
		slices.SortStableFunc(members, func(a, b Part) int { return cmp.Compare(c.p.Classes[a.Class].Key, c.p.Classes[b.Class].Key) })
		s.members[k] = members
	}
	return s
}

// split makes as few bins of a node as its kinds' members allow.
func (s *splitter) split(n *node) {
	for copies := n.copies; copies > 0; {
		same := copies
		for _, p := range n.pieces {
			same = min(same, max(1, s.first(p.kind).Count/p.count))
		}
		b := Bin{Offer: s.columns[n.column].offer, Parts: make([]Part, 0, len(n.pieces)), Copies: same}
		for _, p := range n.pieces {
			need := p.count
			for need > 0 {
				m := s.first(p.kind)
				if m.Count == 0 {
					break
				}
				each := min(need, m.Count)
				if same > 1 {
					each = need
				}
				b.Parts = append(b.Parts, Part{m.Class, each})
				m.Count -= each * same
				need -= each
			}
		}
		slices.SortFunc(b.Parts, func(x, y Part) int { return cmp.Compare(x.Class, y.Class) })
		b.Used = s.used(b.Parts)
		s.bins = append(s.bins, b)
		copies -= same
	}
}

// first is the member of the kind to hand out next.
func (s *splitter) first(kind int) *Part {
	members := s.members[kind]
	for len(members) > 1 && members[0].Count == 0 {
		members = members[1:]
	}
	s.members[kind] = members
	return &members[0]
}

// used is what the pods of one bin need.
func (s *splitter) used(parts []Part) []int64 {
	n := 0
	for _, p := range parts {
		n = max(n, len(s.classes[p.Class].Need))
	}
	used := make([]int64, n)
	for _, p := range parts {
		for r, need := range s.classes[p.Class].Need {
			used[r] += max(0, need) * p.Count
		}
	}
	return used
}

// widen turns prices of kinds and of resources in use into prices of classes and
// of the problem's resources.
func (c *core) widen(of price.Prices) price.Prices {
	out := price.Prices{Scale: of.Scale, Of: make([][]int64, len(c.p.Classes)), Pivots: of.Pivots}
	for _, d := range of.Dimensions {
		out.Dimensions = append(out.Dimensions, price.Dimension{Resource: c.resources.dims[d.Resource], Unit: d.Unit})
	}
	nothing := make([]int64, len(of.Dimensions))
	for i := range out.Of {
		out.Of[i] = nothing
	}
	for k := range c.demand.kinds {
		for _, i := range c.demand.kinds[k].members {
			out.Of[i] = of.Of[k]
		}
	}
	if of.Surcharge != nil {
		out.Surcharge = make([]int64, len(c.p.Classes))
		for k := range c.demand.kinds {
			for _, i := range c.demand.kinds[k].members {
				out.Surcharge[i] = of.Surcharge[k]
			}
		}
	}
	return out
}

// narrow is the inverse of widen.
func (c *core) narrow(of price.Prices) price.Prices {
	out := price.Prices{Scale: of.Scale, Of: make([][]int64, len(c.demand.kinds)), Pivots: of.Pivots}
	for _, d := range of.Dimensions {
		out.Dimensions = append(out.Dimensions, price.Dimension{Resource: slices.Index(c.resources.dims, d.Resource), Unit: d.Unit})
	}
	for k := range c.demand.kinds {
		out.Of[k] = of.Of[c.demand.kinds[k].members[0]]
	}
	return out
}
