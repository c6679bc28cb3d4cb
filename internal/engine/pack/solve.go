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

// Search makes the next of the searches that Solve consists of, from the result
// so far, which is the zero one at first. Each of them places all that it can, and
// the best is kept; whoever stops in between has a whole plan, and many short
// runs end where one long run does. The last one polishes a small fleet, too. It
// is done when the best is good enough, or no other start is left to try.
func Search(p Problem, r Result, limit Work) (Result, bool) {
	if r.searched {
		return r, true
	}
	c := newCore(&p)
	if c.lone() {
		return c.placeOne(r), true
	}
	c.joinPlaces()
	prices := c.open(&r)
	best := newSearch(c)
	least := best.worthOf(prices)
	goal := addMoney(least, int64(least)/nearly, 1)
	best.restore(r.nodes)
	for n := 0; !r.searched && (limit.Trials <= 0 || n < limit.Trials); n++ {
		s := newSearch(c)
		if r.Searches > 0 { // the first finds no worth, and with rules begins node by node
			s.values.set(prices, s.left)
		}
		byPattern := r.Searches == searches && c.manyBigPods(prices, least)
		s.run(best.next(r.Searches, byPattern, least), byPattern)
		if r.Searches == 0 || s.better(best) {
			best = s
		}
		r.Searches++
		r.searched = best.cost <= goal || r.Searches > searches || r.Searches == searches && !best.dear(least, 10) && !c.manyBigPods(prices, least)
	}
	if r.searched && best.cost > goal {
		best.touchUp()
	}
	return best.result(r, prices), r.searched
}

// open brings prices and trace to where the result left them.
func (c *core) open(r *Result) price.Prices {
	var prices price.Prices
	if len(r.Prices.Of) == len(c.p.Classes) && r.Searches > 0 {
		prices = c.narrow(r.Prices)
		c.trace, c.whole = r.Trace, r.whole
	} else {
		s := newSearch(c)
		prices = s.pricesFor(s.left, boundCuts, 0)
		if !prices.Corner && !s.large && !slices.Contains(c.supply.sample, false) {
			c.whole = &prices
		}
	}
	c.cuts = len(prices.Dimensions) - len(c.resources.dims)
	return prices
}

// lone says whether all there is is one pod, and no rule keeps it out of a bin of
// its own.
func (c *core) lone() bool {
	return len(c.demand.kinds) == 1 && c.demand.kinds[0].count == 1 && c.rules.allowed(&c.demand.kinds[0], nil) > 0
}

// placeOne puts the only pod on the cheapest node that holds it. There is nothing
// to weigh, so nothing is priced.
func (c *core) placeOne(r Result) Result {
	s := newSearch(c)
	k := &c.demand.kinds[0]
	at := slices.IndexFunc(c.supply.columns, func(col column) bool { return col.takes(k) && (!col.large || k.large) })
	s.apply(at, &filling{pieces: []piece{{0, 1}}, used: k.need}, 1)
	r.Searches, r.searched = 1, true
	return s.result(r, price.Prices{Of: make([][]int64, 1)})
}

// restore goes on from a search that has placed these.
func (s *search) restore(nodes []node) {
	rounds := s.trace.Rounds
	for i := range nodes {
		s.apply(nodes[i].column, &nodes[i].filling, nodes[i].copies)
	}
	s.trace.Rounds, s.large = rounds, false
}

const (
	searches = 2   // and one more where many pods are big, or rules make nodes dear
	nearly   = 150 // the inverse of the gap at which no other start is tried
)

// tightness is how much a bin that is nearly full is preferred: what is free in
// it counts 2^-n of how it leans. Each value is a search of its own; large
// fleets like 21, fleets of few huge nodes 22.
var tightness = [...]uint{21, 22, 19, 64} //nolint:gochecknoglobals // a constant array

// fullFirst are tightnesses for where rules make for more nodes than the bound
// knows of: the more of them, the more it is worth to fill one after the other.
var fullFirst = [...]uint{21, 16, 12} //nolint:gochecknoglobals // a constant array

// next is the tightness of the search after so many, of which this is the best.
func (s *search) next(searches int, byPattern bool, least quantity.Money) uint {
	if !byPattern && searches > 0 && s.dear(least, 20) {
		return fullFirst[searches]
	}
	return tightness[searches]
}

// dear says whether rules may be why the cost is above the bound, by more than the
// inverse of its part.
func (s *search) dear(least quantity.Money, part int64) bool {
	return s.ruled && s.cost > addMoney(least, int64(least)/part, 1)
}

// worthOf is a lower bound of the cost.
func (s *search) worthOf(prices price.Prices) quantity.Money {
	var sum quantity.Money
	for k := range s.demand.kinds {
		sum = addMoney(sum, int64(worth(s.demand.kinds[k].need, prices, prices.Of[k])), s.left[k])
	}
	return sum
}

// node is a number of bins with equal content.
type node struct {
	column int
	filling
	copies int64
}

// search is a choice of nodes in the making.
type search struct {
	*core
	left      []int64 // pods per kind
	nodesLeft []int64 // per offer, < 0 without a limit
	nodes     []node
	cost      quantity.Money
	large     bool  // large offers may be used
	cap       int64 // price above which no nodes are bought; 0: none
	ruled     bool  // some kind binds and is counted
	perRule   []int64
	tight     uint

	values *values
	filler filler
	of     [][]int64 // per kind, the prices that steer
	bins   []bin     // scratch of buy: these three
	frees  []int64
	pieces []piece
	cache  []filling // per column, the last filling
	right  []int     // per column, the offer that its filling shrinks to
	heap   []ranked
	scale  balance
}

func newSearch(c *core) *search {
	s := &search{core: c, left: make([]int64, len(c.demand.kinds)), nodesLeft: make([]int64, len(c.p.Offers))}
	for k := range c.demand.kinds {
		s.left[k] = c.demand.kinds[k].count
		s.large = s.large || c.demand.kinds[k].large
		s.ruled = s.ruled || c.demand.kinds[k].binds
	}
	for i := range c.p.Offers {
		s.nodesLeft[i] = c.p.Offers[i].Nodes
	}
	s.values = newValues(c)
	s.filler = newFiller(c, s.values)
	s.scale = newBalance(c)
	s.cache = make([]filling, len(c.supply.columns))
	s.right = make([]int, len(c.supply.columns))
	return s
}

func (s *search) usable(column int) bool {
	col := &s.supply.columns[column]
	return (s.large || !col.large) && (col.nodes < 0 || s.nodesLeft[col.offer] > 0)
}

// run places all that is left: what needs large offers first, then big pods by
// patterns if asked for, then the bulk in lots, then the rest.
func (s *search) run(tight uint, byPattern bool) {
	s.tight = tight
	if s.large {
		s.values.set(s.pricesFor(s.left, s.cuts, firstGroups), s.left)
		s.greedy(true)
		s.large = false
	}
	if byPattern {
		s.packBig()
	}
	s.spreadAll()
	if s.cap > 0 {
		s.cap = 0
		s.values.set(s.pricesFor(s.left, 0, someGroups), s.left)
	}
	s.greedy(false)
}

// better prefers what leaves less, then what costs less.
func (s *search) better(o *search) bool {
	for k := range s.left {
		if s.left[k] != o.left[k] {
			return s.left[k] < o.left[k]
		}
	}
	return s.cost < o.cost
}

func (s *search) apply(column int, f *filling, n int64) {
	s.trace.Rounds++
	for _, p := range f.pieces {
		s.left[p.kind] -= p.count * n
	}
	col := &s.supply.columns[column]
	if col.nodes >= 0 {
		s.nodesLeft[col.offer] -= n
	}
	s.nodes = append(s.nodes, node{column, filling{slices.Clone(f.pieces), slices.Clone(f.used), f.worth}, n})
	s.cost = addMoney(s.cost, col.price, n)
}

// addMoney is sum + price*n, saturating.
func addMoney(sum quantity.Money, price, n int64) quantity.Money {
	var s price128
	s.Add(price, n)
	s.Add(int64(sum), 1)
	return quantity.Money(s.Unscaled(0))
}

type price128 = price.Sum

// rightSize is the cheapest usable column that holds m fillings of the column.
func (s *search) rightSize(of int, f *filling, m int64) int {
	for i := range s.supply.columns[:of] {
		col := &s.supply.columns[i]
		if fit(f.used, col.room) && s.usable(i) && (col.nodes < 0 || s.nodesLeft[col.offer] >= m) &&
			!slices.ContainsFunc(f.pieces, func(p piece) bool { return !col.takes(&s.demand.kinds[p.kind]) }) {
			return i
		}
	}
	return of
}
