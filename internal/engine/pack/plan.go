package pack

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// plan is a choice of nodes in the making: the nodes so far, their cost, and the
// pods and nodes that are left.
type plan struct {
	kinds     []kind
	columns   []column
	trace     *Trace
	left      []int64 // pods per kind
	nodesLeft []int64 // per offer, < 0 without a limit
	nodes     []node
	cost      quantity.Money
	large     bool // large offers may be used
}

// node is a number of bins with equal content.
type node struct {
	column int
	filling
	copies int64
}

// newPlan has no nodes yet.
func newPlan(c *core) *plan {
	p := &plan{
		kinds: c.demand.kinds, columns: c.supply.columns, trace: &c.trace,
		left: make([]int64, len(c.demand.kinds)), nodesLeft: make([]int64, len(c.p.Offers)),
	}
	for k := range p.kinds {
		p.left[k] = p.kinds[k].count
		p.large = p.large || p.kinds[k].large
	}
	for i := range c.p.Offers {
		p.nodesLeft[i] = c.p.Offers[i].Nodes
	}
	return p
}

// restore buys what an earlier plan for all pods has bought.
func (p *plan) restore(nodes []node) {
	rounds := p.trace.Rounds
	for i := range nodes {
		p.buy(nodes[i].column, &nodes[i].filling, nodes[i].copies)
	}
	p.trace.Rounds, p.large = rounds, false
}

// buy adds n nodes of the column with the content.
func (p *plan) buy(column int, f *filling, n int64) {
	p.trace.Rounds++
	for _, x := range f.pieces {
		p.left[x.kind] -= x.count * n
	}
	col := &p.columns[column]
	if col.nodes >= 0 {
		p.nodesLeft[col.offer] -= n
	}
	p.nodes = append(p.nodes, node{column, filling{slices.Clone(f.pieces), slices.Clone(f.used), f.worth}, n})
	p.cost = p.cost.Add(quantity.Money(col.price).Times(n))
}

// usable says whether one more node of the column may be bought.
func (p *plan) usable(column int) bool {
	col := &p.columns[column]
	return (p.large || !col.large) && p.has(col, 1)
}

// has says whether n nodes of the column are left.
func (p *plan) has(col *column, n int64) bool {
	return col.nodes < 0 || p.nodesLeft[col.offer] >= n
}

// atMost is n, or as many nodes of the column as are left.
func (p *plan) atMost(col *column, n int64) int64 {
	if col.nodes >= 0 {
		n = min(n, p.nodesLeft[col.offer])
	}
	return n
}

// rightSize is the cheapest usable column that holds n fillings of the column.
func (p *plan) rightSize(of int, f *filling, n int64) int {
	for i := range p.columns[:of] {
		col := &p.columns[i]
		if quantity.Fits(f.used, col.room) && p.usable(i) && p.has(col, n) &&
			!slices.ContainsFunc(f.pieces, func(x piece) bool { return !col.takes(&p.kinds[x.kind]) }) {
			return i
		}
	}
	return of
}

// copies is how many nodes with the content the pods that are left fill.
func (p *plan) copies(pieces []piece) int64 {
	if len(pieces) == 0 {
		return 0
	}
	n := int64(maxCount)
	for _, x := range pieces {
		n = min(n, p.left[x.kind]/x.count)
	}
	return n
}

// untouched says whether all pods are left.
func (p *plan) untouched() bool {
	for k := range p.kinds {
		if p.left[k] < p.kinds[k].count {
			return false
		}
	}
	return true
}

// better prefers the plan that leaves less, then the plan that costs less.
func (p *plan) better(o *plan) bool {
	for k := range p.left {
		if p.left[k] != o.left[k] {
			return p.left[k] < o.left[k]
		}
	}
	return p.cost < o.cost
}

// revalue gives all nodes their worth by the values, and brings them into an
// order that depends on their content alone.
func (p *plan) revalue(v *values) {
	for i := range p.nodes {
		n := &p.nodes[i]
		slices.SortFunc(n.pieces, func(a, b piece) int { return cmp.Compare(a.kind, b.kind) })
		n.worth = v.of(n.pieces)
	}
	p.arrange()
}

// arrange puts the nodes that hold least for their price first, and merges equal
// nodes.
func (p *plan) arrange() {
	slices.SortFunc(p.nodes, func(a, b node) int {
		pa, pb := p.columns[a.column].price, p.columns[b.column].price
		switch {
		case dearer(pa, a.worth, pb, b.worth):
			return -1
		case dearer(pb, b.worth, pa, a.worth):
			return 1
		}
		return cmp.Or(cmp.Compare(a.column, b.column), slices.CompareFunc(a.pieces, b.pieces, func(x, y piece) int {
			return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.count, y.count))
		}))
	})
	rest := p.nodes[:0]
	for _, n := range p.nodes {
		if last := len(rest) - 1; last >= 0 && rest[last].column == n.column && slices.Equal(rest[last].pieces, n.pieces) {
			rest[last].copies += n.copies
			continue
		}
		rest = append(rest, n)
	}
	p.nodes = rest
}
