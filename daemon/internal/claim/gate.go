package claim

import (
	"sync"
	"time"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

const (
	// fewCalls is how many launch calls of a pool are under way together while none is
	// known to succeed; each success lets as many more through, up to mostCalls, which
	// leaves turns to other pools. After a failure it is one.
	fewCalls, mostCalls = 4, 24
	// MostUnlaunched is how many NodeClaims of a pool are to wait for their launch at a time, for
	// engine.Policy: those of which EC2 is asked, and as many to follow them.
	MostUnlaunched = 2 * mostCalls
	// gatePoll is how soon a NodeClaim looks again whether the gate lets it pass.
	gatePoll = 250 * time.Millisecond
	// firstErrorPause and longestErrorPause are the pauses of a pool after a call that failed
	// for another reason than capacity, such as a missing permission. The pause doubles with
	// each failure in a row: some 20 calls in the first hour, then 12 an hour.
	firstErrorPause, longestErrorPause = time.Second, 5 * time.Minute
	// longestAwayPause is the longest while EC2 itself is at fault: nobody mends that by hand,
	// and pods are to run within a minute of its return.
	longestAwayPause = 30 * time.Second
	// templatePoll is how soon a launch is tried again whose launch template EC2 does not know
	// yet: it was made a moment ago.
	templatePoll = time.Second
)

// gate lets launch calls of a pool through few at a time, and later and later while they
// fail. One reason stands behind the failures of a pool most often, so that many NodeClaims
// would make many calls in vain. The zero value is ready.
type gate struct {
	mu    sync.Mutex
	pools map[string]*lane
}

// lane is the calls of one pool.
type lane struct {
	under, window int // calls under way, and how many may be
	errors        int // in a row
	until         time.Time
}

// of returns the lane of the pool; the caller holds the lock.
func (g *gate) of(pool string) *lane {
	l := g.pools[pool]
	if l == nil {
		if g.pools == nil {
			g.pools = map[string]*lane{}
		}
		l = &lane{window: fewCalls}
		g.pools[pool] = l
	}
	return l
}

// enter lets a NodeClaim of the pool pass, or says how long it is to wait before it asks
// again. Who has passed leaves.
func (g *gate) enter(pool string, now time.Time) (wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.of(pool)
	switch {
	case now.Before(l.until):
		return l.until.Sub(now)
	case l.under >= l.window:
		return gatePoll
	}
	l.under++
	return 0
}

func (g *gate) leave(pool string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.of(pool).under--
}

// succeeded notes that an instance was launched for the pool.
func (g *gate) succeeded(pool string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.of(pool)
	l.window, l.errors, l.until = min(l.window+fewCalls, mostCalls), 0, time.Time{}
}

// lacked notes that a launch of the pool found no capacity; how long that holds, the
// shortages say.
func (g *gate) lacked(pool string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.of(pool).window = 1
}

// failed notes that a call for the pool failed for another reason, and returns when the
// next may come, after the longest pause at the latest. Answers to calls that were under way
// together make the pause no longer.
func (g *gate) failed(pool string, now time.Time, longest time.Duration) (next time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.of(pool)
	if l.window = 1; now.Before(l.until) {
		return l.until
	}
	pause := firstErrorPause
	for range l.errors {
		pause = min(2*pause, longest)
	}
	l.errors, l.until = l.errors+1, now.Add(pause)
	return l.until
}

// reopen ends the pauses of all pools: what the calls failed for is over.
func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.pools {
		l.window, l.errors, l.until = fewCalls, 0, time.Time{}
	}
}

// stage is what a NodeClaim is at, as far as it decides who reconciles it.
type stage int

const (
	stageRun    stage = iota
	stageLaunch       // it has no instance yet
	stageEnd          // it is in deletion
)

// stage returns the stage of the NodeClaim, and its pool. NodeClaims that no pool made share
// a lane of the gate for each class.
func (c *Controller) stage(name string) (pool string, at stage) {
	claim, there := c.World.NodeClaim(name)
	switch {
	case !there:
		return "", stageRun
	case claim.DeletionTimestamp != nil:
		return "", stageEnd
	case !claim.DeepCopy().Conditions().Get(v1.ConditionLaunched).IsTrue():
		return poolOf(claim), stageLaunch
	}
	return "", stageRun
}

// poolOf names the pool, or what stands for it.
func poolOf(claim *v1.NodeClaim) string {
	if pool := claim.Labels[v1.LabelNodePool]; pool != "" {
		return pool
	}
	return "class/" + claim.Spec.NodeClassRef.Name // no name of a pool has a slash
}
