package quantity

import (
	"fmt"
	"strconv"
	"strings"
)

// Money is a price in nano-dollars an hour. EC2's prices have at most ten
// decimals and seldom more than seven. So integers add and compare exactly,
// where floating point would round.
type Money int64

// NanoDollars is how many units make one dollar.
const NanoDollars = 1_000_000_000

// ParseMoney reads a decimal number of dollars such as "0.0416"; digits past
// the ninth decimal are cut off. Signs, exponents, NaN and infinities are
// refused.
func ParseMoney(s string) (Money, error) {
	whole, frac, _ := strings.Cut(s, ".")
	if whole == "" && frac == "" {
		return 0, fmt.Errorf("money parse: %q is not a decimal number of dollars", s)
	}
	if len(frac) > 9 {
		if strings.Trim(frac[9:], "0123456789") != "" {
			return 0, fmt.Errorf("money parse: %q is not a decimal number of dollars", s)
		}
		frac = frac[:9]
	}
	digits := whole + frac + strings.Repeat("0", 9-len(frac))
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("money parse: %q is not a decimal number of dollars", s)
	}
	return Money(n), nil
}

// Add returns the sum, or the largest or smallest amount there is.
func (m Money) Add(o Money) Money { return Money(addSaturating(int64(m), int64(o))) }

// Times returns the amount n times, or the largest or smallest amount there is.
func (m Money) Times(n int64) Money { return Money(mulSaturating(int64(m), n)) }

// Dollars renders the price with four decimals and a sign: "$0.0416".
func (m Money) Dollars() string {
	sign, size := "", uint64(m)
	if m < 0 {
		sign, size = "-", -size
	}
	const unit = NanoDollars / 10_000
	tenThousandths := (size + unit/2) / unit
	return fmt.Sprintf("%s$%d.%04d", sign, tenThousandths/10_000, tenThousandths%10_000)
}
