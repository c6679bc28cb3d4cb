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
	fewBig      = 8       // kinds in one linear program at least, however many kinds there are
	cubes       = 1 << 24 // big kinds, times the cube of the kinds in one program: takes about patternWork
	maxContents = 8192    // contents in one linear program
	patternWork = 1 << 22 // about 20 ms
	nearlyOne   = 700     // 1024ths of a node that are rounded up
)

// patterns packs big pods. Where two or three fill a node, the pods that go
// together matter, and prices of resources do not know them. But then few contents
// are possible: a linear program over all contents says how many nodes to buy with
// each.
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

	big     []int           // kinds of this linear program; contents have them as rows
	found   []price.Content // of all contents, the ones that some column holds
	column  []int           // per content found, the cheapest column that holds it
	current content         // scratch of extend
}

// content is what a node could hold of big pods. Pods come and go one at a time.
type content struct {
	rows  []int   // kinds, in rising order
	count []int64 // of each row
	used  []int64 // per dimension
}

// enter adds a pod. Its row is the last one or comes behind it.
func (c *content) enter(row int, need []int64) {
	for d, n := range need {
		c.used[d] += n
	}
	if last := len(c.rows) - 1; last >= 0 && c.rows[last] == row {
		c.count[last]++
		return
	}
	c.rows, c.count = append(c.rows, row), append(c.count, 1)
}

// leave removes the pod that entered last.
func (c *content) leave(need []int64) {
	for d, n := range need {
		c.used[d] -= n
	}
	last := len(c.rows) - 1
	if c.count[last]--; c.count[last] == 0 {
		c.rows, c.count = c.rows[:last], c.count[:last]
	}
}

// has is how many pods of the row, which is the last one or comes behind it, are in.
func (c *content) has(row int) int64 {
	if last := len(c.rows) - 1; last >= 0 && c.rows[last] == row {
		return c.count[last]
	}
	return 0
}

// manyBigPods says whether big pods are a good part of the worth of all. Where they
// are not, small pods fill the room that big pods leave. Where an offer has limited
// nodes, the other searches are better: they use those nodes for what is worth most.
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

// bigKinds are the kinds of which no node has room for more than a few. Kinds with
// roles are left to other methods, because every content would have to be checked
// against the rules. A resource that counts nodes is not room.
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

// packBig places big pods, and small pods that fit beside them.
func packBig(c *core, pl *plan, v *values, f *filler) {
	big := slices.DeleteFunc(c.bigKinds(), func(k int) bool { return pl.left[k] == 0 })
	p := patterns{
		kinds: c.demand.kinds, columns: c.supply.columns, largest: c.resources.largest, plan: pl, values: v, filler: f, trace: &c.trace,
		most: manyBig, work: patternWork, current: content{used: make([]int64, len(c.resources.dims))},
	}
	for p.most > fewBig && len(big)*p.most*p.most*p.most > cubes {
		p.most--
	}
	p.pack(big)
}

// pack places the kinds. Too many kinds are halved: every second one goes to each
// half, so that both halves have all sizes.
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

// extend lists the contents that have one pod and more beside the current content,
// of kinds from the given row on. No column before the given one holds the current
// content. extend returns false where there are too many contents.
func (p *patterns) extend(from, column int) bool {
	now := &p.current
	for row := from; row < len(p.big); row++ {
		if !p.admits(row) {
			continue
		}
		need := p.kinds[p.big[row]].need
		now.enter(row, need)
		ok, to := true, p.holder(column)
		if to < len(p.columns) {
			p.found = append(p.found, price.Content{Rows: slices.Clone(now.rows), Count: slices.Clone(now.count), Price: p.columns[to].price})
			p.column = append(p.column, to)
			ok = len(p.found) <= maxContents && p.extend(row, to)
		}
		now.leave(need)
		if !ok {
			return false
		}
	}
	return true
}

// admits says whether one more pod of the row is left, and no resource of the
// current content with it is more than any column has. The first pod of a row counts
// as left: price.Cover leaves out contents that nothing is left for.
func (p *patterns) admits(row int) bool {
	k := p.big[row]
	if n := p.current.has(row); n > 0 && n == p.plan.left[k] {
		return false
	}
	for d, n := range p.kinds[k].need {
		if n > p.largest[d]-p.current.used[d] {
			return false
		}
	}
	return true
}

// holder is the first, and so the cheapest, column from the given one on that holds
// the current content.
func (p *patterns) holder(from int) int {
	for i := from; i < len(p.columns); i++ {
		col := &p.columns[i]
		if !col.large && fit(p.current.used, col.room) && !slices.ContainsFunc(p.current.rows, func(row int) bool { return !col.takes(&p.kinds[p.big[row]]) }) {
			return i
		}
	}
	return len(p.columns)
}

// round asks the linear program once, with the contents that enough pods are left
// for. It buys the whole nodes that the program would buy, and parts of nodes that
// are nearly whole. Where these are none, it buys the largest part as a node. It
// returns false when nothing was bought.
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

// buyContent buys n nodes with the content, or as many as pods are left for. It
// fills their free room with kinds that are not big.
func (p *patterns) buyContent(i int, n int64) bool {
	c := &p.found[i]
	f := filling{used: make([]int64, len(p.largest))}
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
