package label

import (
	"bytes"
	"cmp"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAppendNumber_OrdersAndNoneBeginsAnother(t *testing.T) {
	number := rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, 200), rapid.SampledFrom([]int64{0, 9, 10, math.MaxInt64, math.MinInt64}))
	rapid.Check(t, func(t *rapid.T) {
		m, n := number.Draw(t, "m"), number.Draw(t, "n")
		a, b := string(AppendNumber(nil, m)), string(AppendNumber(nil, n))
		if (m == n) != (a == b) || m != n && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)) {
			t.Fatalf("%d is %s, %d is %s", m, a, n, b)
		}
		if m >= 0 && n >= 0 && cmp.Compare(m, n) != strings.Compare(a, b) {
			t.Fatalf("%d is %s, %d is %s: another order", m, a, n, b)
		}
	})
}

func TestAppendText_NoneBeginsAnother(t *testing.T) {
	text := rapid.StringOf(rapid.RuneFrom([]rune("a1:")))
	rapid.Check(t, func(t *rapid.T) {
		x, y := text.Draw(t, "x"), text.Draw(t, "y")
		a, b := string(AppendText(nil, x)), string(AppendText(nil, y))
		if x != y && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)) {
			t.Fatalf("%q is %s, %q is %s", x, a, y, b)
		}
	})
}

func TestRequirement_KeyTellsApartWhatDiffers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyRequirement(t, "k"), anyRequirement(t, "k")
		if rapid.Bool().Draw(t, "both") {
			a = a.Intersect(anyRequirement(t, "k"))
		}
		plain := func(r Requirement) Requirement { // a list of nothing is no list
			if len(r.values) == 0 {
				r.values = nil
			}
			return r
		}
		if same := reflect.DeepEqual(plain(a), plain(b)); same != bytes.Equal(a.AppendKey(nil), b.AppendKey(nil)) {
			t.Fatalf("%v and %v: equal %v, keys %s and %s", a, b, same, a.AppendKey(nil), b.AppendKey(nil))
		}
	})
}
