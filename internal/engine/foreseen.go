package engine

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// turns says how pods that exist and those that are only declared come. The
// former come first where they are of one class. Of different classes it matters
// only where limits are short, and to pack all together is cheaper.
type turns int

const (
	mixed      turns = iota // to begin with
	realFirst               // because together a declared pod may have had the room of one that exists
	mixedAgain              // because that was not so
)

// reorder says in which other order the plan is to be made again, if so.
func (s *step) reorder(now turns) (turns, bool) {
	switch {
	case now == mixed && s.short > 0 && s.foresees():
		return realFirst, true
	case now == realFirst && s.short >= s.before:
		return mixedAgain, true
	}
	return now, false
}

// mayReorder says whether the plan that is being made may turn out to need
// another order.
func (s *step) mayReorder() bool {
	return s.order != mixedAgain && s.trace.Declared > 0 &&
		slices.ContainsFunc(s.fleet.Pools, func(p cluster.Pool) bool { return len(p.Limits) > 0 })
}

// foresees says whether declared pods take room that others could take now.
func (s *step) foresees() bool {
	for _, h := range s.nodeHosts {
		if h != nil && h.stage == stageNode && h.declared > 0 {
			return true
		}
	}
	return slices.ContainsFunc(s.launches, func(l plan.Launch) bool { return l.Declared > 0 })
}

// limited says whether a limit is among the reasons.
func limited(reasons []plan.Refusal) bool {
	return slices.ContainsFunc(reasons, func(r plan.Refusal) bool { return r.Cause == plan.LimitReached })
}

// putAside takes the declared pods out of the demand.
func (s *step) putAside() {
	for _, c := range s.classes {
		c.aside, c.declared = c.declared, 0
	}
}

// bringBack puts them in again, with all their preferences.
func (s *step) bringBack() {
	for _, c := range s.classes {
		if c.aside > 0 && c.count() == 0 {
			c.level = 0
		}
		c.declared += c.aside
		c.aside = 0
	}
}
