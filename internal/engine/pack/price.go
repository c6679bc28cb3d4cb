package pack

import (
	"math/bits"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
)

// Cuts for the prices that a bound is made of, and groups with prices of their
// own: many for those, few for the prices that only steer.
const (
	boundCuts  = 12
	someGroups = 6
)

// pricesFor asks what resources are worth to what is left.
func (s *search) pricesFor(left []int64, cuts, groups int) price.Prices {
	offers := make([]price.Offer, len(s.columns))
	for i := range s.columns {
		col := &s.columns[i]
		limit := int64(-1)
		switch {
		case !s.usable(i):
			limit = 0
		case col.nodes >= 0:
			limit = s.nodesLeft[col.offer]
		}
		offers[i] = price.Offer{Capacity: col.room, Price: col.price, Holds: col.wheres, Limit: limit}
	}
	classes := make([]price.Class, len(s.kinds))
	for i := range s.kinds {
		classes[i] = price.Class{Signature: s.kinds[i].where, Need: s.kinds[i].need, Count: left[i]}
	}
	out := price.Solve(price.Problem{Resources: len(s.dims), Offers: offers, Classes: classes, Cuts: cuts, Groups: groups})
	s.trace.Pivots += out.Pivots
	return out
}

// value gives every kind that is left its worth, and every column the most that
// it could hold.
func (s *search) value(prices price.Prices, left []int64) {
	best := make([]int64, len(prices.Dimensions))
	for i := range s.kinds {
		k := &s.kinds[i]
		if left[i] == 0 {
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
	for i := range s.columns {
		s.columns[i].full = worth(s.columns[i].room, prices, best)
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
