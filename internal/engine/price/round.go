package price

import (
	"math"
	"math/bits"
)

// round turns the prices of the parts into integers that are feasible exactly. Where
// a price is no usable number, all prices are 0.
func (m *model) round(parts []*part, out *Prices) {
	nothing := make([]int64, len(out.Dimensions))
	for i := range out.Of {
		out.Of[i] = nothing
	}
	highest := 0.0
	for _, c := range parts {
		for _, prices := range append(c.prices, c.whole.surcharge) {
			for _, v := range prices {
				if !(v < math.MaxInt64/4) { // also what is not a number
					return
				}
				highest = max(highest, v)
			}
		}
		if len(c.whole.classes) == 0 {
			continue
		}
		for _, o := range c.offers { // contents are compared with their nodes' prices
			highest = max(highest, float64(c.Offers[o].Price))
		}
		if out.Surcharge == nil {
			out.Surcharge = make([]int64, len(m.Classes))
		}
	}
	out.Scale = 40
	for out.Scale > 0 && highest*float64(uint64(1)<<out.Scale) >= 1<<61 {
		out.Scale--
	}
	index := make(map[Dimension]int, len(out.Dimensions))
	for i, d := range out.Dimensions {
		index[d] = i
	}
	for _, c := range parts {
		prices := make([][]int64, len(c.groups))
		for i := range c.groups {
			prices[i] = make([]int64, len(out.Dimensions))
			for j, d := range c.dims {
				prices[i][index[d]] = int64(c.prices[i][j] * float64(uint64(1)<<out.Scale))
			}
		}
		for i, k := range c.whole.classes {
			out.Surcharge[k] = int64(c.whole.surcharge[i] * float64(uint64(1)<<out.Scale))
		}
		c.shrink(prices, out)
		for i, g := range c.groups {
			for _, k := range m.groups[g].classes {
				out.Of[k] = prices[i]
			}
		}
	}
}

// shrink scales all prices by one factor, so that no offer holds more worth than it
// costs. The offer with the largest excess decides the factor. Offers with a limit are
// ignored.
func (c *part) shrink(prices [][]int64, out *Prices) {
	keep := uint64(1) << 32 // of 2^32
	contents := newPool(c)
	for k, o := range c.offers {
		offer := &c.Offers[o]
		if offer.Limit >= 0 {
			continue
		}
		var worth Sum
		for d, dim := range out.Dimensions {
			best := int64(0)
			for _, i := range c.sets[c.setOf[k]] {
				best = max(best, prices[i][d])
			}
			worth.Add(offer.Capacity[dim.Resource]/dim.Unit, best)
		}
		limit := Scaled(offer.Price, out.Scale)
		worth.Add(c.mostSurcharge(&contents, offer, limit.Minus(worth), out), 1)
		for step := uint64(1); keep > 0 && worth.shrunk(keep).Exceeds(limit); step *= 2 {
			keep = min(keep-min(keep, step), worth.ratio(limit))
		}
	}
	if len(c.whole.classes) > 0 {
		keep -= keep >> 20 // the upper bound of the surcharges is rounded up
	}
	if keep == 1<<32 {
		return
	}
	lower := func(v *int64) {
		hi, lo := bits.Mul64(uint64(*v), keep)
		*v = int64(hi<<32 | lo>>32)
	}
	for i := range prices {
		for d := range prices[i] {
			lower(&prices[i][d])
		}
	}
	for _, k := range c.whole.classes {
		lower(&out.Surcharge[k])
	}
}

// mostSurcharge returns an upper bound on the surcharges of any content of the offer.
// The result is at least above.
func (c *part) mostSurcharge(contents *pool, offer *Offer, above Sum, out *Prices) int64 {
	if len(contents.kinds) == 0 {
		return 0
	}
	for i, k := range c.whole.classes {
		contents.kinds[i].Worth = 0
		if has(offer.Holds, c.Classes[k].Signature) {
			contents.kinds[i].Worth = out.Surcharge[k]
		}
	}
	return contents.solver.Best(contents.kinds, offer.Capacity, above.Unscaled(0), ProofSteps/2).Most
}

// ProofSteps is how many contents of an offer a proof looks at.
const ProofSteps = 20_000

// Sum adds products of non-negative integers in 128 bits; it saturates.
type Sum struct{ Hi, Lo uint64 }

// Add adds a*b; negative factors count as 0.
func (s *Sum) Add(a, b int64) {
	hi, lo := bits.Mul64(uint64(max(0, a)), uint64(max(0, b)))
	s.add(Sum{hi, lo})
}

func (s *Sum) add(o Sum) {
	var carry uint64
	s.Lo, carry = bits.Add64(s.Lo, o.Lo, 0)
	s.Hi, carry = bits.Add64(s.Hi, o.Hi, carry)
	if carry != 0 {
		s.Hi, s.Lo = math.MaxUint64, math.MaxUint64
	}
}

// Exceeds says whether s > o.
func (s Sum) Exceeds(o Sum) bool { return s.Hi > o.Hi || s.Hi == o.Hi && s.Lo > o.Lo }

// Scaled is v * 2^scale.
func Scaled(v int64, scale uint) Sum {
	var s Sum
	s.Add(v, 1<<min(scale, 62))
	return s
}

// Unscaled is s / 2^scale, rounded down, at most the largest int64.
func (s Sum) Unscaled(scale uint) int64 {
	if s.Hi>>scale != 0 {
		return math.MaxInt64
	}
	v := s.Lo
	if scale > 0 {
		v = s.Hi<<(64-scale) | s.Lo>>scale
	}
	return int64(min(v, math.MaxInt64))
}

// shrunk is at least s * keep / 2^32.
func (s Sum) shrunk(keep uint64) Sum {
	hi, lo := bits.Mul64(s.Lo, keep)
	out := Sum{hi >> 32, hi<<32 | lo>>32}
	hi, lo = bits.Mul64(s.Hi, keep)
	if hi>>32 != 0 {
		return Sum{math.MaxUint64, math.MaxUint64}
	}
	out.add(Sum{hi<<32 | lo>>32, lo << 32})
	out.add(Sum{0, 1})
	return out
}

// ratio is about limit / s in 2^-32, below 2^32.
func (s Sum) ratio(limit Sum) uint64 {
	// Both are shifted until s fits into 64 bits with its highest bit set.
	shift := bits.LeadingZeros64(s.Hi)
	top, of := s.Hi<<shift|s.Lo>>(64-shift), limit.Hi<<shift|limit.Lo>>(64-shift)
	if s.Hi == 0 {
		shift = bits.LeadingZeros64(s.Lo)
		top, of = s.Lo<<shift, limit.Lo<<shift
	}
	if of >= top {
		return 1<<32 - 1
	}
	q, _ := bits.Div64(of>>32, of<<32, top)
	return q
}

// AddTimes adds o * n, saturating; a negative n counts as 0.
func (s *Sum) AddTimes(o Sum, n int64) {
	times := uint64(max(0, n))
	hi, lo := bits.Mul64(o.Lo, times)
	overflow, top := bits.Mul64(o.Hi, times)
	top, carry := bits.Add64(top, hi, 0)
	if overflow != 0 || carry != 0 {
		top, lo = math.MaxUint64, math.MaxUint64
	}
	s.add(Sum{top, lo})
}

// Minus is s - o, at least 0.
func (s Sum) Minus(o Sum) Sum {
	if !s.Exceeds(o) {
		return Sum{}
	}
	lo, borrow := bits.Sub64(s.Lo, o.Lo, 0)
	hi, _ := bits.Sub64(s.Hi, o.Hi, borrow)
	return Sum{hi, lo}
}
