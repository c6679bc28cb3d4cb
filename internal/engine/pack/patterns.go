package pack

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const (
	// A kind is big if every node worth its price holds at most manyPods of its pods. If
	// more than manyBig kinds are big by that, a kind is big only if every node holds
	// at most fewPods of its pods.
	fewPods  = 4
	manyPods = 128

	manyBig   = 64  // kinds in one linear program
	nearlyOne = 900 // 1024ths of a node that are rounded up

	// The work of one search by patterns, in steps of the search for contents. A pivot
	// takes as long as some hundreds of them. Kinds for one linear program seldom
	// need it all.
	patternSteps = 11_000_000
	pivotSteps   = 500
)

// patterns packs pods of which few fit a node. There the pods that fit together
// matter, and prices of resources do not know them. A linear program over whole
// contents of nodes says how many nodes to buy with each.
type patterns struct {
	core   *core
	plan   *plan
	values *values
	filler *filler
	all    []int           // big kinds
	known  []price.Content // contents that the linear program has found so far
}

// bigPods lists the big kinds where they are a good part of the worth of all. Where
// they are not, small pods fill the room that big pods leave. Where an offer has
// limited nodes, the other searches are better: they use those nodes for what is worth
// most.
func (c *core) bigPods(prices price.Prices, all quantity.Money) []int {
	if slices.ContainsFunc(c.supply.columns, func(col column) bool { return col.nodes >= 0 }) {
		return nil
	}
	big := c.bigKinds(prices)
	var sum quantity.Money
	for _, k := range big {
		kd := &c.demand.kinds[k]
		sum = sum.Add(quantity.Money(worth(kd.need, prices, prices.Of[k])).Times(kd.count))
	}
	if sum <= all/4 {
		return nil
	}
	return big
}

// bigKinds are the kinds of which few fit a node. A resource that counts nodes is not
// room.
func (c *core) bigKinds(prices price.Prices) []int {
	var big, huge []int
	for k := range c.demand.kinds {
		kd := &c.demand.kinds[k]
		need := kd.need
		if c.resources.single >= 0 {
			need = need[:len(need)-1]
		}
		if !c.whole(kd) {
			continue
		}
		most, bought := int64(0), int64(0)
		for i := range c.supply.columns {
			col := &c.supply.columns[i]
			n := room(need, col.room)
			if col.large || n <= bought || !col.takes(kd) {
				continue
			}
			most = max(most, n)
			if int64(worth(col.room, prices, prices.Of[k])) >= col.price-col.price/10 {
				bought = n
			}
		}
		if most <= fewPods {
			huge = append(huge, k)
		}
		if bought <= manyPods {
			big = append(big, k)
		}
	}
	if len(big) > manyBig {
		return huge
	}
	return big
}

// whole says whether contents may have pods of the kind. Kinds with roles are left to
// other methods, because every content would have to be checked against the rules. So
// are kinds that prices count to another place, where they may not run.
func (c *core) whole(k *kind) bool {
	d := &c.demand
	return !k.large && k.roles == nil && d.first[k.shape+1]-d.first[k.shape] == 1 && d.shapes[k.shape].Signature == k.where
}

// pack places the kinds, and small pods that fit beside them. Too many kinds are
// halved: each half gets every second one, so that both halves have all sizes.
// Of the work, the first half gets no more than half.
func (p *patterns) pack(big []int, until int) {
	if len(big) > manyBig {
		var halves [2][]int
		for i, k := range big {
			halves[i%2] = append(halves[i%2], k)
		}
		p.pack(halves[0], p.work()+(until-p.work())/2)
		p.pack(halves[1], until)
		return
	}
	for p.known = nil; p.work() < until && p.round(big); {
	}
}

// work is what the linear programs of the core have taken so far, in steps.
func (p *patterns) work() int { return p.core.trace.Contents + pivotSteps*p.core.trace.Pivots }

// round asks the linear program once. It buys the whole nodes that the program would
// buy, and parts of nodes that are nearly whole. Where these are none, it buys the
// largest part as a node. It returns false when nothing was bought.
func (p *patterns) round(big []int) bool {
	asked := slices.Clone(p.plan.left)
	for _, k := range p.all {
		asked[k] = 0
	}
	for _, k := range big {
		asked[k] = p.plan.left[k]
	}
	prices := p.core.ask(p.plan, question{left: asked, whole: manyBig, big: big, known: p.known})
	p.known = prices.Known
	order := prices.Contents
	slices.SortStableFunc(order, func(a, b price.Content) int { return cmp.Compare(b.Amount%1024, a.Amount%1024) })
	bought := false
	for i := range order {
		bought = p.buyContent(big, &order[i], order[i].Amount/1024) || bought
	}
	for i := range order {
		if !bought || order[i].Amount%1024 >= nearlyOne {
			bought = p.buyContent(big, &order[i], 1) || bought
		}
	}
	return bought
}

// buyContent buys n nodes with the content, or as many as pods are left for. It
// fills their free room with kinds of other linear programs.
func (p *patterns) buyContent(big []int, c *price.Content, n int64) bool {
	d := &p.core.demand
	f := filling{used: make([]int64, len(p.core.resources.dims))}
	each := slices.Clone(p.plan.left)
	for _, k := range big {
		each[k] = 0
	}
	for j, shape := range c.Classes {
		k := d.first[shape]
		n = min(n, p.plan.left[k]/c.Count[j])
		f.pieces = append(f.pieces, piece{k, c.Count[j]})
		for r, need := range d.kinds[k].need {
			f.used[r] += need * c.Count[j]
		}
	}
	if n <= 0 {
		return false
	}
	f.worth = p.values.of(f.pieces)
	for k := range each {
		each[k] /= n
	}
	p.filler.add(&p.plan.columns[c.Offer], each, &f)
	at := p.plan.rightSize(c.Offer, &f, n)
	p.plan.buy(at, &f, n)
	return true
}
