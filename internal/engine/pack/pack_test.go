package pack_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func TestSolve_KeepsEveryConstraint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomProblem(t)
		for _, v := range violations(p, pack.Solve(p)) {
			t.Error(v)
		}
	})
}

func TestPolish_KeepsEveryConstraintAndNeverCostsMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomProblem(t)
		r := pack.Solve(p)
		polished, _ := pack.Polish(p, r, pack.Work{Trials: 10})
		for _, v := range violations(p, polished) {
			t.Error(v)
		}
		if polished.Cost > r.Cost {
			t.Errorf("cost %d after polishing %d", polished.Cost, r.Cost)
		}
		if !slices.Equal(polished.Left, r.Left) {
			t.Errorf("left %v after polishing, %v before", polished.Left, r.Left)
		}
	})
}

func TestSearch_ManyShortRunsEndWhereOneLongRunDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomProblem(t)
		long, short, done := pack.Solve(p), pack.Result{}, false
		for !done {
			before := short.Searches
			short, done = pack.Search(p, short, pack.Work{Trials: 1})
			if short.Searches != before+1 {
				t.Fatalf("%d searches after %d", short.Searches, before)
			}
			for _, v := range violations(p, short) {
				t.Error(v)
			}
		}
		same(t, p, long, short)
	})
}

func TestPolish_ManyShortRunsEndWhereOneLongRunDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomProblem(t)
		r := pack.Solve(p)
		long, _ := pack.Polish(p, r, pack.Work{Trials: 12})
		again, _ := pack.Polish(p, r, pack.Work{Trials: 12})
		short := r
		for _, steps := range []int{1, 2, 6, 3} {
			short, _ = pack.Polish(p, short, pack.Work{Trials: steps})
		}
		same(t, p, long, short)
		same(t, p, long, again) // nothing that r holds has changed
	})
}

// same compares all that a result says, the work that it took included.
func same(t *rapid.T, p pack.Problem, want, got pack.Result) {
	if !reflect.DeepEqual(want, got) {
		t.Errorf("one run:\n%s\n%+v\nmany:\n%s\n%+v", text(p, want), want.Trace, text(p, got), got.Trace)
	}
}

func TestSolve_LeavesOnlyWhatNothingHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomProblem(t)
		for i := range p.Offers {
			p.Offers[i].Nodes = -1
		}
		r := pack.Solve(p)
		for i, left := range r.Left {
			c := &p.Classes[i]
			if held := slices.ContainsFunc(c.Roles, func(role pack.Role) bool { return role.Binds && role.Counts && p.Rules[role.Rule].Max < 1 }); held {
				continue // it may not even be with itself
			}
			for o := range p.Offers {
				if left > 0 && alone(p, c, o) {
					t.Errorf("%d of class %s are left, though %s holds one", left, c.Key, p.Offers[o].Name)
				}
			}
		}
	})
}

// alone says whether the offer can be had where the class may run, and holds
// one of it.
func alone(p pack.Problem, c *pack.Class, offer int) bool {
	o := &p.Offers[offer]
	zones := uint64(0)
	for z, price := range o.Prices {
		if price > 0 && o.Zones>>z&1 == 1 {
			zones |= 1 << z
		}
	}
	if zones&p.Where[c.Where].Zones[offer] == 0 {
		return false
	}
	for d, n := range c.Need {
		if n > o.Net[d] {
			return false
		}
	}
	return true
}

func TestSolve_OrderOfClassesAndPlacesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomProblem(t)
		for i := range p.Offers {
			p.Offers[i].Nodes = -1 // where there is too little, what comes first is placed first
		}
		want := text(p, pack.Solve(p))
		q := p
		q.Classes = rapid.Permutation(p.Classes).Draw(t, "classes")
		order := rapid.Permutation(indexes(len(p.Where))).Draw(t, "places")
		q.Where = make([]pack.Where, len(p.Where))
		q.Classes = slices.Clone(q.Classes)
		for to, from := range order {
			q.Where[to] = p.Where[from]
		}
		for i := range q.Classes {
			q.Classes[i].Where = slices.Index(order, q.Classes[i].Where)
		}
		if got := text(q, pack.Solve(q)); got != want {
			t.Errorf("shuffled:\n%s\nwant:\n%s", got, want)
		}
	})
}

func indexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// one is a problem with one place, where offers have a zone and a price.
func one(offers []pack.Offer, classes ...pack.Class) pack.Problem {
	p := pack.Problem{Offers: offers, Classes: classes, Where: []pack.Where{{Zones: make([]uint64, len(offers))}}}
	for i := range offers {
		p.Where[0].Zones[i] = 1
	}
	return p
}

func offer(name string, price quantity.Money, cpu, pods int64) pack.Offer {
	return pack.Offer{Name: name, Nodes: -1, Net: []int64{cpu, pods}, Prices: []quantity.Money{price}, Zones: 1}
}

func TestSolve_Cases(t *testing.T) {
	reserved := offer("reserved", 0, 4000, 10)
	reserved.Nodes = 2
	big := offer("big", 100, 64000, 100)
	big.Large = true
	spread := pack.Class{Key: "a", Count: 4, Need: []int64{10, 1}, Roles: []pack.Role{{Rule: 0, Binds: true, Counts: true}}}
	apart := one([]pack.Offer{offer("small", 40, 4000, 10)}, spread)
	apart.Rules = []pack.Rule{{Max: 1}}
	for _, tc := range []struct {
		name string
		p    pack.Problem
		cost quantity.Money
		left int64
	}{
		{"fills whole nodes", one([]pack.Offer{offer("small", 40, 4000, 10)}, pack.Class{Key: "a", Count: 8, Need: []int64{1000, 1}}), 80, 0},
		{"shrinks the last node", one([]pack.Offer{offer("tiny", 11, 1000, 10), offer("small", 40, 4000, 10)}, pack.Class{Key: "a", Count: 9, Need: []int64{1000, 1}}), 91, 0},
		{"pods slots count", one([]pack.Offer{offer("small", 40, 4000, 10)}, pack.Class{Key: "a", Count: 20, Need: []int64{1, 1}}), 80, 0},
		{"reservations are used first", one([]pack.Offer{reserved, offer("small", 40, 4000, 10)}, pack.Class{Key: "a", Count: 12, Need: []int64{1000, 1}}), 40, 0},
		{"a reservation is worth most to what is dear", one([]pack.Offer{reserved}, pack.Class{Key: "a", Count: 12, Need: []int64{1000, 1}}), 0, 4},
		{"large offers only for what needs them", one([]pack.Offer{offer("small", 40, 4000, 10), big}, pack.Class{Key: "a", Count: 40, Need: []int64{1000, 1}}), 400, 0},
		{"what needs a large offer shares it", one([]pack.Offer{offer("small", 40, 4000, 10), big}, pack.Class{Key: "a", Count: 40, Need: []int64{1000, 1}}, pack.Class{Key: "b", Count: 1, Need: []int64{24000, 1}}), 100, 0},
		{"one in a bin", apart, 160, 0},
		{"nothing that is not for sale", one([]pack.Offer{offer("free", 0, 4000, 10)}, pack.Class{Key: "a", Count: 3, Need: []int64{1, 1}}), 0, 3},
		{"a negative price never wins", one([]pack.Offer{offer("bad", -5, 4000, 10), offer("small", 40, 4000, 10)}, pack.Class{Key: "a", Count: 3, Need: []int64{1, 1}}), 40, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := pack.Solve(tc.p)
			left := int64(0)
			for _, n := range r.Left {
				left += n
			}
			if r.Cost != tc.cost || left != tc.left {
				t.Errorf("cost %d and %d left, want %d and %d\n%s", r.Cost, left, tc.cost, tc.left, text(tc.p, r))
			}
			for _, v := range violations(tc.p, r) {
				t.Error(v)
			}
		})
	}
}

func TestSolve_AbsurdNumbersDoNotPanic(t *testing.T) {
	amount := rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, 1000, 1 << 40, math.MaxInt64 / 2, math.MaxInt64})
	rapid.Check(t, func(t *rapid.T) {
		p := randomProblem(t)
		for i := range p.Offers {
			o := &p.Offers[i]
			o.Net[rapid.IntRange(0, 2).Draw(t, "dim")] = amount.Draw(t, "net")
			o.Prices[0] = quantity.Money(amount.Draw(t, "price"))
			o.Nodes = amount.Draw(t, "nodes")
		}
		for i := range p.Classes {
			c := &p.Classes[i]
			c.Need[rapid.IntRange(0, 2).Draw(t, "dim")] = amount.Draw(t, "need")
			c.Count = amount.Draw(t, "count")
			c.Where = int(amount.Draw(t, "where"))
			c.Roles = append(c.Roles, pack.Role{Rule: int(amount.Draw(t, "rule")), Binds: true})
		}
		r := pack.Solve(p)
		if r.Cost < 0 {
			t.Errorf("cost %d", r.Cost)
		}
		for i, left := range r.Left {
			if left < 0 || left > max(0, p.Classes[i].Count) {
				t.Errorf("class %d: %d left of %d", i, left, p.Classes[i].Count)
			}
		}
		pack.Polish(p, r, pack.Work{Trials: 2})
	})
}

// The linear program may ask for a small part of the nodes that the pods need, again
// and again: here it does as the first nodes are paid for already.
func TestSolve_WorkDoesNotGrowWithTheNumberOfEqualPods(t *testing.T) {
	paid := offer("paid", 0, 1000, 1)
	paid.Nodes = 1 << 30
	p := one([]pack.Offer{paid, offer("other", 1000, 1000, 1<<60)}, pack.Class{Key: "a", Count: 1 << 22, Need: []int64{50, 1}})
	if r := pack.Solve(p); r.Rounds > 20_000 || r.Left[0] > 0 {
		t.Errorf("nodes bought %d times, %d pods left", r.Rounds, r.Left[0])
	}
}

func TestSolve_EmptyProblem(t *testing.T) {
	for _, p := range []pack.Problem{{}, one(nil), one([]pack.Offer{offer("small", 40, 4000, 10)})} {
		if r := pack.Solve(p); r.Cost != 0 || len(r.Bins) != 0 {
			t.Errorf("%d bins that cost %d", len(r.Bins), r.Cost)
		}
	}
}
