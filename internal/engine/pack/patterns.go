package pack

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Limits of the search by patterns. Its work is contents looked at in linear
// programs, and the squares of their rows, for every pivot.
const (
	few         = 4       // pods of a big kind that a node holds at most
	manyBig     = 64      // kinds in one linear program
	fewBig      = 8       // the same where there are so many that all could not have their turn
	cubes       = 1 << 24 // kinds, times the cube of how many are in one program: about patternWork
	maxContents = 8192    // contents in one linear program
	patternWork = 1 << 22 // about 20 ms
	nearlyOne   = 700     // 1024ths of a node that are rounded up
)

// patterns packs big pods: where two or three fill a node, what matters is which
// go together, and resources' prices do not know that. But few contents are
// possible then: a linear program over all of them says how many nodes to buy
// with which.
type patterns struct {
	kinds   []kind
	columns []column
	largest []int64 // per dimension, the most that a column has
	plan    *plan
	values  *values
	filler  *filler
	trace   *Trace
	most    int // kinds in one linear program
	work    int // left of patternWork

	big    []int           // kinds of this linear program; contents have them as rows
	found  []price.Content // of all contents, the ones that some column holds
	column []int           // per content found, the cheapest column that holds it

	used  []int64 // the content that extend is at: this and the next two
	rows  []int
	count []int64
}

// manyBigPods says whether a good part of the worth of all is big pods. Where it is not, the
// others fill what these leave. What there is only so much of is best given out
// by worth.
func (c *core) manyBigPods(prices price.Prices, all quantity.Money) bool {
	if slices.ContainsFunc(c.supply.columns, func(col column) bool { return col.nodes >= 0 }) {
		return false
	}
	var sum quantity.Money
	for _, k := range c.bigKinds() {
		sum = addMoney(sum, int64(worth(c.demand.kinds[k].need, prices, prices.Of[k])), c.demand.kinds[k].count)
	}
	return sum > all/4
}

// bigKinds are those of which no node has room for more than a few, whatever a
// rule says of them. Rules would have to be looked at in every content, so kinds
// with roles are left to others.
func (c *core) bigKinds() []int {
	var big []int
	for k := range c.demand.kinds {
		kd := &c.demand.kinds[k]
		need := kd.need
		if c.resources.single >= 0 {
			need = need[:len(need)-1]
		}
		if !kd.large && kd.roles == nil && !slices.ContainsFunc(c.supply.columns, func(col column) bool {
			return !col.large && room(need, col.room) > few && col.takes(kd)
		}) {
			big = append(big, k)
		}
	}
	return big
}

// packBig places big pods, and in the same nodes what fits beside them.
func packBig(c *core, pl *plan, v *values, f *filler) {
	big := slices.DeleteFunc(c.bigKinds(), func(k int) bool { return pl.left[k] == 0 })
	p := patterns{
		kinds: c.demand.kinds, columns: c.supply.columns, largest: c.resources.largest, plan: pl, values: v, filler: f, trace: &c.trace,
		most: manyBig, work: patternWork, used: make([]int64, len(c.resources.dims)),
	}
	for p.most > fewBig && len(big)*p.most*p.most*p.most > cubes {
		p.most--
	}
	p.pack(big)
}

// pack takes the kinds apart where they are too many: every second one, so that
// either half has some of all sizes.
func (p *patterns) pack(big []int) {
	if p.work <= 0 || len(big) == 0 {
		return
	}
	p.big, p.found, p.column = big, nil, nil
	if len(big) <= p.most && p.extend(0, 0) {
		for p.round() {
		}
		return
	}
	p.work -= len(p.found)
	var halves [2][]int
	for i, k := range big {
		halves[i%2] = append(halves[i%2], k)
	}
	p.pack(halves[0])
	p.pack(halves[1])
}

// extend lists the contents that are the present one and more, of kinds from the
// given one on; no column before the given one holds the present one. It returns
// false where there are too many.
func (p *patterns) extend(from, column int) bool {
	for row := from; row < len(p.big); row++ {
		if !p.enterOne(row) {
			continue
		}
		ok, to := true, p.holder(column)
		if to < len(p.columns) {
			p.found = append(p.found, price.Content{Rows: slices.Clone(p.rows), Count: slices.Clone(p.count), Price: p.columns[to].price})
			p.column = append(p.column, to)
			ok = len(p.found) <= maxContents && p.extend(row, to)
		}
		p.leaveOne()
		if !ok {
			return false
		}
	}
	return true
}

// enterOne adds a pod to the content; false where there is none, or where it is
// more than any column has.
func (p *patterns) enterOne(row int) bool {
	last, kd := len(p.rows)-1, &p.kinds[p.big[row]]
	again := last >= 0 && p.rows[last] == row
	if again && p.count[last] == p.plan.left[p.big[row]] {
		return false
	}
	for d, n := range kd.need {
		if n > p.largest[d]-p.used[d] {
			return false
		}
	}
	for d, n := range kd.need {
		p.used[d] += n
	}
	if again {
		p.count[last]++
	} else {
		p.rows, p.count = append(p.rows, row), append(p.count, 1)
	}
	return true
}

// leaveOne takes the last pod out again.
func (p *patterns) leaveOne() {
	last := len(p.rows) - 1
	for d, n := range p.kinds[p.big[p.rows[last]]].need {
		p.used[d] -= n
	}
	if p.count[last]--; p.count[last] == 0 {
		p.rows, p.count = p.rows[:last], p.count[:last]
	}
}

// holder is the first column from the given one on that holds the content, which
// is the cheapest.
func (p *patterns) holder(from int) int {
	for i := from; i < len(p.columns); i++ {
		col := &p.columns[i]
		if !col.large && fit(p.used, col.room) && !slices.ContainsFunc(p.rows, func(row int) bool { return !col.takes(&p.kinds[p.big[row]]) }) {
			return i
		}
	}
	return len(p.columns)
}

// round buys the whole nodes that the linear program would buy, and those that it
// would buy nearly, or else the one that it is nearest to; false when there was
// nothing to buy. What is left is asked about again, with the contents that it
// still has the pods for.
func (p *patterns) round() bool {
	demand := make([]int64, len(p.big))
	for row, k := range p.big {
		demand[row] = p.plan.left[k]
	}
	each := len(p.found) + len(p.big)*len(p.big)
	amounts, pivots := price.Cover(demand, p.found, p.work/each)
	p.work -= (pivots + 1) * each
	p.trace.Pivots += pivots
	var order []int
	for i, n := range amounts {
		if n > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(amounts[b]%1024, amounts[a]%1024) })
	bought := false
	for _, i := range order {
		bought = p.buyContent(i, amounts[i]/1024) || bought
	}
	for _, i := range order {
		if !bought || amounts[i]%1024 >= nearlyOne {
			bought = p.buyContent(i, 1) || bought
		}
	}
	return bought
}

// buyContent buys n nodes with the content, or as many as there are pods for, and
// fills up what it leaves with kinds that are not big.
func (p *patterns) buyContent(i int, n int64) bool {
	c := &p.found[i]
	f := filling{used: make([]int64, len(p.used))}
	for j, row := range c.Rows {
		k, count := p.big[row], c.Count[j]
		n = min(n, p.plan.left[k]/count)
		f.pieces = append(f.pieces, piece{k, count})
		for d, need := range p.kinds[k].need {
			f.used[d] += need * count
		}
	}
	if n <= 0 {
		return false
	}
	f.worth = p.values.of(f.pieces)
	each := make([]int64, len(p.plan.left))
	for k, left := range p.plan.left {
		each[k] = left / n
	}
	for _, k := range p.big {
		each[k] = 0
	}
	p.filler.add(&p.columns[p.column[i]], each, &f)
	p.plan.buy(p.column[i], &f, n)
	return true
}
