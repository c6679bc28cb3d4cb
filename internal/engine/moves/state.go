package moves

import (
	"cmp"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/consolidate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/disrupt"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// State is what is remembered of moves and of the last search of the fleet. Without it, moves
// wait until the fleet is stable, and the next ones count as those after a first scale-down. A State is a value:
// Next returns another one.
type State struct {
	of            cluster.Snapshot
	at            time.Time
	again         time.Time // when a node may be deleted that may not be now; zero for never
	stability     stability
	undue         undue
	past          past
	horizon       time.Duration // of the last search; see past
	rests         time.Duration // for how long no search follows one that found nothing: grows with each Step that it took
	breakers      breakers
	coming        []coming            // see watch
	busy          time.Time           // when pods were last seen that are evicted or about to be; zero for never
	blockedSince  time.Time           // since when nothing begins, as such pods are under way; zero if none are
	outdated      int                 // searches in a row that were repeated
	moving        quantity.Money      // what moving a pod cost in the last search
	failedTargets int                 // targets in a row that came to nothing
	search        *consolidate.Search // not finished; nil if there is none
	target        target
	whole         wholeTries
	seen          seen
}

// marked returns the target as far as its nodes are marked. After one that came to nothing,
// the next is not marked before a node of it is deleted: the search may find the same again
// and again, as it does not know PodDisruptionBudgets.
func (s *State) marked() *target {
	if s.failedTargets > 0 {
		return &target{}
	}
	return &s.target
}

// undue is what nothing was due of, and until when that holds.
type undue struct {
	of    cluster.Snapshot // NodeClaims and supply; see cluster.Snapshot.Standing
	until time.Time        // when the next NodeClaim expires; zero for never
}

// overdue is disrupt.Overdue, which looks at each NodeClaim. As almost always none is due, and
// no NodeClaim has changed since the last Step, it remembers that; not with static pools, whose
// surplus depends on more.
func (s *State) overdue(v view.View) (list []disrupt.Due, next time.Time) {
	u, now := &s.undue, v.Snapshot.Standing()
	if u.of.Same(now) && (u.until.IsZero() || v.Now.Before(u.until)) {
		return nil, u.until
	}
	*u = undue{}
	static := slices.ContainsFunc(v.Snapshot.Supply().Pools, func(p cluster.Pool) bool { return p.Static })
	if list, next = disrupt.Overdue(v); len(list) == 0 && !static {
		*u = undue{now, next}
	}
	return list, next
}

// delay is for how long the fleet is not searched.
type delay struct {
	until time.Time
	why   plan.WaitReason
	says  string
}

// delay returns for how long the fleet is not searched, and whether it has to wait.
func (s *State) delay(v view.View) (d delay, waits bool) {
	if next := s.at.Add(s.pause(v.Snapshot)); v.Now.Before(next) {
		if s.rests > 0 {
			s.stability.unstableSince = time.Time{} // nobody waits until it is stable
		}
		return delay{next, plan.NextSweep, "the last search was a short time ago"}, true
	}
	until, stable := s.stability.reached(v.Snapshot.Bound().Pods, v.Now)
	return delay{until, plan.QuietLongEnough, "pods have come or gone, or nodes were launched, a short time ago"}, !stable
}

// expected returns for how long the fleet is not searched as things stand; zero where a
// search continues or comes next.
func (s *State) expected(v view.View) delay {
	later := *s // what is seen of its stability is noted in a copy
	switch end := s.at.Add(targetLasts); {
	case s.search != nil:
	case len(s.target.names) > 0 && v.Now.Before(end):
		return delay{until: end, says: "the nodes that the last search chose are deleted first, for five minutes at most"}
	case len(s.whole.queue) == 0:
		if d, waits := later.delay(v); waits {
			return d
		}
	}
	return delay{}
}

// underWay says whether pods are being evicted, or evicted pods may not have found their
// places yet, when to look again, and until when no removal begins for that at most. Until
// they have, the room that is seen is not what is left. A drain that takes long does not count.
func (s *State) underWay(v view.View, landing bool) (next, most time.Time, yes bool) {
	moving := landing || slices.ContainsFunc(v.Claims, func(c *cluster.Claim) bool {
		n, up := v.Snapshot.Node(c.Node)
		return up && (c.Disrupting != nil || n.Disrupted) && (!c.Leaving() || v.RunsPods(*c))
	})
	if moving {
		s.busy = v.Now
	}
	if s.busy.IsZero() || !v.Now.Before(s.busy.Add(landsWithin)) {
		s.blockedSince = time.Time{}
		return time.Time{}, time.Time{}, false
	}
	if s.blockedSince.IsZero() {
		s.blockedSince = v.Now
	}
	if most = s.blockedSince.Add(blockedFor); !v.Now.Before(most) {
		return time.Time{}, time.Time{}, false
	}
	if next = pick.Earliest(s.busy.Add(landsWithin), most); !moving {
		most = next
	}
	return next, most, true
}

// pause returns the least time between this search and the next: longer after one that found
// nothing, and after each one whose target came to nothing, as the next may find the same,
// unless the fleet has changed.
func (s *State) pause(now cluster.Snapshot) time.Duration {
	if s.changed(now) {
		return sweepEvery
	}
	return max(sweepEvery<<min(s.failedTargets, mostDoublings), s.rests)
}

// changed says whether many pods have come or gone since the search began.
func (s *State) changed(now cluster.Snapshot) bool {
	was, present := s.of.Bound().Pods, now.Bound().Pods
	return max(was, present)-min(was, present) > was/changedPart
}

const (
	// stableFor is how long no pod must have come or gone before the fleet is searched, so that
	// one target serves a whole scale-down.
	stableFor = 3 * time.Second
	// growthLasts is how long nothing must have been launched, so that pods that just came do
	// not move at once, unless many have left since.
	growthLasts = time.Minute
	// longestUnrest is how long the search waits for both at most.
	longestUnrest = 3 * time.Minute
)

// stability says when the pods of the fleet came and left last.
type stability struct {
	pods          int64     // that run on the fleet
	moved         time.Time // when that number changed last
	grew          time.Time // when a plan launched nodes last
	grown         int64     // the most pods that have run on the fleet since then
	unstableSince time.Time // since when the fleet has not been stable; zero if it is
}

// launches notes that a plan launches nodes.
func (c *stability) launches(pods int64, now time.Time) {
	if c.grew, c.grown = now, pods; c.unstableSince.IsZero() {
		c.unstableSince = now
	}
}

// reached says whether the fleet with so many pods is stable enough for a search; if not,
// until when to wait.
func (c *stability) reached(pods int64, now time.Time) (until time.Time, yes bool) {
	if pods != c.pods {
		c.pods, c.moved = pods, now
		if c.unstableSince.IsZero() {
			c.unstableSince = now
		}
	}
	c.grown = max(c.grown, c.pods)
	until = c.moved.Add(stableFor)
	if !c.grew.IsZero() && c.grown-c.pods <= c.grown/changedPart {
		until = pick.Latest(until, c.grew.Add(growthLasts))
	}
	until = pick.Earliest(until, c.unstableSince.Add(longestUnrest))
	if !c.unstableSince.IsZero() && now.Before(until) {
		return until, false
	}
	c.unstableSince = time.Time{}
	return until, true
}

// cooldowns says when nodes may be deleted that stay for pods that came in place of evicted
// ones; see memory.EvictionCooldown.
type cooldowns struct {
	first, last time.Time // zero if there are none
}

// mostBetween is how long after the first of them the fleet is searched at the latest.
const mostBetween = 5 * time.Minute

// with returns the times with one more node, which may be deleted then.
func (s cooldowns) with(at time.Time) cooldowns {
	return cooldowns{pick.Earliest(cmp.Or(s.first, at), at), pick.Latest(s.last, at)}
}

// nextSearch returns when the fleet is searched again. The cooldowns of the pods of one target
// end one after the other, and a search that may take away only a few nodes finds less than one that may
// take all.
func (s cooldowns) nextSearch() time.Time { return pick.Earliest(s.last, s.first.Add(mostBetween)) }
