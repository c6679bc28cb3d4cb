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
	Divides   bool // never counted whole
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
	// Whole asks for surcharges: at most so many classes of which few fit a node are
	// counted whole, by the contents that nodes can have of them. Then there are no
	// Cuts and no Steer. Exact asks for surcharges that are easy to prove. If an offer
	// has too many contents to check, an upper bound replaces the contents. Without
	// Exact, the caller wants Contents, not proof.
	Whole int
	Exact bool
	Known []Content // contents that an earlier answer knew, to begin with
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
	// Surcharge is, per class, what a pod is worth beside its resources, in
	// nano-dollars an hour over 2^Scale. It is nil where no class has one.
	Surcharge []int64
	// Contents is what the linear program would put on nodes of the classes that are
	// counted whole. Contents that too many others might exceed are left out.
	Contents []Content
	Known    []Content // all contents that were looked at; their Amount means nothing
	// Buys is how many of each offer the linear program would buy, in 1024ths,
	// rounded down.
	Buys   []int64
	Corner bool // steering prices share worth; see Problem.Steer
	Pivots int
	Steps  int // of the searches for contents
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
		if p.Whole > 0 {
			c.whole.classes = c.chooseWhole()
		}
		switch {
		case p.Whole == 0:
			c.cut()
			corners := c.corners()
			out.Corner = out.Corner || len(corners) > 0
			if p.Steer {
				c.share(corners)
			}
		case len(c.whole.classes) > 0:
			c.solve()
		}
		parts = append(parts, c)
		out.Pivots += c.pivots
		out.Steps += c.steps
		for k, amount := range c.used {
			out.Buys[c.offers[k]] = int64(float64(min(amount, 1<<40)*1024) + 1e-6)
		}
		for _, d := range c.dims {
			if !slices.Contains(out.Dimensions, d) {
				out.Dimensions = append(out.Dimensions, d)
			}
		}
		out.Contents, out.Known = append(out.Contents, c.whole.contents...), append(out.Known, c.whole.known...)
	}
	m.round(parts, &out)
	return out
}
