package pack_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// ruled is pods of which a fifth each exclude each other, may share a node with at
// most one of a seventh of the others, or are among those; the rest are free.
func ruled(seed uint64) pack.Problem {
	random := rand.New(rand.NewPCG(seed, 7))
	p := pack.Problem{Where: make([]pack.Where, 1), Rules: make([]pack.Rule, 8)}
	for i := range int64(60) {
		p.Offers = append(p.Offers, pack.Offer{
			Name: fmt.Sprintf("o%02d", i), Nodes: -1, Zones: 1, Prices: []quantity.Money{quantity.Money(i+1) * 300_000_000}, Net: []int64{(i+1)*1000 - 100, (i+1)<<31 - 10<<20, (i + 1) * 10},
		})
		p.Where[0].Zones = append(p.Where[0].Zones, 1)
	}
	for r := range p.Rules {
		p.Rules[r].Max = 1
	}
	cpu, mib := []int64{100, 250, 500, 1000, 1500}, []int64{100, 256, 512, 1024, 2048, 4096}
	for i := range 1000 {
		c := pack.Class{Key: fmt.Sprintf("c%04d", i), Count: 1, Need: []int64{cpu[random.IntN(5)], mib[random.IntN(6)] << 20, 1}}
		letter := 1 + random.IntN(7)
		switch i % 5 {
		case 0:
			c.Roles = []pack.Role{{Rule: 0, Binds: true, Counts: true}}
		case 1:
			c.Roles = []pack.Role{{Rule: letter, Binds: true}, {Rule: 1 + random.IntN(7), Counts: true}}
		case 2, 3:
			c.Roles = []pack.Role{{Rule: letter, Counts: true}}
		}
		p.Classes = append(p.Classes, c)
	}
	return p
}

// spreading is the same demand, but no pods exclude all others of a fifth: these pods may
// share a node with none of their own seventh.
func spreading(seed uint64) pack.Problem {
	p := ruled(seed)
	for i := 0; i < len(p.Classes); i += 5 {
		p.Classes[i].Roles = []pack.Role{{Rule: 1 + i/5%7, Binds: true, Counts: true}}
	}
	return p
}

func TestSearch_TriesMoreWhereRulesMakeNodesDear(t *testing.T) {
	var first, last quantity.Money
	for seed := range uint64(4) {
		results := rounds(spreading(seed))
		for _, v := range violations(spreading(seed), results[len(results)-1]) {
			t.Error(v)
		}
		first, last = first+results[0].Cost, last+results[len(results)-1].Cost
	}
	if last > first-first/20 {
		t.Errorf("cost %d, %d after the first search", last, first)
	}
	if n := len(rounds(ruled(0))); n != 3 {
		t.Errorf("%d searches where the cost stays far above the bound", n)
	}
}

// Pods that exclude each other need a node each. The other pods are divided among all
// these nodes, so that none of them is left with a pod alone.
func TestSearch_NodesThatPodsForceAreFilledAlike(t *testing.T) {
	const seeds = 8
	over := int64(0)
	for seed := range uint64(seeds) {
		p := ruled(seed)
		var cpu, mib int64 // with what each node reserves; 0.3 is the price of a CPU with 2 GiB
		for _, c := range p.Classes {
			cpu, mib = cpu+c.Need[0], mib+c.Need[1]>>20
			if len(c.Roles) > 0 && c.Roles[0].Rule == 0 {
				cpu, mib = cpu+100, mib+10
			}
		}
		least := max(cpu*300_000, mib*300_000_000/2048)
		r := pack.Solve(p)
		for _, v := range violations(p, r) {
			t.Error(v)
		}
		over += 1000 * (int64(r.Cost) - least) / least
	}
	if mean := over / seeds; mean > 55 {
		t.Errorf("%d per mille above the least on average", mean)
	}
}

// The one pod that there is takes a short cut to a node, which its rules see too.
func TestSolve_TheOnlyPodIsLeftWhereItsRuleLetsNoneIn(t *testing.T) {
	for most, left := range []int64{1, 0} {
		p := one([]pack.Offer{offer("small", 40, 4000, 10)},
			pack.Class{Key: "a", Count: 1, Need: []int64{10, 1}, Roles: []pack.Role{{Rule: 0, Binds: true, Counts: true}}})
		p.Rules = []pack.Rule{{Max: int64(most)}}
		if r := pack.Solve(p); r.Left[0] != left || len(r.Bins) != 1-int(left) {
			t.Errorf("at most %d: %d left, bins %+v", most, r.Left[0], r.Bins)
		}
	}
}
