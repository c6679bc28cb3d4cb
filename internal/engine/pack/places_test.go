package pack_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func TestSolve_AnOfferThatAnotherBeatsChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomProblem(t)
		p.Offers[0].Nodes = -1
		with := p
		worse := p.Offers[0]
		worse.Name = "z"
		worse.Large = worse.Large || rapid.Bool().Draw(t, "large")
		worse.Nodes = rapid.Int64Range(-1, 3).Draw(t, "nodes")
		worse.Zones &= rapid.Uint64Range(0, 7).Draw(t, "zones")
		worse.Net, worse.Prices = slices.Clone(worse.Net), slices.Clone(worse.Prices)
		for d := range worse.Net {
			worse.Net[d] -= rapid.Int64Range(0, 1).Draw(t, "less") * worse.Net[d] / 2
		}
		for z := range worse.Prices {
			if worse.Prices[z] == 0 { // or else it is for sale only where its number is limited
				worse.Zones &^= 1 << z
			}
			worse.Prices[z] += quantity.Money(rapid.Int64Range(0, 1).Draw(t, "more") * 1_000_000)
		}
		with.Offers, with.Where = append(slices.Clone(p.Offers), worse), slices.Clone(p.Where)
		where := rapid.Uint64Range(0, 7).Draw(t, "where") // the same for all, so that places that were one stay one
		for w := range with.Where {
			zones := with.Where[w].Zones
			with.Where[w].Zones = append(slices.Clone(zones), zones[0]&where)
		}
		if without, got := text(p, pack.Solve(p)), text(with, pack.Solve(with)); got != without {
			t.Errorf("with it\n%s\nwithout\n%s", got, without)
		}
	})
}

// zonal is the same ten sizes of node in three zones, and forty classes of pods that
// may run in any of them, then so many pods for each zone.
func zonal(particular int64) pack.Problem {
	p := pack.Problem{Where: make([]pack.Where, 4)}
	for i := range int64(10) {
		price := quantity.Money(40_000_000*(i+1) + 3_000_000*(i%3))
		p.Offers = append(p.Offers, pack.Offer{
			Name: fmt.Sprintf("o%d", i), Nodes: -1, Zones: 7, Prices: []quantity.Money{price, price, price}, Net: []int64{1000 * (i + 1), (2 + 2*(i%3)) * (i + 1) << 30, 110},
		})
		for w, zones := range []uint64{7, 1, 2, 4} {
			p.Where[w].Zones = append(p.Where[w].Zones, zones)
		}
	}
	for i := range int64(40) {
		p.Classes = append(p.Classes, pack.Class{Key: fmt.Sprintf("c%02d", i), Count: 100 + i, Need: []int64{50 + 37*i, (200 + 450*(i*7%11)) << 20, 1}})
	}
	for zone := range int(min(3, particular)) {
		p.Classes = append(p.Classes, pack.Class{Key: fmt.Sprintf("z%d", zone), Count: particular / 3, Need: []int64{100, 256 << 20, 1}, Where: zone + 1})
	}
	return p
}

func TestSolve_AFewPodsThatAreParticularAboutZonesDoNotMakePricesDearer(t *testing.T) {
	first := func(p pack.Problem) pack.Result { // prices steer the first search; later ones list contents
		r, _ := pack.Search(p, pack.Result{}, pack.Work{Trials: 1})
		return r
	}
	none, few, many := first(zonal(0)), first(zonal(6)), first(zonal(6000))
	for _, v := range violations(zonal(6), few) {
		t.Error(v)
	}
	if limit := none.Pivots + none.Pivots/4; few.Pivots > limit {
		t.Errorf("%d pivots with them, %d without", few.Pivots, none.Pivots)
	}
	if many.Pivots < 2*none.Pivots {
		t.Errorf("%d pivots with many of them, which should have prices of their own; %d without any", many.Pivots, none.Pivots)
	}
	if few.Cost > none.Cost+none.Cost/50 || slices.Max(few.Left) > 0 {
		t.Errorf("cost %d with them, %d without; left %v", few.Cost, none.Cost, few.Left)
	}
}

func TestSearch_OnePodGoesToTheCheapestNodeThatHoldsItWithoutPrices(t *testing.T) {
	p := zonal(3)
	for i := range p.Classes {
		p.Classes[i].Count = 0
	}
	p.Classes[len(p.Classes)-1].Count = 1 // for the last zone
	p.Offers[1].Net[0], p.Where[3].Zones[0] = 150, 0
	p.Offers[1].Zones = 3
	r, done := pack.Search(p, pack.Result{}, pack.Work{Trials: 1})
	if !done || r.Pivots > 0 || len(r.Bins) != 1 || p.Offers[r.Bins[0].Offer].Name != "o2" || r.Bins[0].Zones != 4 {
		t.Errorf("%t after %d pivots: %s", done, r.Pivots, text(p, r))
	}
	for _, v := range violations(p, r) {
		t.Error(v)
	}
}

func TestSolve_AnOfferBeatsAnotherOnlyForPodsThatMayUseBoth(t *testing.T) {
	p := one([]pack.Offer{offer("cheap", 1, 4000, 10), offer("dear", 2, 2000, 10)}, pack.Class{Key: "any", Count: 1, Need: []int64{1000, 1}},
		pack.Class{Key: "particular", Count: 1, Need: []int64{1000, 1}, Where: 1})
	p.Where = append(p.Where, pack.Where{Zones: []uint64{0, 1}})
	r := pack.Solve(p)
	for _, v := range violations(p, r) {
		t.Error(v)
	}
	if slices.Max(r.Left) > 0 {
		t.Errorf("left %v", r.Left)
	}
}

// A load of pods that may not share a node is refused, also where it is all there is.
func TestSearch_OnePodThatARuleKeepsFromItselfGoesNowhere(t *testing.T) {
	p := one([]pack.Offer{offer("o", 1, 4000, 10)}, pack.Class{Key: "a", Count: 1, Need: []int64{1000, 1}, Roles: []pack.Role{{Binds: true, Counts: true}}})
	for most, left := range []int64{1, 0} {
		p.Rules = []pack.Rule{{Max: int64(most)}}
		if r := pack.Solve(p); r.Left[0] != left || len(r.Bins) != 1-int(left) {
			t.Errorf("at most %d: %s", most, text(p, r))
		}
	}
}
