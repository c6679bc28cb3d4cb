package pack

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/random"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const (
	futileSteps  = 600 // steps without success after which polishing is done
	defaultSteps = 64  // of polishing where nobody says how many
	smallFleet   = 48  // nodes up to which Solve polishes too
	touchWork    = 800 // kinds times steps of that polishing
)

// Polish unpacks a few nodes, packs their content again, and keeps the cheaper
// nodes. It chooses nodes that hold little for their price more often than others.
// It never makes a result worse. Its steps depend on nothing but the problem and
// the result, so many short runs end where one long run does. It is done when
// nothing has helped for long.
func Polish(p Problem, r Result, limit Work) (Result, bool) {
	c := newCore(&p)
	c.joinPlaces()
	prices, all := c.priceAll(&r)
	best, v := newPlan(c), newValues(c)
	v.set(prices, best.left)
	best.restore(r.nodes)
	steps := limit.Trials
	if steps <= 0 {
		steps = defaultSteps
	}
	done := newPolish(c, best, v, all).run(&r, steps)
	return c.result(best, r, prices), done
}

// touchUp polishes a small fleet, where one node is a large part of the cost.
func (c *core) touchUp(p *plan, all whole) {
	n := int64(0)
	for i := range p.nodes {
		n += p.nodes[i].copies
	}
	if n > smallFleet {
		return
	}
	placed, v := make([]int64, len(p.kinds)), newValues(c)
	for k := range placed {
		placed[k] = p.kinds[k].count - p.left[k]
	}
	v.set(c.ask(p, question{left: placed}), placed)
	var r Result
	newPolish(c, p, v, all).run(&r, max(4, min(32, touchWork/max(1, len(p.kinds)))))
}

// polish improves a plan step by step. It owns the search that packs a few nodes
// again.
type polish struct {
	plan    *plan
	values  *values // of the pods in the whole plan
	sub     *search
	filling filling // scratch of begin
}

// newPolish also brings the nodes of the plan into order.
func newPolish(c *core, p *plan, v *values, all whole) *polish {
	p.revalue(v)
	return &polish{plan: p, values: v, sub: newSearch(c, newPlan(c), all, false)}
}

// run makes up to so many steps. It returns true when nothing has helped for long.
func (p *polish) run(r *Result, steps int) bool {
	for range steps {
		if r.Stale >= futileSteps || len(p.plan.nodes) == 0 {
			return true
		}
		r.Steps++
		r.Stale++
		if p.retry(uint64(r.Steps)) {
			r.Stale = 0
			p.plan.revalue(p.values)
		}
	}
	return r.Stale >= futileSteps || len(p.plan.nodes) == 0
}

// retry packs the content of some nodes again. It returns true if that was cheaper.
func (p *polish) retry(step uint64) bool {
	taken := p.choose(step)
	cost := p.unpack(taken)
	if step%2 == 1 {
		p.begin(taken, step)
	}
	sub := p.sub.plan
	p.sub.run(tightness[step%uint64(len(tightness))], nil)
	if sub.cost >= cost || slices.ContainsFunc(sub.left, func(n int64) bool { return n > 0 }) {
		return false
	}
	for _, i := range taken {
		p.plan.nodes[i].copies--
	}
	p.plan.nodes = slices.DeleteFunc(p.plan.nodes, func(n node) bool { return n.copies == 0 })
	p.plan.nodes = append(p.plan.nodes, sub.nodes...)
	copy(p.plan.nodesLeft, sub.nodesLeft)
	p.plan.cost += sub.cost - cost
	return true
}

// unpack gives the search the pods of the nodes to place, and nothing else. It
// returns what the nodes cost.
func (p *polish) unpack(taken []int) quantity.Money {
	copy(p.sub.values.worth, p.values.worth)
	sub := p.sub.plan
	sub.nodes, sub.cost, sub.large = sub.nodes[:0], 0, false
	clear(sub.left)
	copy(sub.nodesLeft, p.plan.nodesLeft)
	var cost quantity.Money
	for _, i := range taken {
		n := &p.plan.nodes[i]
		col := &p.plan.columns[n.column]
		for _, x := range n.pieces {
			sub.left[x.kind] += x.count
			sub.large = sub.large || p.plan.kinds[x.kind].large
		}
		if col.nodes >= 0 {
			sub.nodesLeft[col.offer]++
		}
		cost = cost.Add(quantity.Money(col.price))
	}
	return cost
}

// begin buys the first node, because the first choice of a search is not always the
// best. The node is of the cheapest column that holds all that was unpacked, or of
// any column.
func (p *polish) begin(taken []int, step uint64) {
	p.sub.steer(0, someGroups, 0)
	sub, columns := p.sub.plan, p.plan.columns
	all := make([]int64, len(p.sub.core.resources.dims))
	for _, i := range taken {
		for d, n := range p.plan.nodes[i].used {
			all[d] += n
		}
	}
	at := slices.IndexFunc(columns, func(col column) bool { return !col.large && quantity.Fits(all, col.room) })
	if at < 0 || step%4 == 3 {
		at = int(step / 4 % uint64(len(columns)))
	}
	if !sub.usable(at) {
		return
	}
	f := &p.filling
	p.sub.filler.fill(&columns[at], sub.left, columns[at].large, f)
	if len(f.pieces) > 0 {
		sub.buy(sub.rightSize(at, f, 1), f, 1)
	}
}

// choose picks different nodes, of which one copy is to be unpacked: nodes early in
// the order more often than late ones.
func (p *polish) choose(step uint64) []int {
	next := func(n uint64) uint64 {
		step++
		return random.At(0, step) % n
	}
	all := uint64(len(p.plan.nodes))
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
