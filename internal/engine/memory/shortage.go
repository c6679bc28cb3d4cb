package memory

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// The pauses after failed launches. One rule holds for all: what has failed is tried again
// by one launch at a time, later after each failure in a row; what has not failed is tried
// at once. For demand that nothing can be launched for, that makes at most some ten
// launches to find out, and then one each retryGap: fewer than 30 an hour.
const (
	// firstPause is how long an offering is left out after a launch that failed for lack of
	// its capacity; as long as Karpenter does. The pause doubles with each failed launch in a
	// row, up to longestPause: so long it takes at most until a quota that was raised is found.
	firstPause   = 3 * time.Minute
	longestPause = 10 * time.Minute
	// retryGap is the least time between two failed launches of a pool into offerings of
	// which all had failed before: 6 an hour.
	retryGap = 10 * time.Minute
	// forgetAfter is how long after the end of its pause a failure counts for the next one.
	// Retries begin with what is cheap. What is dear is tried again with the rest when it is
	// forgotten, about once an hour.
	forgetAfter = time.Hour
	// widerBy and widest are how a launch chooses among dearer types after failures in a row;
	// see Wider. The widest choice is types of five times the price of the cheapest, in
	// thousandths above it: for spot, EC2 weighs capacity against price.
	widerBy = 16
	widest  = 4_000
)

// Shortages is what is known of capacity from launches. Penalties hold for all pools: the
// account's quotas and the zones' capacity are the same for all.
type Shortages struct {
	Unavailable []Penalty // sorted by scope
	Failing     []Failing // sorted by pool and segment

	Pace int64 // see Paced; zero is 1,000
}

// Paced makes shortages whose pauses are shorter, for laboratories whose time goes faster: by how
// many thousandths of their own pace.
func Paced(thousandths int64) Shortages { return Shortages{Pace: thousandths} }

// paced is how long a pause is at the pace.
func paced(d time.Duration, thousandths int64) time.Duration {
	return d * 1000 / time.Duration(cmp.Or(thousandths, 1000))
}

// Penalty keeps offerings that had no capacity out of plans for a while.
type Penalty struct {
	catalog.Scope

	Until time.Time
	Pause time.Duration // the last one
	Why   Cause
}

// Cause is what the cloud said about a failure.
type Cause struct{ Code, Message string }

// Failing is a part of a pool of which the last launches failed, without a success since.
type Failing struct {
	Pool, CapacityType, Quota string // see catalog.QuotaOf

	Failures int       // in a row
	Last     time.Time // the last of them
	Retry    time.Time // nothing that has failed before is tried for the pool until then; zero for no pause
}

func (f Failing) compare(o Failing) int {
	return cmp.Or(strings.Compare(f.Pool, o.Pool), strings.Compare(f.CapacityType, o.CapacityType), strings.Compare(f.Quota, o.Quota))
}

// Lack is an offering that a launch tried in vain, and how much more that shows to be
// exhausted.
type Lack struct {
	Offering catalog.OfferingKey
	Reach    catalog.Reach
	Why      Cause
}

// Tried is what came of a launch.
type Tried struct {
	Pool     string
	Launched catalog.OfferingKey // zero if nothing was launched
	Lacks    []Lack
	// Warned says that nothing was tried: the cloud takes back an instance of the offerings that
	// Lacks has, and they are left out for as long as after one failure, as with Karpenter.
	Warned bool
}

// After returns what is known after the launch.
func (s Shortages) After(t Tried, now time.Time) Shortages {
	s = s.lasting(now)
	failed := !t.Warned && t.Launched == catalog.OfferingKey{}
	news, fresh := s.penalize(t.Lacks, failed, now)
	switch {
	case t.Warned:
	case !failed:
		s.Unavailable = pick.Those(s.Unavailable, func(p Penalty) bool { return !p.Covers(t.Launched) })
		works := segment(t.Pool, t.Launched)
		s.Failing = pick.Those(s.Failing, func(f Failing) bool { return f.compare(works) != 0 })
	case news:
		s.fail(t, !fresh, now)
	}
	return s
}

// penalize leaves out what lacks capacity. It says whether any of that was not left out
// already, and whether any of that has not failed before. The answers to launches that were
// under way together make no pause longer.
func (s *Shortages) penalize(lacks []Lack, failed bool, now time.Time) (news, fresh bool) {
	var added []Penalty
	known := slices.Clone(s.Unavailable)
	for _, l := range lacks {
		scope := l.Offering.Scope(l.Reach)
		i, found := slices.BinarySearchFunc(known, scope, func(p Penalty, scope catalog.Scope) int { return p.Compare(scope) })
		switch {
		case !found:
			added, news, fresh = append(added, Penalty{scope, now.Add(paced(firstPause, s.Pace)), firstPause, l.Why}), true, true
		case now.Before(known[i].Until):
		default:
			pause := firstPause
			if news = true; failed {
				pause = min(2*known[i].Pause, longestPause)
			}
			known[i] = Penalty{scope, now.Add(paced(pause, s.Pace)), pause, l.Why}
		}
	}
	known = append(known, added...)
	slices.SortStableFunc(known, func(a, b Penalty) int { return a.Compare(b.Scope) })
	s.Unavailable = slices.CompactFunc(known, func(a, b Penalty) bool { return a.Scope == b.Scope })
	return news, fresh
}

// fail counts the failure once for each part of the pool that the launch was to choose from.
func (s *Shortages) fail(t Tried, again bool, now time.Time) {
	s.Failing = slices.Clone(s.Failing)
	counted := map[Failing]bool{}
	for _, l := range t.Lacks {
		f := segment(t.Pool, l.Offering)
		if counted[f] {
			continue
		}
		counted[f] = true
		i, found := slices.BinarySearchFunc(s.Failing, f, Failing.compare)
		if !found {
			s.Failing = slices.Insert(s.Failing, i, f)
		}
		x := &s.Failing[i]
		if x.Failures, x.Last = x.Failures+1, now; again {
			x.Retry = now.Add(paced(retryGap, s.Pace))
		}
	}
}

func segment(pool string, k catalog.OfferingKey) Failing {
	return Failing{Pool: pool, CapacityType: k.CapacityType, Quota: catalog.QuotaOf(k.InstanceType)}
}

// lasting returns what still counts. A time later than now, which occurs if the clock went
// back, becomes now.
func (s Shortages) lasting(now time.Time) Shortages {
	s.Unavailable = pick.Those(s.Unavailable, func(p Penalty) bool {
		return now.Before(p.Until.Add(forgetAfter))
	})
	s.Failing = pick.Those(s.Failing, func(f Failing) bool { return now.Before(f.Last.Add(longestPause + forgetAfter)) })
	for i := range s.Failing {
		if f := &s.Failing[i]; f.Last.After(now) {
			f.Last, f.Retry = now, time.Time{}
		}
	}
	return s
}

// Shut returns until when the offering is excluded from plans of the pool, and why; nothing
// if it is not.
func (s Shortages) Shut(pool string, k catalog.OfferingKey, now time.Time) (until time.Time, why Cause, shut bool) {
	before := false // it has failed before
	note := func(p Penalty) {
		before = true
		if now.Before(p.Until) && p.Until.After(until) {
			until, why, shut = p.Until, p.Why, true
		} else if !shut {
			why = p.Why
		}
	}
	for _, p := range s.Unavailable {
		if p.InstanceType != "" {
			break // those of several offerings come first
		}
		if p.Covers(k) {
			note(p)
		}
	}
	scope := catalog.Scope{OfferingKey: k}
	i, found := slices.BinarySearchFunc(s.Unavailable, scope, func(p Penalty, scope catalog.Scope) int { return p.Compare(scope) })
	if found {
		note(s.Unavailable[i])
	}
	if !before {
		return until, why, shut
	}
	for _, f := range s.Failing {
		if f.Pool == pool && now.Before(f.Retry) && f.Retry.After(until) {
			until, shut = f.Retry, true
		}
	}
	return until, why, shut
}

// Failures returns how many launches of the pool in a row have found no capacity for
// offerings of the same capacity type and quota as this one.
func (s Shortages) Failures(pool string, k catalog.OfferingKey) int {
	i, found := slices.BinarySearchFunc(s.Failing, segment(pool, k), Failing.compare)
	if !found {
		return 0
	}
	return s.Failing[i].Failures
}

// Wider returns the tolerance of prices, in thousandths, of a launch after so many failures
// in a row: widerBy times as much after each. EC2 still takes what is cheap and has
// capacity; without that, a catalogue would be walked through a few types at a time.
func Wider(tolerance int64, failures int) int64 {
	for ; failures > 0 && tolerance < widest; failures-- {
		tolerance = min(widerBy*tolerance, widest)
		if tolerance == 0 {
			break // no dearer type is allowed
		}
	}
	return tolerance
}
