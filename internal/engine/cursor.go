package engine

import (
	"maps"
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// cursor is a plan that the WorkLimit of a Step has stopped: what was asked, and
// what the packer has answered so far. All else follows from the two, so that the
// next Step on the same snapshot comes to the same decisions again without
// packing anew, and goes on from there. It is a value and is never changed.
type cursor struct {
	in       Input           // of the Step that began the plan
	try      int             // see Trace.Tries
	excluded map[string]bool // gangs that are not tried any more
	first    *finished       // see there; nil before it
	units    int             // of work that went into earlier tries
	answers  []answer        // of this try
	sent     int             // launches that Steps before have returned
	// dropped counts the plans in a row that were given up, because the snapshot
	// had changed, before they launched anything.
	dropped int
	stale   bool // not to be gone on with
}

// resume returns where the plan stands that the Step is to go on with, and how
// many units of work it may do. A plan whose snapshot is not that of the Step is
// given up. So that a cluster which never rests cannot keep a plan from being
// made, every one given up doubles the units of the next.
func resume(in Input) (c cursor, units int) {
	before := in.Memory.cursor
	in.Memory.cursor = nil
	switch {
	case before == nil:
		c = cursor{in: in, try: 1}
	case before.stale || !before.in.Snapshot.Same(in.Snapshot) || before.in.Policy != in.Policy || before.in.Polish != in.Polish:
		c = cursor{in: in, try: 1}
		if before.sent == 0 {
			c.dropped = min(before.dropped+1, 32)
		}
	default:
		c = *before
		c.answers = slices.Clone(c.answers)
	}
	c.excluded = maps.Clone(c.excluded)
	if c.excluded == nil {
		c.excluded = map[string]bool{}
	}
	if in.WorkLimit <= 0 || in.WorkLimit > math.MaxInt>>c.dropped {
		return c, math.MaxInt
	}
	return c, in.WorkLimit << c.dropped
}

// anew begins the next try, after s.
func (c cursor) anew(s *step) cursor {
	c.in.Memory.fleet = s.fleet
	c.try, c.units, c.answers = c.try+1, s.packer.units, nil
	return c
}

// PlanAnew returns the memory without a plan that is still being made: where it
// could not be carried out as far as it had come, the next one begins with what
// is true then.
func (m Memory) PlanAnew() Memory {
	if m.cursor != nil {
		c := *m.cursor
		c.stale = true
		m.cursor = &c
	}
	return m
}

// pause ends a Step that may do no more: it returns what is certain, and where to
// go on. Launches of finished rounds are final, unless a gang among the demand
// may yet turn out to be incomplete, or limits to be too short for all.
func (s *step) pause(c cursor) Output {
	if slices.ContainsFunc(s.ganged, s.tried) || s.tight {
		s.withhold()
	}
	s.memory.plan(s.launches)
	c.in.Memory.fleet, c.answers = s.fleet, s.packer.answers
	sent := c.sent
	c.sent = max(sent, len(s.launches))
	s.memory.cursor = &c
	s.waitUntil(s.in.Now, plan.RestOfPlan)
	return s.output(sent)
}

// withhold takes back all launches.
func (s *step) withhold() {
	s.launches, s.cost = nil, 0
	for i := range s.outcomes {
		if o := &s.outcomes[i]; o.Verdict == plan.OnLaunch {
			*o = plan.Outcome{Group: o.Group, Pods: o.Pods, Verdict: plan.Waiting, Reasons: unplanned()}
		}
	}
}

func unplanned() []plan.Refusal { return []plan.Refusal{{Cause: plan.PlanUnfinished}} }
