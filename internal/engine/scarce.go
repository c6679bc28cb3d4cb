package engine

// finished is a plan that is whole and leaves pods without a place, because limits
// or reservations are short. Another one is made that spares what is limited, and
// in which pods of high priority come first and declared ones last; the better of
// the two is carried out.
type finished struct {
	out     Output
	refused refused
}

// worse says whether the plan is worse than the other: it leaves out more pods of
// the highest rank that differs, or as many and costs more.
func (f *finished) worse(other Output, refused refused) bool {
	if by := refused.compare(f.refused); by != 0 {
		return by < 0
	}
	return other.Plan.Cost < f.out.Plan.Cost
}

// instead is the plan, carried out instead of one with the trace.
func (f *finished) instead(t Trace) Output {
	out := f.out
	out.Trace.Tries, out.Trace.Units = t.Tries, t.Units
	return out
}

// gives says whether another plan could give room to others: that of launches, or
// what declared pods take of nodes that run.
func gives(r *room, l *launcher) bool {
	for _, h := range r.nodes {
		if h != nil && h.stage == stageNode && h.declared > 0 {
			return true
		}
	}
	return len(l.launches) > 0
}
