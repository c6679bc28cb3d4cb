package price

import (
	"math"
	"math/big"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// draw makes a problem of up to three resources and four signatures.
func draw(t *rapid.T) Problem {
	p := Problem{Resources: rapid.IntRange(1, 3).Draw(t, "resources"), Cuts: rapid.IntRange(0, 6).Draw(t, "cuts"), Groups: rapid.IntRange(1, 8).Draw(t, "groups")}
	p.Steer = rapid.Bool().Draw(t, "steer")
	for range rapid.IntRange(1, 12).Draw(t, "offers") {
		o := Offer{Price: rapid.Int64Range(1, 1<<33).Draw(t, "price"), Holds: []uint64{rapid.Uint64Range(0, 15).Draw(t, "holds")}, Limit: -1}
		if rapid.IntRange(0, 4).Draw(t, "limited") == 0 {
			o.Limit, o.Price = rapid.Int64Range(0, 9).Draw(t, "limit"), rapid.Int64Range(0, 100).Draw(t, "low price")
		}
		for range p.Resources {
			o.Capacity = append(o.Capacity, rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(0, 1<<40)).Draw(t, "capacity"))
		}
		p.Offers = append(p.Offers, o)
	}
	for range rapid.IntRange(1, 20).Draw(t, "classes") {
		c := Class{Signature: rapid.IntRange(0, 3).Draw(t, "signature"), Count: rapid.Int64Range(0, 1<<30).Draw(t, "count")}
		for range p.Resources {
			c.Need = append(c.Need, rapid.OneOf(rapid.Int64Range(0, 60), rapid.Int64Range(0, 1<<39)).Draw(t, "need"))
		}
		p.Classes = append(p.Classes, c)
	}
	return p
}

// excess is the name of an offer without a limit that could hold more worth
// than it costs, in exact numbers; -1 where there is none.
func excess(p Problem, prices Prices) int {
	for i, o := range p.Offers {
		if o.Limit >= 0 {
			continue
		}
		worth := new(big.Int)
		for d, dim := range prices.Dimensions {
			best := int64(0)
			for k, c := range p.Classes {
				if has(o.Holds, c.Signature) && quantity.Fits(c.Need, o.Capacity) && c.Count > 0 {
					best = max(best, prices.Of[k][d])
				}
			}
			worth.Add(worth, new(big.Int).Mul(big.NewInt(o.Capacity[dim.Resource]/dim.Unit), big.NewInt(best)))
		}
		if worth.Cmp(new(big.Int).Lsh(big.NewInt(o.Price), prices.Scale)) > 0 {
			return i
		}
	}
	return -1
}

func TestSolve_NoOfferHoldsMoreWorthThanItCosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		prices := Solve(p)
		if i := excess(p, prices); i >= 0 {
			t.Errorf("offer %d holds more than it costs at %v", i, prices)
		}
		for _, of := range prices.Of {
			for _, v := range of {
				if v < 0 {
					t.Errorf("price %d", v)
				}
			}
		}
		if !reflect.DeepEqual(prices, Solve(p)) {
			t.Error("the same problem has other prices the second time")
		}
	})
}

// worth is what the demand is worth, in nano-dollars an hour.
func worth(p Problem, prices Prices) float64 {
	sum := 0.0
	for k, c := range p.Classes {
		for d, dim := range prices.Dimensions {
			sum += float64(c.Need[dim.Resource]/dim.Unit) * float64(prices.Of[k][d]) * float64(c.Count)
		}
	}
	return sum / float64(uint64(1)<<prices.Scale)
}

func TestSolve_FindsTheHighestWorth(t *testing.T) {
	offer := func(price int64, capacity ...int64) Offer {
		return Offer{Capacity: capacity, Price: price, Holds: []uint64{1}, Limit: -1}
	}
	other := offer(700, 10, 40)
	other.Holds = []uint64{2}
	limited := offer(0, 10, 40)
	limited.Limit = 3
	class := func(signature int, count int64, need ...int64) Class {
		return Class{Signature: signature, Count: count, Need: need}
	}
	for _, tc := range []struct {
		name string
		p    Problem
		want float64
	}{
		{"one offer", Problem{Offers: []Offer{offer(500, 10, 40)}, Classes: []Class{class(0, 100, 1, 1)}}, 5000},
		{"the cheaper of two", Problem{Offers: []Offer{offer(500, 10, 40), offer(900, 20, 80)}, Classes: []Class{class(0, 100, 1, 1)}}, 4500},
		{"a mix of two", Problem{Offers: []Offer{offer(500, 10, 20), offer(500, 5, 40)}, Classes: []Class{class(0, 100, 1, 4)}}, 6666.67},
		{"parts that share nothing", Problem{Offers: []Offer{offer(500, 10, 40), other}, Classes: []Class{class(0, 10, 1, 1), class(1, 10, 1, 1)}}, 1200},
		{"who may use more pays the less", Problem{Offers: []Offer{{[]int64{10, 40}, 500, []uint64{3}, -1}, other}, Classes: []Class{class(0, 10, 1, 1), class(1, 10, 1, 1)}}, 1000},
		{"big pods leave room", Problem{Offers: []Offer{offer(500, 10, 40)}, Classes: []Class{class(0, 100, 6, 1)}, Cuts: 2}, 50000},
		{"and without cuts it is not seen", Problem{Offers: []Offer{offer(500, 10, 40)}, Classes: []Class{class(0, 100, 6, 1)}}, 30000},
		{"what fits nothing is worth nothing", Problem{Offers: []Offer{offer(500, 10, 40)}, Classes: []Class{class(0, 100, 11, 1)}}, 0},
		{"limited offers do not end it", Problem{Offers: []Offer{offer(500, 10, 40), limited}, Classes: []Class{class(0, 100, 1, 1)}}, 5000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.p.Resources = 2
			if got := worth(tc.p, Solve(tc.p)); math.Abs(got-tc.want) > 1e-4*tc.want {
				t.Errorf("%.2f, want %.2f", got, tc.want)
			}
		})
	}
}

func TestSolve_BuysWhatCarriesTheDemand(t *testing.T) {
	p := Problem{Resources: 1, Offers: []Offer{{[]int64{10}, 500, []uint64{1}, -1}}, Classes: []Class{{Need: []int64{1}, Count: 105}}}
	if got := Solve(p).Buys[0]; got < 10*1024 || got > 11*1024 {
		t.Errorf("%d/1024 nodes, want 10.5", got)
	}
}

func TestSolve_AbsurdNumbersDoNotPanic(t *testing.T) {
	amount := rapid.SampledFrom([]int64{0, 1, 2, 1 << 20, math.MaxInt64 / 2, math.MaxInt64})
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		for i := range p.Offers {
			p.Offers[i].Capacity[0], p.Offers[i].Price = amount.Draw(t, "capacity"), amount.Draw(t, "price")
		}
		for i := range p.Classes {
			p.Classes[i].Need[0], p.Classes[i].Count = amount.Draw(t, "need"), amount.Draw(t, "count")
		}
		if i := excess(p, Solve(p)); i >= 0 {
			t.Errorf("offer %d holds more than it costs", i)
		}
	})
}

func TestSum_AgreesWithBigIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b Sum
		want, other := new(big.Int), new(big.Int)
		number := rapid.Int64Range(0, math.MaxInt64)
		for range rapid.IntRange(0, 2).Draw(t, "terms") {
			x, y := number.Draw(t, "x"), number.Draw(t, "y")
			a.Add(x, y)
			want.Add(want, new(big.Int).Mul(big.NewInt(x), big.NewInt(y)))
		}
		x := number.Draw(t, "other")
		b.Add(x, 1)
		other.SetInt64(x)
		if a.Exceeds(b) != (want.Cmp(other) > 0) {
			t.Errorf("%v > %v is wrong", want, other)
		}
		if want.Cmp(other) > 0 {
			want.Sub(want, other)
			a = a.Minus(b)
		}
		keep := rapid.Uint64Range(0, 1<<32).Draw(t, "keep")
		least := new(big.Int).Mul(want, new(big.Int).SetUint64(keep))
		least.Rsh(least, 32)
		shrunk := a.shrunk(keep)
		got := new(big.Int).SetUint64(shrunk.Hi)
		got.Lsh(got, 64).Add(got, new(big.Int).SetUint64(shrunk.Lo))
		if over := got.Sub(got, least); over.Sign() < 0 || over.Cmp(big.NewInt(2)) > 0 {
			t.Errorf("%v * %d / 2^32 is off by %v", want, keep, over)
		}
		scale := rapid.UintRange(0, 62).Draw(t, "scale")
		want.Rsh(want, scale)
		if !want.IsInt64() {
			want.SetInt64(math.MaxInt64)
		}
		if a.Unscaled(scale) != want.Int64() {
			t.Errorf("%d, want %d", a.Unscaled(scale), want)
		}
	})
}
