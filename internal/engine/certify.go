package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/bound"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
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
	p, demand, dims := s.boundProblem()
	c := bound.Of(p)
	out := plan.Certificate{Bound: c.Bound, Scale: c.Scale, Unpriced: s.fleet.Unpriced}
	for _, x := range c.Dimensions {
		out.Dimensions = append(out.Dimensions, plan.Dimension{Resource: dims.names()[x.Resource], Unit: x.Unit})
	}
	for i, d := range demand {
		prices := c.Prices[i]
		if len(prices) == 0 {
			prices = make([]int64, len(out.Dimensions))
		}
		out.Demand = append(out.Demand, plan.DemandPrice{Group: d.group.Key, Count: d.had - d.refused - d.waiting, Prices: prices})
	}
	slices.SortFunc(out.Demand, func(a, b plan.DemandPrice) int { return strings.Compare(a.Group, b.Group) })
	s.proofs = append(s.proofs, out)
}

// boundProblem is the demand that has a place now, and all that could carry it.
func (s *step) boundProblem() (bound.Problem, []*demandClass, dimensions) {
	var demand []*demandClass
	for _, c := range s.classes {
		if c.had > c.refused+c.waiting {
			demand = append(demand, c)
		}
	}
	dims := dimensionsOf(demand)
	p := bound.Problem{}
	for i := range s.fleet.Rows {
		r := &s.fleet.Rows[i]
		p.Offers = append(p.Offers, pack.Offer{Name: r.Name, Group: r.Group, Net: dims.vector(r.Most), Prices: r.Prices, Zones: r.Zones, Nodes: -1})
		if r.Left >= 0 {
			p.Offers[i].Nodes = r.Left
		}
	}
	where := map[string]int{}
	var levels []*level // by index of Where
	for _, c := range demand {
		l := &c.levels[c.last()]
		key := placeKey(&l.shape, false)
		w, known := where[key]
		if !known {
			w = len(p.Where)
			where[key] = w
			p.Where = append(p.Where, pack.Where{Zones: s.fleet.Where(l.shape, false)})
			levels = append(levels, l)
		}
		p.Classes = append(p.Classes, pack.Class{
			Key: c.group.Key, Need: dims.vector(s.withoutAttach(l.shape.Requests)), Count: c.had - c.refused - c.waiting, Where: w,
		})
	}
	slices.SortStableFunc(p.Classes, func(a, b pack.Class) int { return strings.Compare(a.Key, b.Key) })
	slices.SortStableFunc(demand, func(a, b *demandClass) int { return cmp.Compare(a.group.Key, b.group.Key) })
	p.Hosts = s.boundHosts(demand, levels, dims)
	return p, demand, dims
}

// boundHosts is the room that was there before this plan, where a pod of the
// demand could use it.
func (s *step) boundHosts(demand []*demandClass, levels []*level, dims dimensions) []pack.Host {
	least := demand[0].group.Shape.Requests
	for _, c := range demand[1:] {
		least = least.Min(c.group.Shape.Requests)
	}
	for state := range s.in.Snapshot.Roomy(least) {
		s.node(state)
	}
	var out []pack.Host
	add := func(h *host) {
		x := pack.Host{Free: dims.vector(h.most), Holds: make([]uint64, (len(levels)+63)/64)}
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
	for _, h := range s.touched(func(*host) bool { return true }) {
		add(h)
	}
	return out
}
