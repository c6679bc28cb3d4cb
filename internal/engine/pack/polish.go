package pack

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/random"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const (
	patience     = 600 // steps without success after which a polish is done
	defaultSteps = 64
	smallFleet   = 48  // nodes up to which Solve polishes too
	touchWork    = 800 // about how many kinds it packs again for that
)

// Polish takes a few bins apart, those that hold little for their price more
// often than others, packs their content again, and keeps what is cheaper. It
// only improves, its steps depend on nothing but the problem and the result, and
// many short runs end where one long run does. It is done when nothing has
// helped for long.
func Polish(p Problem, r Result, limit Work) (Result, bool) {
	c := newCore(&p)
	c.joinPlaces()
	prices := c.open(&r)
	s := newSearch(c, newPlan(c))
	s.values.set(prices, s.left)
	s.restore(r.nodes)
	s.revalue(s.values)
	steps := limit.Trials
	if steps <= 0 {
		steps = defaultSteps
	}
	done := s.polish(&r, steps)
	return c.result(s.plan, r, prices), done
}

// touchUp polishes a small fleet, where a few nodes decide.
func (c *core) touchUp(p *plan) {
	n := int64(0)
	for i := range p.nodes {
		n += p.nodes[i].copies
	}
	if n > smallFleet {
		return
	}
	s := newSearch(c, p)
	left := make([]int64, len(s.demand.kinds))
	for k := range left {
		left[k] = s.demand.kinds[k].count - s.left[k]
	}
	s.values.set(s.pricesFor(left, 0, 0), left)
	s.revalue(s.values)
	var r Result
	s.polish(&r, max(4, min(32, touchWork/max(1, len(s.demand.kinds)))))
}

// polish makes up to so many steps; true when nothing has helped for long.
func (s *search) polish(r *Result, steps int) bool {
	sub := newSearch(s.core, newPlan(s.core))
	for range steps {
		if r.Stale >= patience || len(s.nodes) == 0 {
			return true
		}
		r.Steps++
		r.Stale++
		copy(sub.values.worth, s.values.worth)
		if s.retry(sub, uint64(r.Steps)) {
			r.Stale = 0
			s.revalue(s.values)
		}
	}
	return r.Stale >= patience || len(s.nodes) == 0
}

// retry takes some nodes apart and packs them again; true if that was cheaper.
func (s *search) retry(sub *search, step uint64) bool {
	taken := s.choose(step)
	sub.nodes = sub.nodes[:0]
	clear(sub.left)
	copy(sub.nodesLeft, s.nodesLeft)
	var cost quantity.Money
	sub.cost, sub.large = 0, false
	for _, i := range taken {
		n := &s.nodes[i]
		col := &s.supply.columns[n.column]
		for _, p := range n.pieces {
			sub.left[p.kind] += p.count
			sub.large = sub.large || s.demand.kinds[p.kind].large
		}
		if col.nodes >= 0 {
			sub.nodesLeft[col.offer]++
		}
		cost = addMoney(cost, col.price, 1)
	}
	sub.tight = tightness[step%uint64(len(tightness))]
	if step%2 == 1 {
		sub.begin(s, taken, step)
	}
	sub.run(sub.tight, false)
	if sub.cost >= cost || slices.ContainsFunc(sub.left, func(n int64) bool { return n > 0 }) {
		return false
	}
	for _, i := range taken {
		s.nodes[i].copies--
	}
	s.nodes = slices.DeleteFunc(s.nodes, func(n node) bool { return n.copies == 0 })
	s.nodes = append(s.nodes, sub.nodes...)
	copy(s.nodesLeft, sub.nodesLeft)
	s.cost += sub.cost - cost
	return true
}

// begin fills one node of the cheapest column that holds all that was taken, or
// else of any: the first choice of the search is not always the best.
func (s *search) begin(from *search, taken []int, step uint64) {
	s.values.set(s.pricesFor(s.left, 0, someGroups), s.left)
	all := make([]int64, len(s.resources.dims))
	for _, i := range taken {
		for d, n := range from.nodes[i].used {
			all[d] += n
		}
	}
	at := slices.IndexFunc(s.supply.columns, func(col column) bool { return !col.large && fit(all, col.room) })
	if at < 0 || step%4 == 3 {
		at = int(step / 4 % uint64(len(s.supply.columns)))
	}
	if !s.usable(at) {
		return
	}
	f := &s.cache[at]
	s.filler.fill(&s.supply.columns[at], s.left, s.supply.columns[at].large, f)
	if len(f.pieces) > 0 {
		s.plan.buy(s.rightSize(at, f, 1), f, 1)
	}
}

// choose picks different nodes, one copy of each: the first few of the order
// more often than the last.
func (s *search) choose(step uint64) []int {
	next := func(n uint64) uint64 {
		step++
		return random.At(0, step) % n
	}
	all := uint64(len(s.nodes))
	size := 2 + next(min(14, all))
	var taken []int
	for range size {
		at := next(all)
		if next(4) > 0 {
			at = at * next(all) / all
		}
		if !slices.Contains(taken, int(at)) {
			taken = append(taken, int(at))
		}
	}
	slices.Sort(taken)
	return taken
}
