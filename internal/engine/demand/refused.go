package demand

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Refused counts the demand that found no place.
type Refused struct {
	unplaced map[rank]int64
	Short    bool // some of it for want of what pools may have
}

// rank says who comes first where there is too little for all.
type rank struct {
	real     bool // pods that exist, before those that are only declared
	priority int32
}

func (r rank) compare(o rank) int {
	if r.real != o.real {
		if r.real {
			return 1
		}
		return -1
	}
	return cmp.Compare(r.priority, o.priority)
}

// Compare compares the counts, the highest rank first: negative where r leaves out
// less than the other.
func (r Refused) Compare(o Refused) int {
	ranks := slices.Collect(maps.Keys(r.unplaced))
	for x := range o.unplaced {
		ranks = append(ranks, x)
	}
	slices.SortFunc(ranks, rank.compare)
	for _, x := range slices.Backward(ranks) {
		if c := cmp.Compare(r.unplaced[x], o.unplaced[x]); c != 0 {
			return c
		}
	}
	return 0
}

// Highest is the highest priority of which a pod found no place.
func (r Refused) Highest() int32 {
	top := rank{priority: math.MinInt32}
	for x, n := range r.unplaced {
		if n > 0 && x.compare(top) > 0 {
			top = x
		}
	}
	return top.priority
}

// isShort says whether the refusal is for want of what a pool may have.
func isShort(r plan.Refusal) bool {
	return r.Cause == plan.LimitReached || r.Cause == plan.NoCapacity && r.Detail != ""
}

// Refuse says why what is left of the class has no place.
func (d *Demand) Refuse(c *Class, reasons []plan.Refusal) {
	d.Trace.Refused += c.Count()
	d.Refused.unplaced[rank{true, c.Group.Shape.Priority}] += c.Real()
	d.Refused.unplaced[rank{false, c.Group.Shape.Priority}] += c.Declared
	d.Refused.Short = d.Refused.Short || slices.ContainsFunc(reasons, isShort)
	c.Refused += c.Count()
	if ids := c.Draw(c.Count()).IDs(d.Journal); len(ids) > 0 {
		d.Outcomes = append(d.Outcomes, plan.Outcome{Group: c.Group.Key, Pods: ids, Verdict: plan.Unplaceable, Reasons: reasons})
	}
}
