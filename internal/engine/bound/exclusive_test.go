package bound_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/bound"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Pods of which a node holds one need a node each, in each place by themselves,
// and what else there is runs beside them.
func TestOf_CountsTheNodesOfPodsApart(t *testing.T) {
	p := bound.Problem{Problem: pack.Problem{
		Offers: []pack.Offer{
			{Name: "a", Nodes: -1, Zones: 3, Prices: []quantity.Money{1_000_000, 2_000_000}, Net: []int64{1000, 10, 1}},
			{Name: "b", Nodes: -1, Zones: 3, Prices: []quantity.Money{3_000_000, 6_000_000}, Net: []int64{3000, 30, 1}},
		},
		Classes: []pack.Class{
			{Key: "apart", Count: 90, Need: []int64{100, 1, 1}, Where: 1},
			{Key: "elsewhere", Count: 10, Need: []int64{100, 1, 1}},
			{Key: "else", Count: 1000, Need: []int64{100, 1, 0}, Where: 1},
		},
		Where: []pack.Where{{Zones: []uint64{2, 2}}, {Zones: []uint64{1, 1}}},
	}}
	for _, tc := range []struct {
		others int64
		want   quantity.Money
	}{
		{0, 90_000_000 + 20_000_000}, {900, 99_000_000 + 20_000_000},
	} {
		p.Classes[2].Count = tc.others
		if got := bound.Of(p).Bound; got > tc.want || got < tc.want-tc.want/1000 {
			t.Errorf("%d others: bound %d, want %d", tc.others, got, tc.want)
		}
	}
}

// Pods that keep apart need many nodes, and the others run beside them: the packer
// knows what a node more is worth as the bound does. Without that the mean is 13.5.
func TestSolve_PodsApartShareTheirNodesWithOthers(t *testing.T) {
	const seeds = 6
	over := 0.0
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 5))
		p := bound.Problem{Problem: pack.Problem{Where: []pack.Where{{}}, Rules: []pack.Rule{{Max: 1}}}}
		for cpu := int64(1); cpu <= 64; cpu++ {
			for k := range int64(3) {
				p.Offers = append(p.Offers, pack.Offer{
					Name: fmt.Sprint("o", cpu, k), Nodes: -1, Zones: 1, Prices: []quantity.Money{quantity.Money(cpu * (300_000_000 + 80_000_000*k))},
					Net: []int64{1000*cpu - 100, 2048*cpu<<k - 100, 10*cpu + 10},
				})
				p.Where[0].Zones = append(p.Where[0].Zones, 1)
			}
		}
		for i := range 40 {
			cpu := int64(50 + rng.IntN(1500))
			c := pack.Class{Key: fmt.Sprint("c", i), Need: []int64{cpu, cpu * int64(1+rng.IntN(7)), 1}, Count: 40}
			if i%2 == 0 {
				c.Count, c.Roles = 10, []pack.Role{{Binds: true, Counts: true}}
			}
			p.Classes = append(p.Classes, c)
		}
		r := pack.Solve(p.Problem)
		for i := range p.Offers {
			p.Offers[i].Net = append(p.Offers[i].Net, 1)
		}
		for i := range p.Classes {
			p.Classes[i].Need = append(p.Classes[i].Need, int64(len(p.Classes[i].Roles)))
		}
		if n := slices.Max(r.Left); n > 0 {
			t.Errorf("seed %d: %d left", seed, n)
		}
		over += 100*float64(r.Cost)/float64(bound.Of(p).Bound) - 100
	}
	if mean := over / seeds; mean > 11.5 {
		t.Errorf("%.1f %% above the bound on average", mean)
	}
}
