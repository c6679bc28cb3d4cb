package memory

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// growthGap is the time within which demand must grow twice to count as growing. It
// is as long as a bin waits at most: Deployments that are created one after the other
// come several to a second.
const growthGap = 950 * time.Millisecond

// movedFor is how long pods that lost a planned place are remembered. It exceeds
// every wait for more pods.
const movedFor = 2 * time.Second

// Growth is how demand has changed from Step to Step. Without it no bin waits.
type Growth struct {
	Demand       int64     // pods that need a place, declared ones included
	Last, Before time.Time // when demand last grew, and when it grew the time before
	Moved        []Since   // kinds of pods that lost a planned place to others, sorted: when
}

// Next returns the growth after demand has been counted again. A declared pod that
// now exists is no growth, because it was counted before.
func (g Growth) Next(demand int64, now time.Time) Growth {
	if g.Last.After(now) {
		g.Before, g.Last = time.Time{}, time.Time{} // the clock went back
	}
	g.Moved = pick.Those(g.Moved, func(x Since) bool { return !x.At.After(now) && now.Before(x.At.Add(movedFor)) })
	if demand > g.Demand {
		g.Before, g.Last = g.Last, now
	}
	g.Demand = demand
	return g
}

// Until returns when demand stops growing if no other pod comes. The time is in the
// past if demand is not growing.
func (g Growth) Until() time.Time { return g.Before.Add(growthGap) }

// Move notes that pods of the kind have lost a planned place to others.
func (g *Growth) Move(kind string, now time.Time) {
	g.Moved, _ = Remember(Forget(g.Moved, kind), kind, now)
}
