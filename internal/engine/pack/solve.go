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

// Search makes the next of the searches that Solve consists of. It goes on from
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
	least := c.worthOf(prices)
	goal := least.Add(least / nearly)
	best := newPlan(c)
	best.restore(r.nodes)
	var big []int // for the last search only
	if r.Searches == searches {
		big = c.bigPods(prices, least)
	}
	for n := 0; !r.searched && (limit.Trials <= 0 || n < limit.Trials); n++ {
		s := newSearch(c, newPlan(c), all)
		if r.Searches > 0 { // the first search knows no worth, and under rules begins node by node
			s.values.set(prices, s.plan.left)
		}
		s.run(c.next(r.Searches, big != nil, best.cost, least), big)
		if r.Searches == 0 || s.plan.better(best) {
			best = s.plan
		}
		r.Searches++
		r.searched = best.cost <= goal || r.Searches > searches
		if !r.searched && r.Searches == searches {
			big = c.bigPods(prices, least)
			r.searched = big == nil && !c.dear(best.cost, least, 10)
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
	searches = 2   // and one more where many pods are big, or rules make nodes dear
	nearly   = 150 // the inverse of the gap at which no other start is tried
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
func (c *core) next(searches int, byPattern bool, cost, least quantity.Money) uint {
	if !byPattern && searches > 0 && c.dear(cost, least, 20) {
		return fullFirst[searches]
	}
	return tightness[searches]
}

// dear says whether rules may be why the cost is above the bound, by more than one
// of so many parts of the bound.
func (c *core) dear(cost, least, parts quantity.Money) bool {
	return c.demand.ruled && cost > least.Add(least/parts)
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
