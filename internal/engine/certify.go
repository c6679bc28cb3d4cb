package engine

import (
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/bound"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// certify proves how much less the launches could cost at best: what all pods
// that this plan gave a place are worth, less the worth of the room that was
// there. Only requirements count, every pool and every offering, whatever its
// weight and whether it ran out a moment ago; so the bound holds for any plan.
func (s *step) certify() {
	if len(s.launches) == 0 {
		return // the least cost of nothing is nothing
	}
	demand := filter(s.classes, func(c *demandClass) bool { return c.placed() > 0 })
	p, levels, dims := s.boundProblem(demand)
	p.Hosts = s.boundHosts(demand, levels, dims)
	s.proofs = append(s.proofs, certificate(s.prove(p, demand, dims), p, demand, dims, s.fleet.Unpriced))
}

const (
	nearly = 50  // the inverse of the gap at which no better bound is looked for
	few    = 200 // the inverse of the part of the pods that may count nothing then
)

// prove finds the bound. Where nearly all was packed at once on new nodes, the
// packer's own prices prove it already.
func (s *step) prove(p bound.Problem, demand []*demandClass, dims dimensions) bound.Certificate {
	if len(s.packed) > 0 && len(p.Hosts) == 0 {
		if prices, ok := s.packed[0].pricesOf(demand, dims); ok {
			for _, i := range dims.rest {
				prices.Of = append(prices.Of, prices.Of[i])
			}
			if c := bound.With(p, prices); c.Bound >= s.cost-s.cost/nearly {
				return c
			}
		}
	}
	return bound.Of(p)
}

// packed is one call of the packer.
type packed struct {
	items  []*item
	dims   dimensions
	prices price.Prices
}

// pricesOf returns the packer's prices for the classes, nothing for those that
// were not one of the packer's, where they are of resources alone.
func (x packed) pricesOf(demand []*demandClass, dims dimensions) (price.Prices, bool) {
	resources := len(dims.names())
	ofRule := func(d price.Dimension) bool { return d.Resource >= resources }
	if !slices.Equal(x.dims.extended, dims.extended) || len(x.dims.slots) > 0 || slices.ContainsFunc(x.prices.Dimensions, ofRule) {
		return price.Prices{}, false
	}
	whole := map[*demandClass][]int64{}
	for i, it := range x.items {
		if _, twice := whole[it.class]; !twice && it.cell == nil && it.unit == 1 && it.with == nil {
			whole[it.class] = x.prices.Of[i]
		} else {
			whole[it.class] = nil
		}
	}
	out := x.prices
	out.Of = make([][]int64, len(demand))
	nothing := make([]int64, len(out.Dimensions))
	var all, without int64
	for i, c := range demand {
		out.Of[i] = whole[c]
		all += c.placed()
		if whole[c] == nil {
			out.Of[i] = nothing
			without += c.placed()
		}
	}
	return out, without <= all/few
}

// placed is how many of the class have a place now.
func (c *demandClass) placed() int64 { return c.had - c.refused - c.waiting }

// certificate says what was proven in terms of the objects; the demand is as in
// boundProblem. A set of pods apart is told by who has a price for it.
func certificate(c bound.Certificate, p bound.Problem, demand []*demandClass, dims dimensions, unpriced []string) plan.Certificate {
	c = asTold(c, p, dims)
	out := plan.Certificate{Bound: c.Bound, Scale: c.Scale, Unpriced: unpriced}
	names := dims.names()
	var told []int
	for i, x := range c.Dimensions {
		set := x.Resource - len(names)
		if set >= 0 && !slices.ContainsFunc(c.Prices, func(prices []int64) bool { return len(prices) > 0 && prices[i] > 0 }) {
			continue
		}
		d := plan.Dimension{Resource: plan.Apart(set + 1), Unit: x.Unit}
		if set < 0 {
			d.Resource = names[x.Resource]
		}
		told, out.Dimensions = append(told, i), append(out.Dimensions, d)
	}
	for i, d := range demand {
		prices := c.Prices[i]
		switch {
		case len(prices) == 0:
			prices = make([]int64, len(told))
		case len(dims.apart) > 0:
			prices = make([]int64, len(told))
			for j, k := range told {
				if p.Classes[i].Need[c.Dimensions[k].Resource] > 0 {
					prices[j] = c.Prices[i][k]
				}
			}
		}
		out.Demand = append(out.Demand, plan.DemandPrice{Group: d.group.Key, Count: d.placed(), Together: d.joined, Prices: prices})
	}
	return out
}

// asTold is what is proven in the terms that are told. A pod belongs to the sets
// of pods apart that it has a price for, and to no other: only those are told, and
// a pod that is not known to belong to a set may go where the set has no room. And
// all pods of a class have the same prices.
func asTold(c bound.Certificate, p bound.Problem, dims dimensions) bound.Certificate {
	changed := len(dims.rest) > 0
	for k, i := range dims.rest {
		c.Prices[len(p.Classes)-len(dims.rest)+k] = c.Prices[i]
	}
	for n := range dims.apart {
		set := len(dims.names()) + n
		at := slices.IndexFunc(c.Dimensions, func(d price.Dimension) bool { return d.Resource == set })
		for i := range p.Classes {
			need := p.Classes[i].Need
			if need[set] > 0 && (at < 0 || len(c.Prices[i]) == 0 || c.Prices[i][at] == 0) {
				need[set], changed = 0, true
			}
		}
	}
	if changed {
		proven, err := bound.Proven(p, c)
		if err != nil {
			proven = 0
		}
		c.Bound = min(c.Bound, proven)
	}
	return c
}

// boundProblem is the demand, which it sorts by key, and all that could be
// launched for it; levels are by index of Where.
func (s *step) boundProblem(demand []*demandClass) (p bound.Problem, levels []*level, dims dimensions) {
	slices.SortStableFunc(demand, func(a, b *demandClass) int { return strings.Compare(a.group.Key, b.group.Key) })
	dims = dimensionsOf(demand)
	sets := apartOf(demand)
	for i := range s.fleet.Rows {
		r := &s.fleet.Rows[i]
		p.Offers = append(p.Offers, pack.Offer{Name: r.Name, Group: r.Group, Net: dims.vector(r.Most), Prices: r.Prices, Zones: r.Zones, Nodes: -1})
		if r.Left >= 0 {
			p.Offers[i].Nodes = r.Left
		}
	}
	where := map[string]int{}
	p.Classes = make([]pack.Class, 0, len(demand))
	for _, c := range demand {
		l := &c.levels[c.last()]
		key := placeKey(&l.shape, false)
		w, known := where[key]
		if !known {
			w = len(p.Where)
			where[key] = w
			p.Where = append(p.Where, pack.Where{Zones: s.places(key, l, false)})
			levels = append(levels, l)
		}
		need, n := withoutAttach(l.shape.Requests), c.placed()
		if c.joined = s.sharesOne(c); c.joined {
			need, n = need.Times(n), 1
		}
		p.Classes = append(p.Classes, pack.Class{Key: c.group.Key, Need: dims.vector(need), Count: n, Where: w})
		if x, ok := s.spreadOf(c, p.Where[w]); ok {
			sets = append(sets, x)
		}
	}
	return p, levels, dims.withApart(&p.Problem, demand, largest(sets))
}

// boundHosts is the room that was there before this plan, where a pod of the
// demand could use it.
func (s *step) boundHosts(demand []*demandClass, levels []*level, dims dimensions) []pack.Host {
	least := demand[0].group.Shape.Requests
	for _, c := range demand[1:] {
		least = least.Min(c.group.Shape.Requests)
	}
	for state := range s.in.Snapshot.Roomy(withoutAttach(least)) {
		s.trace.Objects++
		s.node(state)
	}
	return room(s.touched(func(*host) bool { return true }), levels, dims)
}

// room is that of the hosts that a pod of any level could use.
func room(hosts []*host, levels []*level, dims dimensions) []pack.Host {
	var out []pack.Host
	for _, h := range hosts {
		x := pack.Host{Free: dims.roomOf(h), Holds: make([]uint64, (len(levels)+63)/64)}
		found := false
		for w, l := range levels {
			if h.could(l) {
				x.Holds[w>>6] |= 1 << (w & 63)
				found = true
			}
		}
		if found {
			out = append(out, x)
		}
	}
	return out
}
