package pack

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Solve places what can be placed.
func Solve(p Problem) Result {
	r, _ := Search(p, Result{}, Work{})
	return r
}

// Search makes the next of the searches that Solve consists of. It continues from
// the result so far, which is the zero Result at first. Each search places all
// that it can, and Search keeps the best plan, so that a caller may stop after any
// call. Many short runs end where one long run does. After the last search it
// polishes a small fleet, too. Search is done when the best plan is good enough, or
// no other start is left to try.
func Search(p Problem, r Result, limit Work) (Result, bool) {
	if r.searched {
		return r, true
	}
	c := newCore(&p)
	if c.lone() {
		return c.placeOne(r), true
	}
	c.joinPlaces()
	prices, all := c.priceAll(&r)
	proven := c.worthOf(prices)
	goal := proven.Add(proven / closeGap)
	forced := c.forced(prices)
	best := newPlan(c)
	best.restore(r.nodes)
	var big []int // for the last search only
	if r.Searches == searches {
		big = c.bigPods(prices, proven)
	}
	for n := 0; !r.searched && (limit.Trials <= 0 || n < limit.Trials); n++ {
		s := newSearch(c, newPlan(c), all, r.Searches == 1 && forced && c.dear(best.cost, proven, 20))
		if r.Searches > 0 { // the first search knows no worth, and under rules begins node by node
			s.values.set(prices, s.plan.left)
		}
		s.run(c.next(r.Searches, big != nil, best.cost, proven), big)
		if r.Searches == 0 || s.plan.better(best) {
			best = s.plan
		}
		r.Searches++
		parts := quantity.Money(10)
		if forced {
			parts = 20
		}
		r.searched = best.cost <= goal || r.Searches > searches
		if !r.searched && r.Searches == searches {
			big = c.bigPods(prices, proven)
			r.searched = big == nil && !c.dear(best.cost, proven, parts)
		}
	}
	if r.searched && best.cost > goal {
		c.touchUp(best, all)
	}
	return c.result(best, r, prices), r.searched
}

// lone says whether the demand is one pod that its rules let into an empty bin.
func (c *core) lone() bool {
	return len(c.demand.kinds) == 1 && c.demand.kinds[0].count == 1 && c.rules.allowed(&c.demand.kinds[0], nil) > 0
}

// placeOne puts the only pod on the cheapest node that holds it. There is no choice
// that prices would help with.
func (c *core) placeOne(r Result) Result {
	alone := newPlan(c)
	k := &c.demand.kinds[0]
	at := slices.IndexFunc(c.supply.columns, func(col column) bool { return col.takes(k) && (!col.large || k.large) })
	alone.buy(at, &filling{pieces: []piece{{0, 1}}, used: k.need}, 1)
	r.Searches, r.searched = 1, true
	return c.result(alone, r, price.Prices{Of: make([][]int64, 1)})
}

const (
	searches = 2   // and one more where many pods are big, or rules make nodes dear or force them
	closeGap = 150 // the inverse of the gap at which no other start is tried
)

// tightness is, per search, how much a dealer prefers bins that are nearly full:
// the free amount of a bin counts 2^-n of what its lean does. Large fleets come out
// best with 21, fleets of few huge nodes with 22.
var tightness = [...]uint{21, 22, 19, 64} //nolint:gochecknoglobals // a constant array

// fullFirst is the tightness where rules need more nodes than the bound knows of.
// There it is better to fill one node after the other.
var fullFirst = [...]uint{21, 16, 12} //nolint:gochecknoglobals // a constant array

// next is the tightness of the search after so many, of which the best has the
// cost.
func (c *core) next(searches int, byPattern bool, cost, proven quantity.Money) uint {
	if !byPattern && searches > 0 && c.dear(cost, proven, 20) {
		return fullFirst[searches]
	}
	return tightness[searches]
}

// forced says whether pods that may not share a node decide how many nodes there are: to
// these pods a node is worth something beside its room, and no other rule needs nearly
// as many nodes.
func (c *core) forced(prices price.Prices) bool {
	i := slices.IndexFunc(prices.Dimensions, func(d price.Dimension) bool { return d.Resource == len(c.resources.dims)-1 })
	if c.resources.single < 0 || i < 0 || !slices.ContainsFunc(prices.Of, func(of []int64) bool { return of[i] > 0 }) {
		return false
	}
	left := make([]int64, len(c.demand.kinds))
	for k := range left {
		left[k] = c.demand.kinds[k].count
	}
	single, most := c.leastNodes(left)
	return single > 2*most
}

// leastNodes is how many nodes the pods that are left need at least: those of which a
// node holds one, and those of the rule that needs most.
func (c *core) leastNodes(left []int64) (single, most int64) {
	c.perRule = append(c.perRule[:0], make([]int64, len(c.rules))...)
	for k, n := range left {
		if c.demand.kinds[k].single {
			single = addCounts(single, n)
		}
		for _, r := range c.demand.kinds[k].roles {
			if r.Binds && r.Counts {
				c.perRule[r.Rule] = addCounts(c.perRule[r.Rule], n)
			}
		}
	}
	most = 1
	for r, n := range c.perRule {
		if limit := c.rules[r].Max; limit > 0 {
			most = max(most, n/limit)
		}
	}
	return single, most
}

// dear says whether rules may be why the cost is above the bound, by more than one
// of so many parts of the bound.
func (c *core) dear(cost, proven, parts quantity.Money) bool {
	return (c.demand.ruled || c.resources.single >= 0) && cost > proven.Add(proven/parts)
}

// worthOf is what the prices prove that the whole demand costs at least.
func (c *core) worthOf(prices price.Prices) quantity.Money {
	var sum quantity.Money
	for i := range c.demand.kinds {
		k := &c.demand.kinds[i]
		sum = sum.Add(quantity.Money(worth(k.need, prices, prices.Of[i])).Times(k.count))
	}
	return sum
}
