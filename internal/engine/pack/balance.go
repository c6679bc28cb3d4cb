package pack

import (
	"math/bits"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
)

// balance measures how far the free amounts of a bin lean away from the proportions
// of what is still to come. With x the free amount of a resource in proportion to
// what is still to come of it, and w the share of the resource in the worth of all
// that is still to come, the lean is (sum of w x^2) / (sum of w x). Of bins of one
// size, a bin whose resources run out together leans least, and a bin with only one
// resource free, which nothing can use, leans most.
type balance struct {
	resources  *resources
	rest       []uint64 // units still to come, per dimension
	prices     []uint64 // worth of all units at the start, per dimension
	first      []uint64 // units at the start, per dimension
	minWeights []uint64 // weight that a resource has at least, in 1024ths
	scales     []scale
	none       []uint64 // no units, for lean
}

// scale is how one resource counts.
type scale struct {
	weight uint64 // w in 1024ths
	factor uint64 // free units times factor / 2^20 is x
	shift  uint
}

func newBalance(r *resources) balance {
	n := len(r.dims)
	return balance{
		resources: r, rest: make([]uint64, n), prices: make([]uint64, n), first: make([]uint64, n), minWeights: make([]uint64, n),
		scales: make([]scale, n), none: make([]uint64, n),
	}
}

// start counts what is still to come: the pods of the kinds, at the prices.
func (b *balance) start(kinds []kind, order []piece, prices price.Prices) {
	sums := make([]price.Sum, len(b.rest))
	clear(b.rest)
	for _, p := range order {
		kd, n := &kinds[p.kind], p.count
		for d, q := range kd.units {
			b.rest[d] += q * uint64(n)
		}
		for i, dim := range prices.Dimensions {
			units := kd.need[dim.Resource]
			if dim.Unit > 1 {
				units /= dim.Unit
			}
			var one price.Sum
			one.Add(units, prices.Of[p.kind][i])
			sums[dim.Resource].Add(one.Unscaled(prices.Scale), n)
		}
	}
	highest := uint64(1)
	for d, sum := range sums {
		b.prices[d] = uint64(sum.Unscaled(0))
		highest = max(highest, b.prices[d])
	}
	shift := max(0, bits.Len64(highest)-30)
	for d := range b.prices {
		b.prices[d] >>= shift
		b.first[d] = max(1, b.rest[d])
	}
}

// nearlyShort gives weight to resources of which the bins have hardly more than is
// asked for. Such resources may be worth nothing, but only as long as they are used
// evenly. The weight is the eighth power of the part that is asked for.
func (b *balance) nearlyShort(bins []bin) {
	for d := range b.rest {
		all := uint64(1)
		for i := range bins {
			all += b.resources.units(d, bins[i].free[d])
		}
		part := min(1024, b.rest[d]>>4*1024/max(1, all>>4))
		for range 3 {
			part = part * part >> 10
		}
		b.minWeights[d] = part * 3 / 10
	}
}

// take removes n pods of the kind from what is still to come.
func (b *balance) take(k *kind, n int64) {
	for d, q := range k.units {
		b.rest[d] -= min(b.rest[d], q*uint64(n))
	}
}

// weigh brings the scales up to date.
func (b *balance) weigh() {
	sum, most := uint64(1), uint64(1)
	for d, rest := range b.rest {
		hi, lo := bits.Mul64(b.prices[d], rest)
		b.scales[d].weight, _ = bits.Div64(hi, lo, max(b.first[d], hi+1))
		sum += b.scales[d].weight
		most = max(most, rest)
	}
	shift := max(0, bits.Len64(most)-30)
	mean := uint64(1)
	for d, rest := range b.rest {
		x := &b.scales[d]
		x.weight = max(x.weight<<10/sum, min(b.minWeights[d], rest))
		x.factor = b.resources.largestUnits(d) << 30 / max(1, rest>>shift)
		x.shift = b.resources.shift[d]
		mean += x.weight * (x.factor >> 10)
	}
	for d := range b.scales {
		x := &b.scales[d]
		x.factor = min(x.factor, 1<<51) << 12 / mean << 28 / b.resources.largestUnits(d)
	}
}

// lean measures the free amounts less some units, in 32nds. The mean is how much
// they are.
func (b *balance) lean(free []int64, less []uint64) (lean, mean uint64) {
	var square uint64
	less = less[:len(b.scales)]
	free = free[:len(b.scales)]
	for d := range b.scales {
		s := &b.scales[d]
		units := uint64(free[d]) >> s.shift
		x := min((units-min(units, less[d]))*s.factor>>20, 1<<24)
		mean += s.weight * x
		square += s.weight * x * x
	}
	return square << 5 / max(1, mean), mean
}
