package pack

import "github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"

// search fills a plan with nodes until nothing is left that some node holds. It
// owns the order of the methods, and the prices that steer them.
type search struct {
	core   *core
	whole  whole
	plan   *plan
	values *values
	filler *filler
	greedy greedy
	dealer dealer
	of     [][]int64 // per kind, the last steering prices; space for the next
	forced bool      // pods that may not share a node decide how many nodes there are
}

func newSearch(c *core, p *plan, all whole, forced bool) *search {
	v := newValues(c)
	f := newFiller(c, v)
	return &search{core: c, whole: all, plan: p, values: v, filler: f, greedy: newGreedy(c, p, v, f), dealer: newDealer(c, p, v), forced: forced}
}

// run places all that is left: what needs large offers first, then the given big
// kinds by patterns, then the bulk in lots, then the rest.
func (s *search) run(tight uint, big []int) {
	if s.plan.large {
		s.steer(s.whole.cuts, firstGroups, 0)
		s.greedy.fill(true)
		s.plan.large = false
	}
	if len(big) > 0 {
		p := patterns{core: s.core, plan: s.plan, values: s.values, filler: s.filler, all: big}
		p.pack(big, p.work()+patternSteps)
	}
	s.dealAll(tight)
	s.greedy.fill(false)
}

// steer asks for prices of what is left, and values it by them.
func (s *search) steer(cuts, groups int, highest int64) price.Prices {
	prices := s.core.ask(s.plan, question{left: s.plan.left, cuts: cuts, groups: groups, highest: highest, of: s.of})
	s.of = prices.Of
	s.values.set(prices, s.plan.left)
	return prices
}

// fullness is, in order, the worth that a bin must hold for its price, in 1024ths:
// the content of a bin that holds less is dealt again with the rest. The next
// number is for where no bin holds as much.
var fullness = [...]uint64{1009, 1004, 993, 970, 922} //nolint:gochecknoglobals // a constant array

// mostDeals is how many times one search deals. Where each deal places a good part of
// the demand, about 20 are enough.
const mostDeals = 64

// ofFew is the same where nodes are forced: a few pods hardly ever fill a node better.
var ofFew = [...]uint64{970, 922, 870, 820} //nolint:gochecknoglobals // a constant array

// tightOfFew is the tightness there; see tightness.
const tightOfFew = 12

// dealAll deals until the linear program would buy less than one whole node. Where nodes
// are forced, all of them are dealt to at once, each on its own.
func (s *search) dealAll(tight uint) {
	cuts, groups, highest := s.whole.cuts, firstGroups, int64(0)
	full, bins := fullness[:], int64(mostBins)
	if s.forced {
		full, bins, tight, s.dealer.byShape = ofFew[:], mostExclusive, tightOfFew, true
	}
	for deals := 0; len(full) > 0 && deals < mostDeals; deals++ {
		highest = s.dearest()
		var prices price.Prices // those of the whole demand are at hand the first time
		if groups == firstGroups && s.whole.prices != nil && highest == 0 && s.plan.untouched() {
			prices = *s.whole.prices
			s.values.set(prices, s.plan.left)
		} else {
			prices = s.steer(cuts, groups, highest)
		}
		cuts, groups = 0, someGroups
		total := int64(0)
		for _, n := range prices.Buys {
			total += n / 1024
		}
		if total == 0 {
			break
		}
		s.dealer.deal(prices, max(1, total/bins), tight)
		for len(full) > 0 && !s.dealer.keep(full[0]) {
			full = full[1:]
		}
	}
	if highest > 0 { // what is left may be put into any column
		s.steer(0, someGroups, 0)
	}
}

// forcedHalves is how many halves of the average price a node may cost where nodes are
// forced. Larger nodes leave pods alone on small ones; without any, nothing is left to
// choose.
const forcedHalves = 3

// dearest is the price above which nodes would be too few for the rules, because
// pods of which a bin may hold only a few need many bins. 0 is no limit.
func (s *search) dearest() int64 {
	if !s.core.demand.ruled && !s.forced {
		return 0
	}
	var worth price.Sum
	for k, n := range s.plan.left {
		worth.Add(int64(s.values.worth[k]), n)
	}
	single, most := s.core.leastNodes(s.plan.left)
	switch {
	case s.forced && single > most:
		return max(1, worth.Unscaled(0)/single*forcedHalves/2)
	case most < 2:
		return 0
	}
	return max(1, worth.Unscaled(0)/most)
}
