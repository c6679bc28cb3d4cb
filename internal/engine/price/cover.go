package price

// Content is what one node could hold of some demand, and what such a node costs.
type Content struct {
	Rows  []int // of the demand, each once
	Count []int64
	Price int64 // nano-dollars an hour; positive
}

// Cover chooses amounts of contents that hold the demand at the least cost. It
// returns the amounts in 1024ths, rounded down, and the pivots that it made, which
// are at most so many. It leaves out contents with more of a row than the demand
// has. A caller that lists all smaller contents, too, gets amounts that are closer
// to whole nodes.
func Cover(demand []int64, contents []Content, pivots int) ([]int64, int) {
	costs := int64(1)
	for i := range contents {
		costs = max(costs, contents[i].Price)
	}
	need, penalty := make([]float64, len(demand)), make([]float64, len(demand))
	for row, n := range demand {
		need[row], penalty[row] = float64(n), dearest
	}
	open := make([]int, 0, len(contents))
	cost := make([]float64, len(contents))
	for i := range contents {
		cost[i] = float64(contents[i].Price) / float64(costs)
		if contents[i].within(demand) {
			open = append(open, i)
		}
	}
	lp := NewProgram(need, penalty)
	for range min(pivots, maxPivots) {
		if lp.EnterSurplus() {
			continue
		}
		at := worthMost(lp, contents, cost, open)
		if at < 0 || !lp.Enter(contents[at].column(at, cost[at])) {
			break
		}
	}
	out := make([]int64, len(contents))
	lp.Amount(func(id int, amount float64) { out[id] = int64(float64(min(amount, 1<<40)*1024) + 1e-6) })
	return out, lp.Pivots
}

// dearest is a penalty above the cost of every node. A cost of 1 is that of the
// dearest node.
const dearest = 2

// worthMost is the content with the most worth for its cost. It is -1 where no
// content is worth more than it costs.
func worthMost(lp *Program, contents []Content, cost []float64, open []int) int {
	best, at := tiny, -1
	prices := lp.Prices()
	for _, i := range open {
		c := &contents[i]
		worth := -cost[i]
		for j, row := range c.Rows {
			worth += float64(prices[row] * float64(c.Count[j]))
		}
		if worth /= cost[i]; worth > best {
			best, at = worth, i
			if lp.Stalled() {
				break
			}
		}
	}
	return at
}

func (c *Content) column(id int, cost float64) Column {
	cover := make([]float64, len(c.Count))
	for j, n := range c.Count {
		cover[j] = float64(n)
	}
	return Column{ID: id, Rows: c.Rows, Cover: cover, Cost: cost}
}

// within says whether there is demand for all of the content.
func (c *Content) within(demand []int64) bool {
	for j, row := range c.Rows {
		if c.Count[j] > demand[row] {
			return false
		}
	}
	return true
}
