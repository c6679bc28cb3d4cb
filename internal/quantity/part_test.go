package quantity

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestMulDiv_IsExactOrTheLargestNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64Min(1).Draw(t, "a"), rapid.Int64Min(1).Draw(t, "b")
		per := rapid.Int64Min(1).Draw(t, "per")
		want := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		want.Div(want, big.NewInt(per))
		if !want.IsInt64() {
			want.SetInt64(math.MaxInt64)
		}
		if got := MulDiv(a, b, per); got != want.Int64() {
			t.Fatalf("%d * %d / %d = %d, want %d", a, b, per, got, want)
		}
	})
}

func TestMulDiv_SaturatesInsteadOfWrapping(t *testing.T) {
	const most = math.MaxInt64
	for _, c := range []struct{ a, b, per, want int64 }{
		{most, most, most, most}, // exactly
		{most, most, most - 1, most},
		{most, 2, 1, most}, // fits 64 bits, but not 63
		{most, most, 1, most},
		{most, 3, 4, most/4*3 + 2},
		{7, 3, 2, 10},
		{1, 1, 0, most},
		{1, 1, -1, most},
		{0, 1, 0, 0},
		{-1, most, 1, 0},
		{most, math.MinInt64, 1, 0},
	} {
		if got := MulDiv(c.a, c.b, c.per); got != c.want {
			t.Errorf("%d * %d / %d = %d, want %d", c.a, c.b, c.per, got, c.want)
		}
	}
}
