package memory

import (
	"time"
)

// growthGap is within which time demand must grow twice to be growing; see Growth.
const growthGap = 300 * time.Millisecond

// Growth is what is remembered of demand from Step to Step. Without it nothing
// waits.
type Growth struct {
	Demand       int64     // pods that need a place, declared ones included
	Fell         time.Time // when it fell last
	Last, Before time.Time // when it grew last, and the time before that
}

// Next returns the growth after the demand has been counted anew. Pods that were
// declared and now exist are no growth, nor are those that got a node.
func (g Growth) Next(demand int64, now time.Time) Growth {
	if g.Last.After(now) {
		g.Before, g.Last = time.Time{}, time.Time{} // the clock went back
	}
	if g.Fell.After(now) {
		g.Fell = now
	}
	if demand < g.Demand {
		g.Fell = now
	}
	if demand > g.Demand {
		g.Before, g.Last = g.Last, now
	}
	g.Demand = demand
	return g
}

// Until is when demand does not grow any more, if nothing new comes. It is in
// the past where that is so already.
func (g Growth) Until() time.Time { return g.Before.Add(growthGap) }
