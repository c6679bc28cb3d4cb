package pack

import (
	"math/bits"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
)

// values are what pods and full nodes are worth by the last prices. Each search
// has values of its own.
type values struct {
	kinds   []kind
	columns []column
	worth   []uint64 // per kind, nano-dollars an hour
	weight  []uint64 // per kind: worth, more for big pods
	full    []uint64 // per column, at least the worth of what a node can hold
}

func newValues(c *core) *values {
	return &values{
		kinds: c.demand.kinds, columns: c.supply.columns,
		worth: make([]uint64, len(c.demand.kinds)), weight: make([]uint64, len(c.demand.kinds)), full: make([]uint64, len(c.supply.columns)),
	}
}

// set takes new prices. Kinds of which nothing is left keep their worth.
func (v *values) set(prices price.Prices, left []int64) {
	best := make([]int64, len(prices.Dimensions))
	for i := range v.kinds {
		k := &v.kinds[i]
		if left[i] == 0 {
			continue
		}
		if i > 0 && k.shape == v.kinds[i-1].shape && left[i-1] > 0 {
			v.worth[i], v.weight[i] = v.worth[i-1], v.weight[i-1]
			continue
		}
		v.worth[i] = max(1, worth(k.need, prices, prices.Of[i]))
		// The fourth root makes a pod that takes 16 times the room count twice
		// as much: what is big should be placed first.
		v.weight[i] = min(v.worth[i], 1<<34) * root(root(k.size<<24)) >> 6
		for d, p := range prices.Of[i] {
			best[d] = max(best[d], p)
		}
	}
	for i := range v.columns {
		v.full[i] = worth(v.columns[i].room, prices, best)
	}
}

// maxWorth keeps the worth of one node far from overflow.
const maxWorth = 1 << 62

// of is the worth of the content of one node.
func (v *values) of(pieces []piece) uint64 {
	sum := uint64(0)
	for _, p := range pieces {
		sum = min(sum+v.worth[p.kind]*uint64(p.count), maxWorth)
	}
	return sum
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
