package memory

import "time"

// Landing is the evicted pods that nodes are closed for until they are back; zero if no
// node is.
type Landing struct {
	Begun   time.Time // when the first plan was made that closed some of the nodes
	Since   time.Time // when the last one was
	Written time.Time // when that was carried out; zero if it is not known to be
	Absent  int64     // pods that are deleted and not back
	Running int64     // pods that still run where they are to be evicted
	Back    int       // pods that are back and may be bound
	Bound   []string  // UIDs of the pods that were bound last
	Moved   time.Time // when one of these numbers changed last
	// More says that pods came back while the nodes were closed last, so that drains may
	// continue.
	More bool
}

const (
	// ClosedFor is how long nodes are closed at most, also where more pods are evicted
	// meanwhile.
	ClosedFor = 30 * time.Second
	// lateAfter is from when on no more are evicted to save money until the nodes are open:
	// their pods would not be back in time.
	lateAfter = 20 * time.Second
)

// Again returns the landing after one more plan that closes nodes. Bindings of the plans before may
// be on their way: the room that is seen is not free before they are seen.
func (l Landing) Again(now time.Time) Landing {
	if l.Begun.IsZero() {
		l.Begun = now
	}
	return Landing{Begun: l.Begun, Since: now, Bound: l.Bound, Moved: now}
}

// CarriedOut returns the landing in a Step that sees the nodes closed.
func (l Landing) CarriedOut(now time.Time) Landing {
	if !l.Since.IsZero() && l.Written.IsZero() {
		l.Written, l.Moved = now, now
	}
	return l
}

// Uncounted returns the landing before its pods are counted again.
func (l Landing) Uncounted() Landing {
	l.Absent, l.Running, l.Back = 0, 0, 0
	return l
}

// Ended returns the landing when no node is closed any longer.
func (l Landing) Ended() Landing { return Landing{More: l.More} }

// UnderWay says whether a plan has closed nodes that are not open yet.
func (l Landing) UnderWay() bool { return !l.Since.IsZero() }

// Late says whether nodes are closed that will open too soon for more pods.
func (l Landing) Late(now time.Time) bool {
	return !l.Begun.IsZero() && !now.Before(l.Begun.Add(lateAfter))
}
