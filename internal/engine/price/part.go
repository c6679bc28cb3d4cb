package price

import (
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// part is one connected part of the demand: its groups, the offers that they can
// use, the dimensions that its linear program has rows for, and the result of the
// program.
type part struct {
	*model
	groups []int   // of the model
	offers []int   // that some of the groups can use
	sets   [][]int // distinct sets of groups (places in groups) that an offer holds
	setOf  []int   // per offer, its set

	dims   []Dimension
	boost  []float64   // per dimension, factor on the demand; nil is 1
	prices [][]float64 // per group and dimension, nano-dollars an hour for each unit
	used   []float64   // per offer, how many
	bound  float64
	pivots int
	steps  int
	whole  whole
}

func newPart(m *model, groups []int) *part {
	c := &part{model: m, groups: groups}
	index := map[string]int{}
	var last []int // offer of each set
	var set []int
	var key []byte
	for o := range m.Offers {
		set, key = set[:0], key[:0]
		for i, g := range groups {
			if has(m.groups[g].offers, o) {
				set = append(set, i)
				key = append(key, byte(i), byte(i>>8))
			}
		}
		if len(set) == 0 {
			continue
		}
		s, ok := index[string(key)]
		if !ok {
			s = len(c.sets)
			index[string(key)] = s
			c.sets = append(c.sets, slices.Clone(set))
			last = append(last, o)
		} else if m.Offers[last[s]].beats(&m.Offers[o]) && (m.Whole == 0 || slices.Equal(m.Offers[last[s]].Holds, m.Offers[o].Holds)) {
			continue
		}
		last[s] = o
		c.offers = append(c.offers, o)
		c.setOf = append(c.setOf, s)
	}
	for r := range m.Resources {
		if !m.single[r] && c.demand(Dimension{r, 1}, nil) > 0 { // see count
			c.dims = append(c.dims, Dimension{r, 1})
		}
	}
	return c
}

// beats says whether there is no more in the other for its price.
func (o *Offer) beats(other *Offer) bool {
	return o.Limit < 0 && other.Limit < 0 && o.Price <= other.Price && slices.Equal(o.Capacity, other.Capacity)
}

// demand adds up what the classes need in the dimension. It writes the sums of the
// groups to perGroup unless that is nil.
func (c *part) demand(d Dimension, perGroup []float64) float64 {
	all := 0.0
	for i, g := range c.groups {
		sum := 0.0
		for _, k := range c.model.groups[g].classes {
			if n := c.Classes[k].Need[d.Resource]; n >= d.Unit {
				if d.Unit > 1 {
					n /= d.Unit
				}
				sum += float64(float64(n) * float64(c.Classes[k].Count))
			}
		}
		if perGroup != nil {
			perGroup[i] = sum
		}
		all += sum
	}
	return all
}

// program is the linear program of a part: a row for each group and dimension
// with demand, and one for each offer with a limit.
type program struct {
	*part
	rowOf     []int // per group and dimension, -1 where there is no demand
	scale     []float64
	cover     []float64 // per offer and dimension, scaled
	cost      []float64 // per offer, scaled
	limitOf   []int     // per offer, its row or -1
	costs     float64   // what one scaled unit of cost is
	demand    []float64
	entered   []int // offers by column id
	contentOf []int // contents of the pool by column id, or -1
	lp        *Program
	next      Column // scratch

	best  []float64 // per set and dimension: the highest price, and whose
	whose []int

	firstWhole int // row of the first class that is counted whole
	pool       pool
	rooms      []float64 // scratch: per offer, what its room is worth
}

func (c *part) solve() {
	p := c.newProgram()
	for range maxPivots {
		if p.lp.EnterSurplus() {
			continue
		}
		column, ok := p.price()
		if !ok || !p.lp.Enter(column) {
			break
		}
	}
	c.pivots += p.lp.Pivots
	c.steps += allSteps - p.pool.steps
	p.result()
}

func (c *part) newProgram() *program {
	g, d := len(c.groups), len(c.dims)
	p := &program{
		part: c, rowOf: make([]int, g*d), scale: make([]float64, d), cover: make([]float64, len(c.offers)*d),
		cost: make([]float64, len(c.offers)), limitOf: make([]int, len(c.offers)),
		best: make([]float64, len(c.sets)*d), whose: make([]int, len(c.sets)*d),
	}
	for _, o := range c.offers {
		p.costs = max(p.costs, float64(c.Offers[o].Price))
	}
	p.costs = max(p.costs, 1)
	sums := make([]float64, g)
	allWhole := c.allWhole()
	for j, dim := range c.dims {
		p.scale[j] = float64(max(1, c.largest[dim.Resource]/dim.Unit))
		c.demand(dim, sums)
		for i, sum := range sums {
			p.rowOf[i*d+j] = -1
			if sum > 0 && !allWhole[i] {
				p.rowOf[i*d+j] = len(p.demand)
				if c.boost != nil {
					sum *= c.boost[j]
				}
				p.demand = append(p.demand, sum/p.scale[j])
			}
		}
	}
	limits := 0
	for i, o := range c.offers {
		offer := &c.Offers[o]
		p.cost[i] = float64(offer.Price) / p.costs
		for j, dim := range c.dims {
			p.cover[i*d+j] = float64(offer.Capacity[dim.Resource]/dim.Unit) / p.scale[j]
		}
		p.limitOf[i] = -1
		if offer.Limit > 0 && limits < maxLimits {
			limits++
			p.limitOf[i] = len(p.demand)
			p.demand = append(p.demand, -float64(offer.Limit))
		}
	}
	p.firstWhole = len(p.demand)
	for _, i := range c.whole.classes {
		p.demand = append(p.demand, float64(c.Classes[i].Count))
	}
	p.pool, p.rooms = newPool(c), make([]float64, len(c.offers))
	p.pool.enter(c)
	p.lp = NewProgram(p.demand, p.penalties())
	return p
}

// penalties are above every price that a row could have: what the resource
// costs where it is bought alone.
func (p *program) penalties() []float64 {
	d := len(p.dims)
	out := make([]float64, len(p.demand))
	for i := range p.groups {
		for j := range d {
			row := p.rowOf[i*d+j]
			if row < 0 {
				continue
			}
			lowest := math.Inf(1)
			for k, o := range p.offers {
				if v := p.cover[k*d+j]; v > 0 && p.Offers[o].Limit < 0 && has(p.model.groups[p.part.groups[i]].offers, o) {
					lowest = min(lowest, p.cost[k]/v)
				}
			}
			if math.IsInf(lowest, 1) {
				lowest = 10 // only limited offers: what is short is dear
			}
			out[row] = float64(lowest * 1.001)
		}
	}
	for i, class := range p.whole.classes {
		lowest := math.Inf(1)
		for k, o := range p.offers {
			if x := &p.Classes[class]; p.Offers[o].Limit < 0 && has(p.Offers[o].Holds, x.Signature) && quantity.Fits(x.Need, p.Offers[o].Capacity) {
				lowest = min(lowest, p.cost[k])
			}
		}
		out[p.firstWhole+i] = float64(lowest * 1.001)
	}
	return out
}

// price finds the offer whose content could be worth most for its cost. It returns
// false where no content could be worth more than the cost.
func (p *program) price() (Column, bool) {
	d := len(p.dims)
	prices := p.lp.Prices()
	for s, set := range p.sets {
		for j := range d {
			best, whose := 0.0, -1
			for _, i := range set {
				if row := p.rowOf[i*d+j]; row >= 0 && prices[row] > best {
					best, whose = prices[row], row
				}
			}
			p.best[s*d+j], p.whose[s*d+j] = best, whose
		}
	}
	most, at := tiny, -1
	for k, s := range p.setOf {
		p.rooms[k] = 0
		if p.Offers[p.offers[k]].Limit == 0 || p.Offers[p.offers[k]].Limit > 0 && p.limitOf[k] < 0 {
			continue
		}
		worth := -p.cost[k]
		for j, v := range p.cover[k*d : k*d+d] {
			worth += float64(v * p.best[s*d+j])
		}
		p.rooms[k] = worth + p.cost[k]
		if row := p.limitOf[k]; row >= 0 {
			worth -= prices[row]
		}
		if worth /= max(p.cost[k], 1e-3); worth > most {
			most, at = worth, k
			if p.lp.Stalled() {
				return p.column(at, -1), true
			}
		}
	}
	content := p.bestContent(most)
	if content < 0 && at < 0 && p.find() {
		content = p.bestContent(most)
	}
	switch {
	case content >= 0:
		return p.column(p.pool.all[content].offer, content), true
	case at >= 0:
		return p.column(at, -1), true
	}
	return Column{}, false
}

// column is the offer, with the content of the pool if that is not -1.
func (p *program) column(k, content int) Column {
	d := len(p.dims)
	c := Column{ID: len(p.entered), Rows: p.next.Rows[:0], Cover: p.next.Cover[:0], Cost: p.cost[k]}
	p.entered, p.contentOf = append(p.entered, k), append(p.contentOf, content)
	if content >= 0 {
		for i, n := range p.pool.all[content].amount {
			if n > 0 {
				c.Rows, c.Cover = append(c.Rows, p.firstWhole+i), append(c.Cover, n)
			}
		}
	}
	for j := range d {
		if row := p.whose[p.setOf[k]*d+j]; row >= 0 {
			c.Rows = append(c.Rows, row)
			c.Cover = append(c.Cover, p.cover[k*d+j])
		}
	}
	if row := p.limitOf[k]; row >= 0 {
		c.Rows = append(c.Rows, row)
		c.Cover = append(c.Cover, -1)
	}
	p.next = c
	return c
}

func (p *program) result() {
	c, d := p.part, len(p.dims)
	prices := p.lp.Prices()
	c.bound = float64(p.lp.Cost() * p.costs)
	c.prices = make([][]float64, len(c.groups))
	for i := range c.groups {
		c.prices[i] = make([]float64, d)
		for j := range d {
			if row := p.rowOf[i*d+j]; row >= 0 {
				c.prices[i][j] = max(0, prices[row]) * p.costs / p.scale[j]
			}
		}
	}
	c.used = make([]float64, len(c.offers))
	p.lp.Amount(func(id int, amount float64) { c.used[p.entered[id]] += amount })
	p.readWhole()
}
