package quantity

import (
	"math"
	"math/bits"
)

// Whole is the unit of Part.
const Whole = 1 << 32

// Part returns how much of need is there, in units of 1/Whole, at most Whole.
func Part(have, need int64) int64 {
	switch {
	case have <= 0:
		return 0
	case have >= need:
		return Whole
	}
	high, low := bits.Mul64(uint64(have), Whole)
	q, _ := bits.Div64(high, low, uint64(need)) // high is less than need, as have is
	return int64(q)
}

// PartAbove says whether Part is more than the floor. It does not divide.
func PartAbove(have, need, floor int64) bool {
	if have <= 0 {
		return false
	}
	ah, al := bits.Mul64(uint64(have), Whole)
	bh, bl := bits.Mul64(uint64(need), uint64(floor)+1)
	return floor < Whole && (ah > bh || ah == bh && al >= bl)
}

// MulDiv returns a*b/per, rounded down and at most math.MaxInt64; zero where a or b is
// not positive. The product may be of any size. It is too much for a per that is not
// positive.
func MulDiv(a, b, per int64) int64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(a), uint64(b))
	if per <= 0 || high >= uint64(per) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(high, low, uint64(per))
	return int64(min(q, math.MaxInt64))
}
