package engine

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/launch"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
)

// finished is a complete plan that leaves pods without a place because limits or
// reservations are short. Step then makes a second plan that spares what is
// limited: pods of high priority come first, and declared pods last. Step returns
// the better of the two.
type finished struct {
	out     Output
	refused demand.Refused
}

// worse says whether f is worse than the other plan. The plan is worse that leaves
// more pods of the highest differing rank without a place. If no rank differs, the
// plan is worse that costs more; of two plans of equal cost, the one with more nodes.
func (f *finished) worse(other Output, refused demand.Refused) bool {
	if by := refused.Compare(f.refused); by != 0 {
		return by < 0
	}
	by := cmp.Compare(other.Plan.Total(), f.out.Plan.Total())
	return cmp.Or(by, cmp.Compare(other.Trace.Launches, f.out.Trace.Launches)) < 0
}

// instead returns the plan f, which replaces a second plan. The trace is that of
// the second plan, whose work counts too.
func (f *finished) instead(t journal.Trace) Output {
	out := f.out
	out.Trace.Tries, out.Trace.Units = t.Tries, t.Units
	return out
}

// gives says whether another plan could give room to others: that of launches, what
// was promised to pods of lower priority, or what declared pods take of nodes that
// run.
func gives(d *demand.Demand, r *room.Room, l *launch.Launcher) bool {
	for _, c := range d.Classes {
		lower := func(p demand.PodRef) bool { return p.Shape.Priority < c.Group.Shape.Priority }
		if c.Refused > 0 && slices.ContainsFunc(r.Coming, func(h *room.Host) bool {
			return slices.ContainsFunc(h.Pods, lower) && c.Shape().Requests.Fits(h.Most) && h.Accepts(&c.Levels[c.Last()])
		}) {
			return true
		}
	}
	for _, h := range r.Nodes {
		if h != nil && h.Stage == room.StageNode && h.Declared > 0 {
			return true
		}
	}
	return len(l.Launches) > 0
}
