package price

import "slices"

// Offer is something with room for pods that can be had at a price.
type Offer struct {
	Capacity []int64  // per resource; not negative
	Price    int64    // nano-dollars an hour; not negative
	Holds    []uint64 // signatures that may use it, as bits
	Limit    int64    // so many at most; < 0: any number, and then the price is positive
}

// Class is a number of equal pods.
type Class struct {
	Signature int
	Need      []int64 // per resource; not negative
	Count     int64
}

// Problem is a demand and what it could be put on.
type Problem struct {
	Resources int
	Offers    []Offer
	Classes   []Class
	Cuts      int // at most so many dimensions with a unit above 1
	Groups    int // at most so many groups of classes with prices of their own; 0 means 16
	// Steer asks for prices to pack by. Where the demand has the same proportions
	// as the offers, one resource could as well have all worth as another. Steering
	// prices share it between them, which may lower the bound a little.
	Steer bool
}

// Dimension is a resource counted in whole units.
type Dimension struct {
	Resource int
	Unit     int64
}

// Prices are what resources are worth to the classes.
type Prices struct {
	Scale      uint
	Dimensions []Dimension
	// Of is, per class, what a unit of each dimension is worth, in nano-dollars
	// an hour over 2^Scale. Classes that fit no offer have prices of 0. The slices
	// are shared and must not be changed.
	Of [][]int64
	// Buys is how many of each offer the linear program would buy, in 1024ths,
	// rounded down.
	Buys   []int64
	Corner bool // steering prices share worth; see Problem.Steer
	Pivots int
}

// Limits of the work, so that its time is bounded whatever comes in.
const (
	defaultGroups = 16
	maxPivots     = 2_000 // per program
	maxLimits     = 48    // offers with a limit that the program looks at
)

// Solve finds prices. It never fails: where the work limit is reached, or the
// numbers are bad, the prices are lower than they could be, down to 0.
func Solve(p Problem) Prices {
	m := newModel(p)
	out := Prices{Of: make([][]int64, len(p.Classes)), Buys: make([]int64, len(p.Offers))}
	for r := range p.Resources {
		out.Dimensions = append(out.Dimensions, Dimension{r, 1})
	}
	var parts []*part
	for _, groups := range m.components() {
		c := newPart(m, groups)
		c.solve()
		c.count()
		c.cut()
		corners := c.corners()
		out.Corner = out.Corner || len(corners) > 0
		if p.Steer {
			c.share(corners)
		}
		parts = append(parts, c)
		out.Pivots += c.pivots
		for k, amount := range c.used {
			out.Buys[c.offers[k]] = int64(float64(min(amount, 1<<40)*1024) + 1e-6)
		}
		for _, d := range c.dims {
			if !slices.Contains(out.Dimensions, d) {
				out.Dimensions = append(out.Dimensions, d)
			}
		}
	}
	m.round(parts, &out)
	return out
}
