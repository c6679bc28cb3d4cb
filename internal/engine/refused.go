package engine

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// refused counts the demand that found no place.
type refused struct {
	unplaced map[rank]int64
	short    bool // some of it for want of what pools may have
	homeless int  // of it, pods of nodes that go
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

// compare compares the counts, the highest rank first: negative where r leaves out
// less than the other.
func (r refused) compare(o refused) int {
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

// highest is the highest priority of which a pod found no place.
func (r refused) highest() int32 {
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

// refuse says why what is left of the class has no place.
func (d *demand) refuse(c *demandClass, reasons []plan.Refusal) {
	d.trace.Refused += c.count()
	d.refused.unplaced[rank{true, c.group.Shape.Priority}] += c.real()
	d.refused.unplaced[rank{false, c.group.Shape.Priority}] += c.declared
	d.refused.short = d.refused.short || slices.ContainsFunc(reasons, isShort)
	d.refused.homeless += len(c.displaced)
	c.refused += c.count()
	if ids := c.draw(c.count()).ids(d.journal); len(ids) > 0 {
		d.outcomes = append(d.outcomes, plan.Outcome{Group: c.group.Key, Pods: ids, Verdict: plan.Unplaceable, Reasons: reasons})
	}
}
