package bound

import (
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/knapsack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// contents looks at what nodes can hold of the classes with a surcharge.
type contents struct {
	problem   *Problem
	surcharge []int64
	classes   []int // one of each kind
	kinds     []knapsack.Kind
	solver    knapsack.Solver
	known     []known
}

// known is the answer for one room: it holds for rooms with less, too. Zones of an
// offer often have the same.
type known struct {
	room, worth []int64
	most        int64
}

func newContents(p *Problem, surcharge []int64) contents {
	c := contents{problem: p, surcharge: surcharge}
	for i, v := range surcharge {
		class := &p.Classes[i]
		if v <= 0 || class.Count <= 0 || class.Where < 0 || class.Where >= len(p.Where) {
			continue
		}
		at := slices.IndexFunc(c.classes, func(k int) bool {
			o := &p.Classes[k]
			return o.Where == class.Where && surcharge[k] == v && slices.Equal(o.Need, class.Need)
		})
		if at >= 0 {
			c.kinds[at].Most += min(class.Count, math.MaxInt64-c.kinds[at].Most)
			continue
		}
		c.classes = append(c.classes, i)
		c.kinds = append(c.kinds, knapsack.Kind{Need: class.Need, Most: class.Count})
	}
	return c
}

// most is what no content of the room exceeds in surcharges, or so much if that is
// more.
func (c *contents) most(room []int64, open func(where int) bool, above price.Sum) price.Sum {
	var out price.Sum
	worth := make([]int64, len(c.kinds))
	for i, k := range c.classes {
		if open(c.problem.Classes[k].Where) {
			worth[i] = c.surcharge[k]
		}
		c.kinds[i].Worth = worth[i]
	}
	if !slices.ContainsFunc(worth, func(v int64) bool { return v > 0 }) {
		return above
	}
	limit := above.Unscaled(0)
	for i := range c.known {
		if k := &c.known[i]; k.most <= limit && quantity.Fits(room, k.room) && quantity.Fits(worth, k.worth) {
			out.Add(limit, 1)
			return out
		}
	}
	most := c.solver.Best(c.kinds, room, limit, price.ProofSteps).Most
	if most == math.MaxInt64 {
		return price.Sum{Hi: math.MaxUint64, Lo: math.MaxUint64}
	}
	c.known = append(c.known, known{room, worth, most})
	out.Add(most, 1)
	return out
}
