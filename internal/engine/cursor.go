package engine

import (
	"maps"
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/moves"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
)

// cursor is a plan that a WorkLimit stopped: the question, and the packer's answers
// so far. From these two the next Step on the same snapshot repeats the same
// decisions without packing again, and then continues; the other fields count what
// earlier Steps did. A cursor is a value and is never changed.
type cursor struct {
	in       Input             // of the Step that began the plan
	suppose  moves.Supposition // nodes that the plan takes away
	try      int               // see Trace.Tries
	excluded map[string]bool   // gangs that are not tried any more
	first    *finished         // the plan before the sparing one; nil while there is none
	units    int               // of work, in earlier tries
	answers  []pack.Answer     // of this try
	sent     int               // launches that earlier Steps returned
	// dropped is the number of plans in a row that were given up, because the
	// snapshot had changed, before they launched anything.
	dropped int
	stale   bool // the next Step must not continue this plan
}

// resume returns the plan that the Step continues, and the units of work that
// the Step may do. It gives up an unfinished plan that was made for another
// snapshot. Each plan that is given up doubles the units of the next one: so even a
// cluster that never rests gets a plan.
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

// PlanAnew returns the memory without the unfinished plan. The caller uses it after
// an action of the plan has failed: the next plan then starts from the real state.
func (m Memory) PlanAnew() Memory {
	if m.cursor != nil {
		c := *m.cursor
		c.stale = true
		m.cursor = &c
	}
	return m
}
