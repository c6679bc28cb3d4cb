package price

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/knapsack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Content is what a node of an offer holds of the classes that are counted whole.
type Content struct {
	Offer   int
	Classes []int // each once
	Count   []int64
	Amount  int64 // so many nodes the linear program would buy, in 1024ths, rounded down
}

// Limits of the search for contents, so that its time is bounded.
const (
	mostWhole   = 128     // a class that is counted whole has at most so many pods on a node that the program buys
	eachSteps   = 5_000   // in the contents of one offer at one time
	allSteps    = 600_000 // in one linear program
	contentsMax = 4_096
	slack       = 5e-4 // a content that is worth so little more than its node, for its price, is not looked at
)

// whole is the classes of a part that are counted whole: each has a row of its own in
// the linear program, beside the resources that its pods need. What a pod of the class
// is worth there is its surcharge. Then the offers come with contents: a node is worth
// its room at the prices of resources, and the surcharges of the pods that it holds.
type whole struct {
	classes   []int
	surcharge []float64 // per class, nano-dollars an hour for each pod
	contents  []Content // the ones that the program would buy
	known     []Content // all that it knows
}

// chooseWhole picks the classes that leave much room on the nodes that the program
// buys: of which few fit. A class that an offer with a limit could hold is left out:
// such an offer may stand for the room of many nodes.
func (c *part) chooseWhole() []int {
	type candidate struct {
		class int
		size  float64
	}
	var all []candidate
	for _, g := range c.groups {
		for _, i := range c.model.groups[g].classes {
			if size := c.sizeOn(i); size > 1.0/mostWhole && !c.Classes[i].Divides {
				all = append(all, candidate{i, size * float64(c.Classes[i].Count)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.size, a.size) })
	var out []int
	for _, x := range all[:min(len(all), c.Whole)] {
		out = append(out, x.class)
	}
	slices.Sort(out)
	return out
}

// sizeOn is the part that a pod of the class takes of the largest node that the
// program buys and that could hold it. It is 1 where the program buys none, and 0 where
// none is for sale or an offer with a limit could hold the pod.
func (c *part) sizeOn(class int) float64 {
	x := &c.Classes[class]
	smallest, sold := 1.0, false
	for k, o := range c.offers {
		offer := &c.Offers[o]
		if offer.Limit == 0 || !has(offer.Holds, x.Signature) || !quantity.Fits(x.Need, offer.Capacity) {
			continue
		}
		if offer.Limit > 0 {
			return 0
		}
		sold = true
		if c.used[k] <= tiny {
			continue
		}
		size := 0.0
		for r, n := range x.Need {
			if n > 0 && !c.single[r] {
				size = max(size, float64(n)/float64(offer.Capacity[r]))
			}
		}
		smallest = min(smallest, size)
	}
	if !sold {
		return 0
	}
	return smallest
}

// allWhole says, per group, whether all of its classes are counted whole. Then the
// group needs no prices of resources: contents say more.
func (c *part) allWhole() []bool {
	out := make([]bool, len(c.groups))
	for i, g := range c.groups {
		out[i] = !slices.ContainsFunc(c.model.groups[g].classes, func(k int) bool {
			_, counted := slices.BinarySearch(c.whole.classes, k)
			return !counted
		})
	}
	return out
}

// content is a content with which some column has entered, or could enter, the program.
type content struct {
	offer  int       // place in part.offers
	count  []int64   // per class counted whole; nil for a part of a pod
	amount []float64 // the same in pods
}

// pool is the contents that the program knows. What is in them never changes.
type pool struct {
	kinds  []knapsack.Kind // the classes counted whole, with what they are worth now
	all    []content
	fits   [][]int64 // per offer whose contents are too many to look at: Answer.Fits
	steps  int
	solver knapsack.Solver
}

func newPool(c *part) pool {
	p := pool{fits: make([][]int64, len(c.offers)), steps: allSteps}
	for _, i := range c.whole.classes {
		p.kinds = append(p.kinds, knapsack.Kind{Need: c.Classes[i].Need, Most: c.Classes[i].Count})
	}
	return p
}

// enter adds the contents of an earlier program that are possible now.
func (p *pool) enter(c *part) {
	for i := range c.Known {
		known := &c.Known[i]
		x := content{offer: slices.Index(c.offers, known.Offer), count: make([]int64, len(p.kinds)), amount: make([]float64, len(p.kinds))}
		possible := x.offer >= 0
		for j, class := range known.Classes {
			at, found := slices.BinarySearch(c.whole.classes, class)
			possible = possible && found && known.Count[j] <= p.kinds[at].Most
			if possible {
				x.count[at], x.amount[at] = known.Count[j], float64(known.Count[j])
			}
		}
		if possible {
			p.all = append(p.all, x)
		}
	}
}

// precision is how many parts the dearest node's price has in a search for contents.
const precision = 1 << 40

// find looks, for each offer, for a content that is worth more than the offer costs,
// beside the worth of its room. It returns false where it adds none.
func (p *program) find() bool {
	if len(p.pool.kinds) == 0 {
		return false
	}
	prices := p.lp.Prices()
	known := len(p.pool.all)
	for k, o := range p.offers {
		if p.Offers[o].Limit >= 0 || len(p.pool.all) >= contentsMax {
			continue
		}
		above := float64(p.cost[k]*(1+slack)) - p.rooms[k]
		if fits := p.pool.fits[k]; fits != nil {
			p.findSole(k, fits, above, prices)
			continue
		}
		for i, class := range p.whole.classes {
			p.pool.kinds[i].Worth = 0
			if has(p.Offers[o].Holds, p.Classes[class].Signature) {
				p.pool.kinds[i].Worth = int64(max(0, prices[p.firstWhole+i]) * precision)
			}
		}
		limit := min(eachSteps, p.pool.steps)
		found := p.pool.solver.Best(p.pool.kinds, p.Offers[o].Capacity, max(0, int64(above*precision)), limit)
		p.pool.steps -= found.Steps
		switch {
		case found.Count != nil:
			x := content{offer: k, count: slices.Clone(found.Count), amount: make([]float64, len(found.Count))}
			for i, n := range x.count {
				x.amount[i] = float64(n)
			}
			p.pool.all = append(p.pool.all, x)
		case found.Cut && p.Exact && limit == eachSteps && found.Fits != nil:
			p.pool.fits[k] = slices.Clone(found.Fits)
			for i, class := range p.whole.classes {
				if !has(p.Offers[o].Holds, p.Classes[class].Signature) {
					p.pool.fits[k][i] = 0
				}
			}
			p.findSole(k, p.pool.fits[k], above, prices)
		}
	}
	return len(p.pool.all) > known
}

// findSole adds the kind that is worth most if it has the whole room. The offer has
// too many contents to check. The numbers in fits, an upper bound, replace them.
func (p *program) findSole(k int, fits []int64, above float64, prices []float64) {
	most, at := above, -1
	for i, n := range fits {
		if worth := prices[p.firstWhole+i] * float64(n) / 1024; worth > most {
			most, at = worth, i
		}
	}
	if at < 0 {
		return
	}
	x := content{offer: k, amount: make([]float64, len(fits))}
	x.amount[at] = float64(fits[at]) / 1024
	p.pool.all = append(p.pool.all, x)
}

// bestContent is the known content that is worth most for the price of its node, and -1
// where none is worth more than it costs.
func (p *program) bestContent(most float64) int {
	prices, at := p.lp.Prices(), -1
	for i := range p.pool.all {
		x := &p.pool.all[i]
		worth := p.rooms[x.offer] - p.cost[x.offer]
		for j, n := range x.amount {
			if n > 0 {
				worth += float64(prices[p.firstWhole+j] * n)
			}
		}
		if worth /= max(p.cost[x.offer], 1e-3); worth > most {
			most, at = worth, i
			if p.lp.Stalled() {
				break
			}
		}
	}
	return at
}

// readWhole writes the surcharges and the contents of the result.
func (p *program) readWhole() {
	w := &p.part.whole
	prices := p.lp.Prices()
	w.surcharge = make([]float64, len(w.classes))
	for i := range w.classes {
		w.surcharge[i] = max(0, prices[p.firstWhole+i]) * p.costs
	}
	w.contents, w.known = nil, nil
	p.lp.Amount(func(id int, amount float64) {
		if at := p.contentOf[id]; at >= 0 && p.pool.all[at].count != nil {
			w.contents = append(w.contents, p.content(at))
			w.contents[len(w.contents)-1].Amount = int64(float64(min(amount, 1<<40)*1024) + 1e-6)
		}
	})
	for i := range p.pool.all {
		if p.pool.all[i].count != nil {
			w.known = append(w.known, p.content(i))
		}
	}
}

// content is the content at the place in the pool.
func (p *program) content(at int) Content {
	x := &p.pool.all[at]
	out := Content{Offer: p.offers[x.offer]}
	for i, n := range x.count {
		if n > 0 {
			out.Classes, out.Count = append(out.Classes, p.part.whole.classes[i]), append(out.Count, n)
		}
	}
	return out
}
