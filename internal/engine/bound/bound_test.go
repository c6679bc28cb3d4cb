package bound_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/bound"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// draw makes a small problem: offers of a price near their size, and classes
// that may run on some of them.
func draw(t *rapid.T, few, many int64, reserved bool) pack.Problem {
	var p pack.Problem
	apart := rapid.Bool().Draw(t, "apart")
	for i := range rapid.IntRange(1, 4).Draw(t, "offers") {
		cpu := rapid.SampledFrom([]int64{2, 4, 8}).Draw(t, "cpu")
		o := pack.Offer{
			Name: fmt.Sprintf("o%d", i), Nodes: -1, Zones: 3,
			Net: []int64{cpu*1000 - 100, cpu * rapid.SampledFrom([]int64{2, 4, 8}).Draw(t, "ratio") << 10, 8 * cpu},
		}
		for range 2 {
			o.Prices = append(o.Prices, quantity.Money(cpu*rapid.Int64Range(30_000_000, 60_000_000).Draw(t, "price")))
		}
		if reserved && rapid.IntRange(0, 3).Draw(t, "reserved") == 0 {
			o.Nodes = rapid.Int64Range(0, 2).Draw(t, "nodes")
			o.Prices[0], o.Zones = 0, 1
		}
		if apart { // a resource of which every node has one
			o.Net = append(o.Net, 1)
		}
		p.Offers = append(p.Offers, o)
	}
	for range 2 {
		w := pack.Where{}
		for range p.Offers {
			w.Zones = append(w.Zones, rapid.SampledFrom([]uint64{3, 3, 3, 1, 2}).Draw(t, "where"))
		}
		p.Where = append(p.Where, w)
	}
	for i := range rapid.IntRange(1, 2).Draw(t, "classes") {
		cpu := rapid.SampledFrom([]int64{500, 900, 1000, 1500, 3000}).Draw(t, "need.cpu")
		p.Classes = append(p.Classes, pack.Class{
			Key: fmt.Sprintf("c%d", i), Where: rapid.IntRange(0, 1).Draw(t, "at"), Count: rapid.Int64Range(few, many).Draw(t, "count"),
			Need: []int64{cpu, cpu * rapid.SampledFrom([]int64{1, 2, 3, 7}).Draw(t, "need.ratio"), 1},
		})
		if apart {
			p.Classes[i].Need = append(p.Classes[i].Need, rapid.Int64Range(0, 1).Draw(t, "need.apart"))
		}
	}
	return p
}

// placed is the problem with only the pods that have a place.
func placed(p pack.Problem, r pack.Result) pack.Problem {
	p.Classes = slices.Clone(p.Classes)
	for i := range p.Classes {
		p.Classes[i].Count -= r.Left[i]
	}
	return p
}

func TestOf_NeverExceedsTheCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t, 1, 300, true)
		r := pack.Solve(p)
		b := bound.Problem{Problem: placed(p, r)}
		for name, c := range map[string]bound.Certificate{"own prices": bound.Of(b), "whole pods": bound.OfWhole(b), "the packer's": bound.With(b, r.Prices)} {
			if err := bound.Check(b, c); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if c.Bound > r.Cost {
				t.Errorf("%s: bound %d above cost %d", name, c.Bound, r.Cost)
			}
		}
	})
}

// On problems so small that everything can be tried: the bound is below the
// optimum, and on average within 10 % of it although a fleet of a few nodes
// wastes part of one; the plan is within 2 % on average.
func TestOf_NeverExceedsTheOptimumAndComesNear(t *testing.T) {
	for _, tc := range []struct {
		name         string
		reserved     bool
		bound        float64 // at least this part of the optimum on average
		plan         float64 // at most this much of the optimum on average
		worst        float64 // and at most this much ever
		small, large int64
	}{
		{"plain", false, 0.93, 1.02, 1.34, 14, 24},
		{"a handful of pods", false, 0.93, 1.02, 1.34, 1, 6},
		{"with reservations", true, 0.91, 1.05, math.Inf(1), 6, 12},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := rapid.Custom(func(t *rapid.T) pack.Problem { return draw(t, tc.small, tc.large, tc.reserved) })
			problems, low, high, worst := 0, 0.0, 0.0, 1.0
			for seed := range 60 {
				p := g.Example(seed)
				r := pack.Solve(p)
				best := optimum(p)
				c := bound.Of(bound.Problem{Problem: p})
				if w := bound.OfWhole(bound.Problem{Problem: p}); w.Bound > best {
					t.Errorf("bound %d of whole pods, optimum %d", w.Bound, best)
				}
				if c.Bound > best || r.Cost < best && !slices.ContainsFunc(r.Left, func(n int64) bool { return n > 0 }) {
					t.Errorf("bound %d, optimum %d, plan %d", c.Bound, best, r.Cost)
				}
				if best > 0 && best < never {
					problems++
					low += float64(c.Bound) / float64(best)
					high += float64(r.Cost) / float64(best)
					worst = max(worst, float64(r.Cost)/float64(best))
				}
			}
			low, high = low/float64(problems), high/float64(problems)
			t.Logf("%d problems: bound %.3f of the optimum, plan %.3f, worst %.3f", problems, low, high, worst)
			if problems < 30 || low < tc.bound || high > tc.plan || worst > tc.worst {
				t.Errorf("want %.2f, %.2f and %.2f", tc.bound, tc.plan, tc.worst)
			}
		})
	}
}

// optimum finds the least cost by trying everything.
func optimum(p pack.Problem) quantity.Money {
	s := &tries{p: p, known: map[string]quantity.Money{}}
	nodes := make([]int64, len(p.Offers))
	left := make([]int64, len(p.Classes))
	for i := range p.Offers {
		nodes[i] = p.Offers[i].Nodes
	}
	for i := range p.Classes {
		left[i] = p.Classes[i].Count
	}
	return s.least(left, nodes)
}

type tries struct {
	p     pack.Problem
	known map[string]quantity.Money
}

const never = quantity.Money(math.MaxInt64 / 4)

func (s *tries) least(left, nodes []int64) quantity.Money {
	first := slices.IndexFunc(left, func(n int64) bool { return n > 0 })
	if first < 0 {
		return 0
	}
	key := fmt.Sprint(left, nodes)
	if c, ok := s.known[key]; ok {
		return c
	}
	best := never
	for i, o := range s.p.Offers {
		for z, cost := range o.Prices {
			if nodes[i] == 0 || o.Zones>>z&1 == 0 || cost == 0 && nodes[i] < 0 {
				continue
			}
			s.contents(i, z, first, left, slices.Clone(o.Net), func(rest []int64) {
				more := slices.Clone(nodes)
				if more[i] > 0 {
					more[i]--
				}
				best = min(best, cost+s.least(rest, more))
			})
		}
	}
	s.known[key] = best
	return best
}

// contents tries what a node that holds one of the class may hold, of the
// classes from there on; more is always as good.
func (s *tries) contents(offer, zone, class int, left, free []int64, try func([]int64)) {
	var from func(k int, left, free []int64)
	from = func(k int, left, free []int64) {
		if k == len(left) {
			try(left)
			return
		}
		c := s.p.Classes[k]
		least := int64(0)
		if k == class {
			least = 1
		}
		for n := left[k]; n >= least; n-- {
			rest, room := slices.Clone(left), slices.Clone(free)
			rest[k] -= n
			fits := n == 0 || s.p.Where[c.Where].Zones[offer]>>zone&1 == 1
			for d, need := range c.Need {
				room[d] -= need * n
				fits = fits && room[d] >= 0
			}
			if fits {
				from(k+1, rest, room)
			}
		}
	}
	from(class, slices.Clone(left), free)
}

func TestCheck_RefusesWhatProvesNothing(t *testing.T) {
	p := bound.Problem{Problem: pack.Problem{
		Offers:  []pack.Offer{{Name: "o", Nodes: -1, Zones: 1, Prices: []quantity.Money{100}, Net: []int64{1000, 10}}},
		Classes: []pack.Class{{Key: "a", Count: 1000, Need: []int64{100, 1}}},
		Where:   []pack.Where{{Zones: []uint64{1}}},
	}}
	good := bound.Of(p)
	if good.Bound < 9_999 || good.Bound > 10_000 {
		t.Fatalf("bound %d, want 10000 less rounding", good.Bound)
	}
	mutate := func(f func(*bound.Certificate)) bound.Certificate {
		c := good
		c.Prices = [][]int64{slices.Clone(good.Prices[0])}
		f(&c)
		return c
	}
	for name, tc := range map[string]struct {
		c    bound.Certificate
		want error
	}{
		"a higher bound":       {mutate(func(c *bound.Certificate) { c.Bound += 2 }), bound.ErrBound},
		"higher prices":        {mutate(func(c *bound.Certificate) { c.Prices[0][0] += 1 << c.Scale; c.Prices[0][1] += 1 << c.Scale }), bound.ErrOffer},
		"a negative price":     {mutate(func(c *bound.Certificate) { c.Prices[0][0] = -1 }), bound.ErrForm},
		"a price too few":      {mutate(func(c *bound.Certificate) { c.Prices[0] = c.Prices[0][1:] }), bound.ErrForm},
		"no prices":            {mutate(func(c *bound.Certificate) { c.Prices = nil }), bound.ErrForm},
		"a unit of nothing":    {mutate(func(c *bound.Certificate) { c.Dimensions = []price.Dimension{{Unit: 0}, {Unit: 1}} }), bound.ErrForm},
		"a scale out of range": {mutate(func(c *bound.Certificate) { c.Scale = 63 }), bound.ErrForm},
	} {
		if err := bound.Check(p, tc.c); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
	p.Offers[0].Net = []int64{2000, 20}
	if err := bound.Check(p, good); !errors.Is(err, bound.ErrOffer) {
		t.Errorf("a larger offer: %v, want %v", err, bound.ErrOffer)
	}
	if c := bound.With(p, price.Prices{}); c.Bound != 0 {
		t.Errorf("bound %d without prices", c.Bound)
	}
}

// What runs already takes its share of the demand for nothing.
func TestOf_HostsLowerTheBoundByWhatTheyCanHold(t *testing.T) {
	p := bound.Problem{Problem: pack.Problem{
		Offers:  []pack.Offer{{Name: "o", Nodes: -1, Zones: 1, Prices: []quantity.Money{1_000_000}, Net: []int64{1000, 10}}},
		Classes: []pack.Class{{Key: "a", Count: 100, Need: []int64{100, 1}}},
		Where:   []pack.Where{{Zones: []uint64{1}}},
	}}
	for _, tc := range []struct {
		hosts []pack.Host
		want  quantity.Money
	}{
		{nil, 10_000_000},
		{[]pack.Host{{Free: []int64{500, 5}, Holds: []uint64{1}}, {Free: []int64{500, 5}, Holds: []uint64{1}}}, 9_000_000},
		{[]pack.Host{{Free: []int64{500, 5}}}, 10_000_000},                                // it may not be used
		{[]pack.Host{{Free: []int64{50, 5}, Holds: []uint64{1}}}, 10_000_000},             // it holds none
		{[]pack.Host{{Free: []int64{100_000, 1000}, Holds: []uint64{1}}}, 0},              // all fit
		{slices.Repeat([]pack.Host{{Free: []int64{500, 5}, Holds: []uint64{1}}}, 500), 0}, // more than enough
	} {
		p.Hosts = tc.hosts
		if got := bound.Of(p).Bound; got > tc.want || got < tc.want-tc.want/100 {
			t.Errorf("%d hosts: bound %d, want about %d", len(tc.hosts), got, tc.want)
		}
	}
}

// Two pods of 60 % fill a node each, though half of it would do by their sum.
func TestOf_SeesRoomThatBigPodsCannotUse(t *testing.T) {
	p := bound.Problem{Problem: pack.Problem{
		Offers:  []pack.Offer{{Name: "o", Nodes: -1, Zones: 1, Prices: []quantity.Money{1_000_000}, Net: []int64{1000, 10}}},
		Classes: []pack.Class{{Key: "a", Count: 100, Need: []int64{600, 1}}},
		Where:   []pack.Where{{Zones: []uint64{1}}},
	}}
	if got := bound.Of(p).Bound; got < 99_000_000 {
		t.Errorf("bound %d, want 100 nodes", got)
	}
}

// Three kinds of which a node holds two pods at most, whichever they are: prices of
// resources do not see that a fifth of each node stays empty.
func TestOfWhole_SeesContentsThatLeaveRoom(t *testing.T) {
	p := bound.Problem{Problem: pack.Problem{
		Offers: []pack.Offer{
			{Name: "o", Nodes: -1, Zones: 1, Prices: []quantity.Money{1_000_000}, Net: []int64{1000, 10}},
			{Name: "p", Nodes: -1, Zones: 1, Prices: []quantity.Money{1_900_000}, Net: []int64{1940, 20}},
		},
		Classes: []pack.Class{{Key: "a", Count: 100, Need: []int64{340, 1}}, {Key: "b", Count: 100, Need: []int64{390, 1}}, {Key: "c", Count: 100, Need: []int64{440, 1}}},
		Where:   []pack.Where{{Zones: []uint64{3}}},
	}}
	p.Where[0].Zones = []uint64{1, 1}
	r := pack.Solve(p.Problem)
	c := bound.OfWhole(p)
	if err := bound.Check(p, c); err != nil || c.Bound < r.Cost-r.Cost/50 || c.Bound > r.Cost {
		t.Errorf("bound %d of a cost of %d (%v); prices of resources alone say %d", c.Bound, r.Cost, err, bound.Of(p).Bound)
	}
	if c.Surcharge == nil {
		t.Fatal("no class has a surcharge")
	}
	for name, change := range map[string]func(*bound.Certificate){
		"a higher surcharge":   func(c *bound.Certificate) { c.Surcharge[0] += c.Surcharge[0] / 10 },
		"a negative surcharge": func(c *bound.Certificate) { c.Surcharge[0] = -1 },
		"a surcharge too few":  func(c *bound.Certificate) { c.Surcharge = c.Surcharge[1:] },
	} {
		x := c
		x.Surcharge = slices.Clone(c.Surcharge)
		change(&x)
		if bound.Check(p, x) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// One node holds all pods, whatever they are said to be worth.
func TestCheck_RefusesSurchargesThatOverflow(t *testing.T) {
	p := bound.Problem{Problem: pack.Problem{
		Offers:  []pack.Offer{{Name: "o", Nodes: -1, Zones: 1, Prices: []quantity.Money{1 << 40}, Net: []int64{8}}},
		Classes: []pack.Class{{Key: "a", Count: 8, Need: []int64{1}}},
		Where:   []pack.Where{{Zones: []uint64{1}}},
	}}
	for _, surcharge := range []int64{1<<58 + 1, 1 << 59, 1 << 60, 1<<61 - 1, 1 << 61, math.MaxInt64} {
		for scale := range uint(63) {
			c := bound.Certificate{Bound: 1<<40 + 1, Scale: scale, Dimensions: []price.Dimension{{Unit: 1}}, Prices: [][]int64{{0}}, Surcharge: []int64{surcharge}}
			if bound.Check(p, c) == nil {
				t.Errorf("surcharge %d at scale %d is accepted", surcharge, scale)
			}
		}
	}
}

// few is so many kinds of which two to nine fit a node, each in so many classes, in
// two zones.
func few(kinds, classes int64) bound.Problem {
	p := bound.Problem{}
	p.Where = make([]pack.Where, 3)
	for i, ratio := range []int64{2, 4, 8} {
		for _, cpu := range []int64{8, 16, 32, 64} {
			cost := quantity.Money(cpu * (34_000_000 + 3_500_000*ratio))
			p.Offers = append(p.Offers, pack.Offer{Name: fmt.Sprint(i, "-", cpu), Nodes: -1, Zones: 3, Prices: []quantity.Money{cost, cost}, Net: []int64{cpu*1000 - 350, cpu*ratio<<10 - 1500}})
			for w, zones := range []uint64{3, 1, 2} {
				p.Where[w].Zones = append(p.Where[w].Zones, zones)
			}
		}
	}
	for i := range kinds {
		for j := range classes {
			p.Classes = append(p.Classes, pack.Class{Key: fmt.Sprint(i, "-", j), Count: 24 / classes, Need: []int64{7000 + 1111*i, (20 + 13*(i*7%11)) << 10}})
		}
	}
	return p
}

func TestOfWhole_ClassesOfEqualPodsCountAsOne(t *testing.T) {
	one, eight := few(6, 1), few(6, 8)
	if a, b := bound.OfWhole(one).Bound, bound.OfWhole(eight).Bound; a != b || a <= bound.Of(one).Bound {
		t.Errorf("bound %d of 6 classes, %d of 48 with the same pods; prices of resources alone say %d", a, b, bound.Of(one).Bound)
	}
}

// Small groups share prices with others. Their few pods must not cost the certificate
// its surcharges.
func TestOfWhole_AFewPodsThatAreParticularAboutZonesTakeLittleAway(t *testing.T) {
	plain, zoned := few(20, 1), few(20, 1)
	for i := range int64(2) {
		zoned.Classes = append(zoned.Classes, pack.Class{Key: fmt.Sprint("z", i), Count: 2, Need: []int64{9000, 9 << 10}, Where: 1 + int(i)})
	}
	if a, b := bound.OfWhole(plain).Bound, bound.OfWhole(zoned).Bound; b < a {
		t.Errorf("bound %d with them, %d without", b, a)
	}
}

func TestOf_AbsurdNumbersDoNotPanic(t *testing.T) {
	amount := rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, 1000, 1 << 40, math.MaxInt64 / 2, math.MaxInt64})
	rapid.Check(t, func(t *rapid.T) {
		p := bound.Problem{Problem: draw(t, 1, 300, true)}
		for i := range p.Offers {
			o := &p.Offers[i]
			o.Net[rapid.IntRange(0, 2).Draw(t, "dim")] = amount.Draw(t, "net")
			o.Prices[0] = quantity.Money(amount.Draw(t, "price"))
			o.Nodes = amount.Draw(t, "nodes")
			p.Hosts = append(p.Hosts, pack.Host{Free: []int64{amount.Draw(t, "free")}, Holds: []uint64{3}})
		}
		for i := range p.Classes {
			c := &p.Classes[i]
			c.Need[rapid.IntRange(0, 2).Draw(t, "dim")] = amount.Draw(t, "need")
			c.Count = amount.Draw(t, "count")
			c.Where = int(amount.Draw(t, "where"))
		}
		for _, c := range []bound.Certificate{bound.Of(p), bound.OfWhole(p)} {
			if c.Bound < 0 {
				t.Errorf("bound %d", c.Bound)
			}
			if err := bound.Check(p, c); err != nil && c.Bound > 0 {
				t.Error(err)
			}
		}
	})
}

// With prices that are linear in size no offer beats another, and pods that
// keep apart need many small nodes.
func TestSolve_ManyLikeOffersAndRulesTakeLittleWork(t *testing.T) {
	p := bound.Problem{}
	places := []uint64{1, 2, 4, 7}
	p.Where = make([]pack.Where, len(places))
	for i := int64(1); i <= 200; i++ {
		cost := quantity.Money(i * 300_000_000)
		p.Offers = append(p.Offers, pack.Offer{
			Name: fmt.Sprintf("o%03d", i), Nodes: -1, Zones: 7, Prices: []quantity.Money{cost, cost, cost}, Net: []int64{1000*i - 100, 2048*i - 10, 10 * i},
		})
		for w, zones := range places {
			p.Where[w].Zones = append(p.Where[w].Zones, zones)
		}
	}
	for rule := range 7 {
		p.Rules = append(p.Rules, pack.Rule{Max: 1})
		for i, cpu := range []int64{100, 250, 500, 1000, 1500} {
			for j, mib := range []int64{100, 256, 512, 1024, 2048, 4096} {
				p.Classes = append(p.Classes,
					pack.Class{Key: fmt.Sprint("apart", rule, i, j), Need: []int64{cpu, mib, 1}, Count: 4, Where: 3, Roles: []pack.Role{{Rule: rule, Binds: true, Counts: true}}},
					pack.Class{Key: fmt.Sprint("zoned", rule, i, j), Need: []int64{cpu, mib, 1}, Count: 12, Where: (rule + i) % 3})
			}
		}
	}
	r := pack.Solve(p.Problem)
	c := bound.With(p, r.Prices)
	if slices.Max(r.Left) > 0 || r.Cost > c.Bound+c.Bound*3/100 {
		t.Errorf("cost %d, more than 3 %% above the bound %d; %d left", r.Cost, c.Bound, slices.Max(r.Left))
	}
	if r.Fills > 2000 || r.Pivots > 10_000 {
		t.Errorf("%d fills and %d pivots", r.Fills, r.Pivots)
	}
}
