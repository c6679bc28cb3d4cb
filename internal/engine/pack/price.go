package pack

import (
	"math"
	"math/bits"
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
	s := newSearch(c)
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
	s.trace.Pivots += out.Pivots
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

// value gives every kind that is left its worth, and every column the most that
// it could hold.
func (s *search) value(prices price.Prices, left []int64) {
	best := make([]int64, len(prices.Dimensions))
	for i := range s.demand.kinds {
		k := &s.demand.kinds[i]
		if left[i] == 0 {
			continue
		}
		if i > 0 && k.shape == s.demand.kinds[i-1].shape && left[i-1] > 0 {
			k.worth, k.weight = s.demand.kinds[i-1].worth, s.demand.kinds[i-1].weight
			continue
		}
		k.worth = max(1, worth(k.need, prices, prices.Of[i]))
		// The fourth root makes a pod that takes 16 times the room count twice
		// as much: what is big should go first.
		k.weight = min(k.worth, 1<<34) * root(root(k.size<<24)) >> 6
		for d, v := range prices.Of[i] {
			best[d] = max(best[d], v)
		}
	}
	for i := range s.supply.columns {
		s.supply.columns[i].full = worth(s.supply.columns[i].room, prices, best)
	}
}

// worth is the price of the amounts in nano-dollars an hour, kept within 2^40.
func worth(amounts []int64, prices price.Prices, of []int64) uint64 {
	var sum price.Sum
	for d, dim := range prices.Dimensions {
		n := amounts[dim.Resource]
		if dim.Unit > 1 {
			n /= dim.Unit
		}
		sum.Add(n, of[d])
	}
	return min(uint64(sum.Unscaled(prices.Scale)), 1<<40)
}

// root is the square root, rounded down.
func root(v uint64) uint64 {
	if v == 0 {
		return 0
	}
	r := uint64(1) << ((bits.Len64(v) + 1) / 2)
	for {
		next := (r + v/r) / 2
		if next >= r {
			return r
		}
		r = next
	}
}

// dearer compares prices for worth without dividing: a/worthA > b/worthB.
func dearer(a int64, worthA uint64, b int64, worthB uint64) bool {
	ah, al := bits.Mul64(uint64(a), worthB)
	bh, bl := bits.Mul64(uint64(b), worthA)
	return ah > bh || ah == bh && al > bl
}
