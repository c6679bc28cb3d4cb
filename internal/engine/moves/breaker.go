package moves

import (
	"maps"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// breaker holds moves of a pool back after one that went wrong: soon after it, nodes were
// launched for a good part of the pods that it evicted to save money, or a replacement of the
// pool did not come up. Without it, a fleet whose pods the scheduler spreads in another way than
// planned would be rearranged again and again, and a pool with a broken image would launch
// nodes again and again. Pools do not hold each other back.
type breaker struct {
	tripped time.Time // last; zero for never
	pause   time.Duration
}

// breakers are those of the pools that have tripped, by pool. A map is never changed once
// it is in a memory.
type breakers map[string]breaker

// open returns until when moves of the pool are held back, and whether they are.
func (b breakers) open(pool string, now time.Time) (until time.Time, yes bool) {
	until = b[pool].until()
	return until, now.Before(until)
}

// trip returns the breakers with that of the pool tripped.
func (b breakers) trip(pool string, now time.Time) breakers {
	out := maps.Clone(b)
	if out == nil {
		out = breakers{}
	}
	out[pool] = out[pool].trip(now)
	return out
}

const (
	// Moves of a pool are undone if nodes are launched for at least such a part of the pods
	// that they evicted.
	undonePart = 4
	// Each pause is twice as long as the last one, from firstPause to longestPause.
	firstPause   = time.Minute
	longestPause = 4 * time.Hour
	// The next pause is the first again once moves have continued for forgivenAfter times
	// as long as the last one, or for forgiven: moves that go wrong now and then, among
	// many, cost little time.
	forgivenAfter = 10
	forgiven      = 12 * time.Hour
)

// until returns when moves may begin again.
func (b breaker) until() time.Time { return b.tripped.Add(b.pause) }

// trip returns the breaker with a pause from now on, twice as long as the last one. What
// happens during a pause does not make it longer.
func (b breaker) trip(now time.Time) breaker {
	switch {
	case b.pause == 0 || !now.Before(b.tripped.Add(min(b.pause+forgivenAfter*b.pause, forgiven))):
		return breaker{now, firstPause}
	case now.Before(b.until()):
		return b
	}
	return breaker{now, min(2*b.pause, longestPause)}
}

// undone names the pools, sorted, of which nodes were deleted to save money a short time ago to no use:
// the plan launches nodes for a good part of the pods that were evicted there. One pod of many
// that has lost its place to another is no reason to stop, nor are pods that controllers have
// added since.
func undone(v view.View, out *Draft) (pools []string) {
	missing := map[string]int64{} // pods to launch for, by kind
	for _, a := range out.Plan.Actions {
		if l, ok := a.(plan.Launch); ok {
			for _, x := range l.Planned {
				missing[x.Kind] += x.Count
			}
		}
	}
	lately := pick.Those(out.Memory.Evicted, func(e memory.Evicted) bool { return v.Now.Before(e.Saving.Add(memory.UndoneWithin)) })
	if len(missing) == 0 || len(lately) == 0 {
		return nil
	}
	are, staying := map[string]int64{}, memory.Staying(v.Snapshot) // pods of these kinds
	for g := range v.Snapshot.Groups() {
		if missing[g.Kind] > 0 {
			are[g.Kind] = staying(g)
		}
	}
	moved, back := map[string]int64{}, map[string]int64{} // by pool
	for _, e := range lately {
		evicted := max(e.Saved, 1) // a memory that has just begun does not know how many
		moved[e.Pool] += evicted
		added := int64(0)
		if e.Saved > 0 {
			added = max(0, are[e.Kind]-e.Of)
		}
		back[e.Pool] += min(evicted, max(0, missing[e.Kind]-added))
	}
	for pool, n := range back {
		if n > 0 && n*undonePart >= moved[pool] {
			pools = append(pools, pool)
		}
	}
	slices.Sort(pools)
	return pools
}

// unready returns the NodePools of which a drain waits for replicas that do not get ready,
// each with a node of such a drain. No other node of the pool is deleted meanwhile if pods
// have to be evicted for that: what keeps these replicas from getting ready may keep others. The
// NodeClaim says so, and so a restart forgets nothing.
func unready(v view.View) map[string]string {
	var out map[string]string
	for _, c := range v.Claims {
		if c.Deleting && c.ReplicasLate {
			if out == nil {
				out = map[string]string{}
			}
			out[c.Pool] = c.Node
		}
	}
	return out
}

// coming is a replacement that is not initialized yet.
type coming struct{ claim, uid, pool string }

// watch trips the breakers of pools whose moves were undone, or whose replacements are deleted
// before they were initialized. Those that the plan deletes count if they did not come up in
// time.
func (s *State) watch(v view.View, actions []plan.Action, undone []string) {
	for _, pool := range undone {
		s.breakers = s.breakers.trip(pool, v.Now)
	}
	for _, x := range s.coming {
		c, there := v.Snapshot.Claim(x.claim)
		if there = there && c.UID == x.uid; !there || c.Deleting && !c.Initialized && c.Interruption == nil {
			s.breakers = s.breakers.trip(x.pool, v.Now)
		}
	}
	deleted := map[string]plan.DeleteReason{}
	for _, a := range actions {
		if d, ok := a.(plan.Delete); ok {
			deleted[d.Claim] = d.Why
		}
	}
	s.coming = nil
	for _, c := range v.Claims {
		why, ends := deleted[c.Name]
		switch {
		case c.Move == nil || c.Initialized || c.Leaving():
		case !ends:
			s.coming = append(s.coming, coming{c.Name, c.UID, c.Pool})
		case why.Traits().Lacks != "":
			s.breakers = s.breakers.trip(c.Pool, v.Now)
		}
	}
}

// holdsLaunch says whether the breaker of a pool holds back one of the plan's launches. If
// so, the plan asks for another Step when it does not any more.
func holdsLaunch(m *mover, actions []plan.Action) bool {
	return slices.ContainsFunc(actions, func(a plan.Action) bool {
		l, ok := a.(plan.Launch)
		return ok && holds(m, l.Pool)
	})
}

// holds says whether the breaker of the pool holds moves back now.
func holds(m *mover, pool string) bool {
	until, open := m.state.breakers.open(pool, m.View.Now)
	if open {
		m.wait(until, plan.QuietLongEnough)
	}
	return open
}
