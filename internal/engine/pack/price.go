package pack

import (
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
)

// Cuts for the prices that a bound is made of, and groups with prices of their
// own: many for those, fewer for the prices that steer a search, which are asked
// for again and again.
const (
	boundCuts   = 12
	firstGroups = 16
	someGroups  = 6
)

// Prices asks what resources are worth to the classes where there are hosts
// besides the offers.
func Prices(p Problem, hosts []Host) price.Prices {
	c := newCore(&p)
	s := newSearch(c, newPlan(c))
	return c.widen(s.solvePrices(s.left, boundCuts, 0, c.pooled(hosts)))
}

// pooled adds up the room of hosts that the same classes may use: one offer
// for all of them keeps the program small, and only makes its prices a little
// less apt.
func (c *core) pooled(hosts []Host) []price.Offer {
	var out []price.Offer
	for i := range hosts {
		h := &hosts[i]
		holds := make([]uint64, (len(c.p.Where)+63)/64)
		for w, of := range c.placeOf {
			if w>>6 < len(h.Holds) && h.Holds[w>>6]>>(w&63)&1 == 1 {
				holds[of>>6] |= 1 << (of & 63)
			}
		}
		at := slices.IndexFunc(out, func(o price.Offer) bool { return slices.Equal(o.Holds, holds) })
		if at < 0 {
			at = len(out)
			out = append(out, price.Offer{Capacity: make([]int64, len(c.resources.dims)), Holds: holds, Limit: 1})
		}
		for j, d := range c.resources.dims {
			free := max(0, valueAt(h.Free, d))
			out[at].Capacity[j] += min(free, math.MaxInt64-out[at].Capacity[j])
		}
	}
	return out
}

// pricesFor asks what resources are worth to what is left.
func (s *search) pricesFor(left []int64, cuts, groups int) price.Prices {
	return s.solvePrices(left, cuts, groups, nil)
}

// solvePrices asks package price. Steering prices look at few columns.
func (s *search) solvePrices(left []int64, cuts, groups int, more []price.Offer) price.Prices {
	steering := groups > 0
	offers := make([]price.Offer, 0, len(s.supply.columns)+len(more))
	from := make([]int, 0, len(s.supply.columns))
	for i := range s.supply.columns {
		col := &s.supply.columns[i]
		if !s.usable(i) || steering && (!s.supply.sample[i] || s.cap > 0 && col.price > s.cap) {
			continue
		}
		limit := int64(-1)
		if col.nodes >= 0 {
			limit = s.nodesLeft[col.offer]
		}
		offers = append(offers, price.Offer{Capacity: col.room, Price: col.price, Holds: col.wheres, Limit: limit})
		from = append(from, i)
	}
	out := price.Solve(price.Problem{Resources: len(s.resources.dims), Offers: append(offers, more...), Classes: s.demand.counted(left), Cuts: cuts, Groups: groups, Steer: steering})
	s.core.trace.Pivots += out.Pivots
	of := s.of // prices that steer are of use until the next ones
	if of == nil || !steering {
		of = make([][]int64, len(s.demand.kinds))
	}
	if steering {
		s.of = of
	}
	for i := range s.demand.kinds {
		of[i] = out.Of[s.demand.kinds[i].shape]
	}
	buys := make([]int64, len(s.supply.columns))
	for i, column := range from {
		buys[column] = out.Buys[i]
	}
	out.Of, out.Buys = of, buys
	return out
}
