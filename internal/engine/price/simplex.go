package price

import "math"

// Program is a covering linear program in the making: choose amounts of columns
// such that every row is covered, at the least cost. Columns come from outside,
// one at a time, whenever the row prices make one worth more than it costs.
//
// It is a revised simplex with an explicit, dense inverse, made for a few dozen
// rows. Every product is rounded before it is added. So machines that can fuse the
// two operations give the same numbers as others.
type Program struct {
	rows    int
	inverse []float64 // rows x rows, row major
	basis   []int     // per place: the ID of a column, surplusBase+row, or ^row for the cover of the row at the penalty
	costs   []float64 // of the basis
	amounts []float64 // of the basis
	prices  []float64 // of the rows
	stalled int       // pivots in a row that did not change the cost
	Pivots  int

	direction []float64 // scratch: the column that enters, times the inverse
}

// Column is something that covers rows: how much of which rows, and its cost.
type Column struct {
	ID    int // not negative; breaks ties
	Rows  []int
	Cover []float64
	Cost  float64
}

// tiny separates noise from numbers. All numbers are scaled to about one.
const tiny = 1e-9

// bland is how many pivots in a row may stay at one cost before the smallest
// index decides, which cannot cycle.
const bland = 24

// NewProgram starts with every row covered by a column of its own that costs the
// penalty. No price of a row will exceed its penalty. A row with a negative demand
// is a limit, and columns cover it negatively. It has no penalty, since its own
// column is the slack.
func NewProgram(demand, penalty []float64) *Program {
	m := len(demand)
	p := &Program{
		rows: m, inverse: make([]float64, m*m), basis: make([]int, m), costs: make([]float64, m),
		amounts: make([]float64, m), prices: make([]float64, m), direction: make([]float64, m),
	}
	for i := range m {
		if demand[i] < 0 { // -y >= -n, its surplus is basic
			p.basis[i] = surplusBase + i
			p.inverse[i*m+i] = -1
			p.amounts[i] = -demand[i]
			continue
		}
		p.basis[i] = ^i
		p.inverse[i*m+i] = 1
		p.amounts[i] = demand[i]
		p.costs[i] = penalty[i]
		p.prices[i] = penalty[i]
	}
	return p
}

// Prices are what one more unit of demand of each row would cost now. They are
// valid until the next Enter.
func (p *Program) Prices() []float64 { return p.prices }

// Stalled says that the cost has not moved for long. Then the caller should enter
// the first column that is worth more than it costs, rather than the best one.
func (p *Program) Stalled() bool { return p.stalled > bland }

// Amount calls yield with every added column that is used and its amount.
func (p *Program) Amount(yield func(id int, amount float64)) {
	for i, id := range p.basis {
		if id >= 0 && id < surplusBase && p.amounts[i] > tiny {
			yield(id, p.amounts[i])
		}
	}
}

// Cost is the cost of the basis.
func (p *Program) Cost() float64 {
	sum := 0.0
	for i, c := range p.costs {
		sum += float64(c * p.amounts[i])
	}
	return sum
}

// surplusBase is above the number of any column: from it on, columns are surpluses.
const surplusBase = math.MaxInt / 2

// Enter brings the column into the basis. It returns false where nothing limits the
// amount of the column, which means that the column covers nothing.
func (p *Program) Enter(c Column) bool {
	clear(p.direction)
	for k, row := range c.Rows {
		v := c.Cover[k]
		for i := range p.rows {
			p.direction[i] += float64(p.inverse[i*p.rows+row] * v)
		}
	}
	return p.pivot(c.ID, c.Cost)
}

// EnterSurplus brings in the surplus of the row with the most negative price, so
// that the row may be covered more than is asked for. It returns false where no
// price is negative.
func (p *Program) EnterSurplus() bool {
	worst, at := -tiny, -1
	for i, v := range p.prices {
		if v < worst {
			worst, at = v, i
			if p.Stalled() {
				break
			}
		}
	}
	if at < 0 {
		return false
	}
	for i := range p.rows {
		p.direction[i] = -p.inverse[i*p.rows+at]
	}
	return p.pivot(surplusBase+at, 0)
}

func (p *Program) pivot(id int, cost float64) bool {
	leave := -1
	best := math.Inf(1)
	for i, d := range p.direction {
		if d <= tiny {
			continue
		}
		ratio := p.amounts[i] / d
		switch {
		case leave < 0 || ratio < best-tiny:
			leave, best = i, ratio
		case ratio <= best+tiny && p.before(i, leave):
			leave, best = i, min(best, ratio)
		}
	}
	if leave < 0 {
		return false
	}
	step := max(0, best)
	if step > tiny {
		p.stalled = 0
	} else {
		p.stalled++
	}
	p.Pivots++
	for i, d := range p.direction {
		p.amounts[i] = max(0, p.amounts[i]-float64(step*d))
	}
	p.amounts[leave] = step
	p.basis[leave], p.costs[leave] = id, cost
	p.eliminate(leave)
	p.reprice()
	return true
}

// before orders places that could leave at the same step. The larger pivot comes
// first for accuracy. Once the cost stalls, the smaller index does.
func (p *Program) before(i, j int) bool {
	if p.Stalled() {
		return p.basis[i] < p.basis[j]
	}
	return p.direction[i] > p.direction[j]
}

func (p *Program) eliminate(leave int) {
	m := p.rows
	pivot := p.inverse[leave*m : leave*m+m]
	scale := 1 / p.direction[leave]
	for j := range pivot {
		pivot[j] *= scale
	}
	for i, d := range p.direction {
		if i == leave || d == 0 {
			continue
		}
		row := p.inverse[i*m : i*m+m]
		for j, v := range pivot {
			row[j] -= float64(d * v)
		}
	}
}

func (p *Program) reprice() {
	clear(p.prices)
	for i, c := range p.costs {
		if c == 0 {
			continue
		}
		for j, v := range p.inverse[i*p.rows : (i+1)*p.rows] {
			p.prices[j] += float64(c * v)
		}
	}
}
