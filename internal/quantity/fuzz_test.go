package quantity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// An amount that ParseMoney accepts is not negative. Written exactly and read
// again, it is the same amount.
func FuzzParseMoney(f *testing.F) {
	for _, s := range []string{"0.0416", "1", ".5", "9223372036.854775807", "9223372036.854775808", "-1", "1e9", "NaN", "+1", "0x1", "1_0", "1..2", ".", "", "0.12345678901x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := quantity.ParseMoney(s)
		if err != nil {
			if m != 0 || !strings.Contains(err.Error(), fmt.Sprintf("%q", s)) {
				t.Fatalf("%q: %d and %v, want nothing and an error that quotes it", s, m, err)
			}
			return
		}
		if m < 0 {
			t.Fatalf("%q is %d", s, m)
		}
		exact := fmt.Sprintf("%d.%09d", m/quantity.NanoDollars, m%quantity.NanoDollars)
		if again, err := quantity.ParseMoney(exact); err != nil || again != m {
			t.Fatalf("%q is %d, written as %s it is %d, %v", s, m, exact, again, err)
		}
		if text := m.Dollars(); !strings.HasPrefix(text, "$") || strings.Contains(text, "-") {
			t.Fatalf("%q is written as %s", s, text)
		}
	})
}
