package price

// A resource of which the offers bought have hardly more than is asked for, and
// that is worth hardly anything, is at a corner: a little more demand would make
// it dear.
const (
	hardly = 0.05
	worthy = 0.02
	more   = 1.1
)

// share looks at what each resource at a corner would be worth if a little more
// of it were asked for, and takes the mean. All those prices are feasible, and
// so is their mean.
func (c *part) share() {
	prices, used, bound := c.prices, c.used, c.bound
	if bound <= 0 {
		return
	}
	sum, n := prices, 1.0
	for j := range c.dims {
		if !c.corner(j, prices, used, bound) {
			continue
		}
		c.boost = make([]float64, len(c.dims))
		for k := range c.boost {
			c.boost[k] = 1
		}
		c.boost[j] = more
		c.solve()
		n++
		added := make([][]float64, len(sum))
		for i := range sum {
			added[i] = make([]float64, len(c.dims))
			for k, v := range sum[i] {
				added[i][k] = v + c.prices[i][k]
			}
		}
		sum = added
	}
	c.boost = nil
	for i := range sum {
		for k := range sum[i] {
			sum[i][k] /= n
		}
	}
	c.prices, c.used, c.bound = sum, used, bound
}

func (c *part) corner(j int, prices [][]float64, used []float64, bound float64) bool {
	demands := make([]float64, len(c.groups))
	demand := c.demand(c.dims[j], demands)
	worth, supply := 0.0, 0.0
	for i, d := range demands {
		worth += float64(prices[i][j] * d)
	}
	for k, amount := range used {
		supply += float64(amount * float64(c.Offers[c.offers[k]].Capacity[c.dims[j].Resource]/c.dims[j].Unit))
	}
	return worth < worthy*bound && supply < (1+hardly)*demand
}
