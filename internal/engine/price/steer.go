package price

// A resource is at a corner where the offers bought have hardly more of it than is
// asked for, and it is worth hardly anything. A little more demand would make it
// dear.
const (
	hardly = 0.05
	worthy = 0.02
	more   = 1.1
)

// share solves again for each resource at a corner, with a little more demand for
// it, and takes the mean of all prices. All those prices are feasible, and so is
// their mean.
func (c *part) share(corners []int) {
	used, bound := c.used, c.bound
	sum, n := c.prices, 1.0
	for _, j := range corners {
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

// corners lists the dimensions at a corner.
func (c *part) corners() []int {
	var out []int
	for j := range c.dims {
		if c.bound > 0 && c.corner(j) {
			out = append(out, j)
		}
	}
	return out
}

func (c *part) corner(j int) bool {
	demands := make([]float64, len(c.groups))
	demand := c.demand(c.dims[j], demands)
	worth, supply := 0.0, 0.0
	for i, d := range demands {
		worth += float64(c.prices[i][j] * d)
	}
	for k, amount := range c.used {
		supply += float64(amount * float64(c.Offers[c.offers[k]].Capacity[c.dims[j].Resource]/c.dims[j].Unit))
	}
	return worth < worthy*c.bound && supply < (1+hardly)*demand
}
