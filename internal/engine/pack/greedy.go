package pack

import (
	"cmp"
	"slices"
)

// refills is how many columns a round of greedy tries, and more until one holds
// something.
const refills = 10

// greedy fills bins one pattern at a time. It knows for each column how little
// a full node, or the last filling, costs for its worth. It fills the most
// promising columns with what is left, and buys the best filling as often as
// the kinds allow.
type greedy struct {
	supply *supply
	plan   *plan
	values *values
	filler *filler
	last   []filling // per column, the last filling
	right  []int     // per column, the column that the last filling shrinks to
	fresh  []bool    // per column: it was tried in this round
}

func newGreedy(c *core, p *plan, v *values, f *filler) greedy {
	n := len(c.supply.columns)
	return greedy{supply: &c.supply, plan: p, values: v, filler: f, last: make([]filling, n), right: make([]int, n), fresh: make([]bool, n)}
}

// fill places what is left. With large, it only fills bins with kinds that fit
// nothing smaller.
func (g *greedy) fill(large bool) {
	g.fillColumns(g.byPrice(false), large)
	if slices.ContainsFunc(g.plan.left, func(n int64) bool { return n > 0 }) {
		g.fillColumns(g.byPrice(true), large) // perhaps only a column outside the sample holds it
	}
}

func (g *greedy) fillColumns(order []int, large bool) {
	for i := range g.last {
		g.last[i].pieces = g.last[i].pieces[:0]
		g.last[i].worth = max(1, g.values.full[i])
		g.right[i] = i
	}
	for {
		best := g.round(order, large)
		if best < 0 {
			return
		}
		to, f := g.right[best], &g.last[best]
		g.plan.buy(to, f, g.plan.atMost(&g.supply.columns[to], g.plan.copies(f.pieces)))
	}
}

// round tries the most promising columns and returns the one with the best filling.
// It returns -1 where no column holds anything.
func (g *greedy) round(order []int, large bool) int {
	clear(g.fresh)
	best := -1
	for tried := 0; tried < refills || best < 0; tried++ {
		i := g.promising(order, best)
		if i < 0 {
			break
		}
		g.fresh[i] = true
		f := &g.last[i]
		if g.plan.copies(f.pieces) == 0 || !g.plan.usable(g.right[i]) {
			g.filler.fill(&g.supply.columns[i], g.plan.left, large, f)
			g.right[i] = g.plan.rightSize(i, f, 1)
		}
		if len(f.pieces) > 0 && (best < 0 || g.cheaper(i, best)) {
			best = i
		}
	}
	return best
}

// promising is the column that looks cheapest for its worth, of the columns that
// were not tried. It is -1 where none looks cheaper than the best. A last filling
// without worth says that the column holds nothing any more.
func (g *greedy) promising(order []int, best int) int {
	at := best
	for _, i := range order {
		if !g.fresh[i] && g.last[i].worth > 0 && g.plan.usable(i) && (at < 0 || g.cheaper(i, at)) {
			at = i
		}
	}
	if at == best {
		return -1
	}
	return at
}

// byPrice orders columns by what they cost for the most that they could hold: the
// sample, or all.
func (g *greedy) byPrice(all bool) []int {
	columns := g.supply.columns
	order := make([]int, 0, len(columns))
	for i := range columns {
		if all || g.supply.sample[i] {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		fa, fb := g.values.full[a], g.values.full[b]
		switch {
		case dearer(columns[a].price, fa, columns[b].price, fb):
			return 1
		case dearer(columns[b].price, fb, columns[a].price, fa):
			return -1
		}
		return cmp.Compare(fb, fa)
	})
	return order
}

// cheaper compares the last fillings of two columns, each shrunk.
func (g *greedy) cheaper(i, j int) bool {
	pi, pj := g.supply.columns[g.right[i]].price, g.supply.columns[g.right[j]].price
	wi, wj := g.last[i].worth, g.last[j].worth
	if dearer(pj, wj, pi, wi) {
		return true
	}
	return !dearer(pi, wi, pj, wj) && wi > wj
}
