package quantity

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func anyResources(t *rapid.T, name string) Resources {
	amount := rapid.Int64Range(-1<<40, 1<<40)
	r := Resources{
		MilliCPU:       amount.Draw(t, name+".cpu"),
		MemoryBytes:    amount.Draw(t, name+".memory"),
		EphemeralBytes: amount.Draw(t, name+".ephemeral"),
		PodSlots:       amount.Draw(t, name+".pods"),
	}
	for _, n := range rapid.SliceOfN(rapid.SampledFrom([]string{"gpu", "eni", "efa"}), 0, 3).Draw(t, name+".extended") {
		r = r.Extend(n, amount.Draw(t, name+n))
	}
	return r
}

func TestResources_AddThenSubIsIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyResources(t, "a"), anyResources(t, "b")
		if got := a.Add(b).Sub(b); got.Compare(a) != 0 {
			t.Fatalf("%v + %v - itself = %v", a, b, got)
		}
	})
}

func TestResources_CountInIsTheLargestNumberThatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		need, free := anyResources(t, "need"), anyResources(t, "free")
		n := need.CountIn(free, 50)
		if n > 0 && !need.Times(n).Fits(free) {
			t.Fatalf("%d times %v does not fit %v", n, need, free)
		}
		if n < 50 && need.Times(n+1).Fits(free) {
			t.Fatalf("%d times %v fits %v as well", n+1, need, free)
		}
	})
}

func TestResources_SumsSaturateInsteadOfWrapping(t *testing.T) {
	huge := Resources{MilliCPU: math.MaxInt64}
	if got := huge.Add(Resources{MilliCPU: 5}).MilliCPU; got != math.MaxInt64 {
		t.Errorf("max + 5 = %d", got)
	}
	if got := huge.Times(3).MilliCPU; got != math.MaxInt64 {
		t.Errorf("max * 3 = %d", got)
	}
	if got := (Resources{MilliCPU: math.MinInt64}).Sub(Resources{MilliCPU: 1}).MilliCPU; got != math.MinInt64 {
		t.Errorf("min - 1 = %d", got)
	}
}

func TestResources_UnrequestedDimensionNeverRefuses(t *testing.T) {
	free := Resources{MilliCPU: 1000, MemoryBytes: -5, PodSlots: 1}
	if !(Resources{MilliCPU: 1000, PodSlots: 1}).Fits(free) {
		t.Error("a pod without a memory request is refused by a node overcommitted in memory")
	}
	lacking := (Resources{MilliCPU: 1001, PodSlots: 2}).Lacking(free)
	if len(lacking) != 2 || lacking[0].Resource != CPU || lacking[1].Resource != Pods {
		t.Errorf("lacking = %+v", lacking)
	}
}

func TestResources_ExtendKeepsTheReceiver(t *testing.T) {
	a := Resources{}.Extend("b", 1)
	b := a.Extend("a", 2)
	if a.Get("a") != 0 || b.Get("a") != 2 || b.Get("b") != 1 || len(b.Extend("a", 0).Extend("b", 0).Extended) != 0 {
		t.Errorf("a = %v, b = %v", a, b)
	}
}

func TestParseMoney_IsExactAndRefusesTheRest(t *testing.T) {
	for in, want := range map[string]Money{"0.0416": 41_600_000, "12": 12 * NanoDollars, ".5": NanoDollars / 2, "0.00000000019": 0, "0.000000001": 1} {
		got, err := ParseMoney(in)
		if err != nil || got != want {
			t.Errorf("ParseMoney(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", ".", "NaN", "Inf", "-1", "+1", "1e3", "1.2.3", "0.0000000001x", "99999999999999999999"} {
		if got, err := ParseMoney(in); err == nil {
			t.Errorf("ParseMoney(%q) = %d, want an error", in, got)
		}
	}
	if got := Money(41_600_000).Dollars(); got != "$0.0416" {
		t.Errorf("Dollars() = %s", got)
	}
}

func TestMoney_SumsAndProductsStopAtTheLargestAmount(t *testing.T) {
	const most = Money(math.MaxInt64)
	if got := (most - 1).Add(2); got != most {
		t.Errorf("sum %d", got)
	}
	if got := (most / 3).Times(4); got != most {
		t.Errorf("product %d", got)
	}
	if got := Money(7).Times(6); got != 42 {
		t.Errorf("product %d", got)
	}
}
