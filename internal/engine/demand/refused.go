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
	unplaced map[rank]int64 // by rank: pods without a place
	Short    bool           // some pods have none because limits or reservations are short
}

// rank says which pods come first if there is too little room for all: real pods
// before declared ones, then the higher priority.
type rank struct {
	real     bool
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

// Compare compares the counts, the highest rank first. It returns a negative number
// if r leaves fewer pods without a place than o.
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

// Highest returns the priority of the highest rank that has a pod without a place.
func (r Refused) Highest() int32 {
	top := rank{priority: math.MinInt32}
	for x, n := range r.unplaced {
		if n > 0 && x.compare(top) > 0 {
			top = x
		}
	}
	return top.priority
}

// isShort says whether a limit or a full reservation is the cause of the refusal.
func isShort(r plan.Refusal) bool {
	return r.Cause == plan.LimitReached || r.Cause == plan.NoCapacity && r.Detail != ""
}

// Refuse takes what is left of the class out of the demand, without a place, and
// says why.
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
