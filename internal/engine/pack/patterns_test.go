package pack_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// bigPods is a demand of pods of 9 to 15 CPUs, so many of each of so many
// classes, on offers of three proportions with up to 32 CPUs: two or three fill
// the largest.
func bigPods(seed uint64, classes int, most int64) pack.Problem {
	rng := rand.New(rand.NewPCG(seed, 9))
	var offers []pack.Offer
	for _, cpu := range []int64{8, 16, 32} {
		for _, ratio := range []int64{2, 4, 8} {
			o := offer(fmt.Sprintf("%d-%d", cpu, ratio), quantity.Money(cpu*(34_000_000+3_500_000*ratio)), cpu*1000-350, 100)
			o.Net = append(o.Net, cpu*ratio<<10-1500)
			offers = append(offers, o)
		}
	}
	p := one(offers)
	for i := range classes {
		cpu := 9000 + 250*rng.Int64N(25)
		p.Classes = append(p.Classes, pack.Class{
			Key: fmt.Sprintf("c%03d", i), Count: 1 + rng.Int64N(most), Need: []int64{cpu, 1, cpu * (500 + rng.Int64N(6500)) / 1000},
		})
	}
	return p
}

// rounds are the results after each of the searches.
func rounds(p pack.Problem) []pack.Result {
	var all []pack.Result
	r, done := pack.Result{}, false
	for !done {
		r, done = pack.Search(p, r, pack.Work{Trials: 1})
		all = append(all, r)
	}
	return all
}

func TestSearch_PatternsOfBigPodsOnlyImproveAndKeepEveryConstraint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomProblem(t)
		big := bigPods(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 20).Draw(t, "big"), 12)
		for i := range big.Classes {
			c := &big.Classes[i]
			c.Need[1], c.Need[2], c.Where = c.Need[2]<<20, 1, rapid.IntRange(0, len(p.Where)-1).Draw(t, "where")
		}
		p.Classes = append(p.Classes, big.Classes...)
		if rapid.Bool().Draw(t, "unlimited") {
			for i := range p.Offers {
				p.Offers[i].Nodes = -1
			}
		}
		all := rounds(p)
		for i, r := range all {
			for _, v := range violations(p, r) {
				t.Error(v)
			}
			if i > 0 && slices.Equal(all[i-1].Left, r.Left) && r.Cost > all[i-1].Cost {
				t.Errorf("search %d made it %d from %d", i, r.Cost, all[i-1].Cost)
			}
		}
		same(t, p, pack.Solve(p), all[len(all)-1])
	})
}

func TestSearch_PatternsSaveATwentiethWhereBigPodsFillNodes(t *testing.T) {
	for _, classes := range []int{30, 300} { // 300 are too many for one linear program
		var before, after quantity.Money
		for seed := range uint64(600 / classes) {
			all := rounds(bigPods(seed, classes, 20))
			if len(all) != 3 {
				t.Fatalf("seed %d: %d searches", seed, len(all))
			}
			before, after = before+all[1].Cost, after+all[2].Cost
		}
		if after > before*19/20 {
			t.Errorf("%d classes: the searches by patterns make it %d from %d", classes, after, before)
		}
	}
}

// A search is one unit of work, however many big kinds there are.
func TestSearch_PatternsOfManyBigKindsAreBoundedInWork(t *testing.T) {
	all := rounds(bigPods(1, 2000, 20))
	before, after := all[1], all[2]
	if steps, pivots := after.Contents-before.Contents, after.Pivots-before.Pivots; steps > 11_000_000 || pivots > 22_000 || after.Cost >= before.Cost {
		t.Errorf("%d steps and %d pivots make it %d from %d", steps, pivots, after.Cost, before.Cost)
	}
}

func TestSearch_WithoutBigPodsNothingIsSearchedForThem(t *testing.T) {
	small, apart := bigPods(1, 30, 20), bigPods(1, 30, 20)
	apart.Rules = []pack.Rule{{Max: 1}}
	for i := range small.Classes {
		for _, c := range []*pack.Class{&small.Classes[i], &apart.Classes[i]} {
			c.Need[0], c.Need[2] = c.Need[0]/400, c.Need[2]/400
		}
		apart.Classes[i].Roles = []pack.Role{{Rule: 0, Binds: true, Counts: true}} // one to a node, but not for want of room
	}
	for i := range small.Offers {
		small.Offers[i].Net[1] = 10_000 // no want of pod slots either
	}
	for i, p := range []pack.Problem{small, apart} {
		if n := len(rounds(p)); n > 2 {
			t.Errorf("problem %d: %d searches", i, n)
		}
	}
}

func TestSolve_FewBigPodsNearlyAlwaysCostTheLeastThatTheyCan(t *testing.T) {
	const seeds = 100
	exact := 0
	for seed := range uint64(seeds) {
		p := bigPods(seed, 3, 3)
		least, got := cheapestPartition(p), pack.Solve(p).Cost
		if got < least || got > least*115/100 {
			t.Errorf("seed %d: cost %d, the least is %d", seed, got, least)
		}
		if got == least {
			exact++
		}
	}
	if exact < seeds*95/100 {
		t.Errorf("%d of %d cost as little as they could", exact, seeds)
	}
}

// cheapestPartition tries every way to put the pods onto nodes.
func cheapestPartition(p pack.Problem) quantity.Money {
	var pods []int
	for i, c := range p.Classes {
		for range c.Count {
			pods = append(pods, i)
		}
	}
	alone := func(set int) quantity.Money { // on one node; 0 where none holds them
		need := make([]int64, 3)
		for i, class := range pods {
			for d, n := range p.Classes[class].Need {
				need[d] += n * int64(set>>i&1)
			}
		}
		least := quantity.Money(0)
		for _, o := range p.Offers {
			if need[0] <= o.Net[0] && need[1] <= o.Net[1] && need[2] <= o.Net[2] && (least == 0 || o.Prices[0] < least) {
				least = o.Prices[0]
			}
		}
		return least
	}
	least := make([]quantity.Money, 1<<len(pods))
	node := make([]quantity.Money, len(least))
	for set := 1; set < len(least); set++ {
		node[set] = alone(set)
		first := set & -set
		for part := set; part > 0; part = (part - 1) & set { // of those with the first pod
			if part&first != 0 && node[part] > 0 && (least[set] == 0 || node[part]+least[set^part] < least[set]) {
				least[set] = node[part] + least[set^part]
			}
		}
	}
	return least[len(least)-1]
}
