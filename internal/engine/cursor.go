package engine

import (
	"maps"
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
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
	answers  []pack.Answer   // of this try
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
