package moves

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// A move costs once, and saves for as long as the demand stays where it is: demand that grows
// needs the nodes again, and demand that shrinks frees them anyway. Nobody knows for how long
// that is. So a saving is expected to last as long as the demand has stayed there until now,
// or as long as it did the last time, whichever is longer; and where that is not known,
// Policy.PayBack, which is also the most. What moves cost is spread over that time, the
// horizon: after a scale-down as the fleet has not seen one, all moves that pay are made at
// once, and where demand comes and goes every ten minutes, only those that pay back within
// ten minutes.

const (
	// A level is one that differs from that before by one pod of levelPart or more.
	levelPart = 1000
	// mostLevels is how many levels are remembered at least; twice as many at most.
	mostLevels = 10_000
	// leastHorizon bounds what moves cost in demand that never rests.
	leastHorizon = time.Second
)

// past is how much demand there was, and since when: a list that is never changed, only
// replaced.
type past struct {
	last *level
}

// observe notes how much demand there is, unless pods are on their way from a node to
// another: they may be missing for as long as that takes.
func (s *State) observe(v view.View, landing bool) {
	later := *s
	if _, _, moving := later.underWay(v, landing); !moving {
		s.past.sees(demand(v.Snapshot), v.Now)
	}
}

// level is how many pods there were from a time on.
type level struct {
	from   time.Time
	pods   int64
	before *level // nil where nothing is known of before
	number int
}

// demand returns how many pods run or are to run; those that go with their nodes do not count.
func demand(s cluster.Snapshot) (pods int64) {
	for state := range s.States() {
		pods += state.CountMoving()
	}
	for g := range s.PendingGroups() {
		pods += g.PendingCount()
	}
	return pods
}

// sees notes how many pods there are now.
func (p *past) sees(pods int64, now time.Time) {
	if p.last != nil && p.last.from.After(now) { // the clock went back
		p.last = nil
	}
	switch l := p.last; {
	case l == nil:
		p.last = &level{from: now, pods: pods}
	case pods != l.pods && distance(pods, l.pods)*levelPart >= l.pods:
		p.last = &level{now, pods, l, l.number + 1}
		if p.last.number == 2*mostLevels {
			p.last = p.last.newest(mostLevels)
		}
	}
}

// distance is how far two numbers are from each other.
func distance(a, b int64) int64 { return max(a, b) - min(a, b) }

// newest returns the list of the newest so many levels.
func (l *level) newest(most int) *level {
	out := *l
	if out.number = most - 1; most == 1 {
		out.before = nil
	} else {
		out.before = l.before.newest(most - 1)
	}
	return &out
}

// horizon returns for how long a saving is expected to last in a fleet of so many nodes, most
// at most. The demand is where it was as long as it has changed by no more pods than an average
// node has: that needs no other nodes.
func (p *past) horizon(nodes int, now time.Time, most time.Duration) time.Duration {
	if p.last == nil {
		return most
	}
	pods := p.last.pods
	some := max(1, pods/int64(max(1, nodes)))
	notMore := func(was int64) bool { return was <= pods+some }
	notLess := func(was int64) bool { return was >= pods-some }
	return min(most, p.stay(now, most, notMore), p.stay(now, most, notLess))
}

// stay returns how long the demand has been so until now, or was so the last time before,
// whichever is longer; most where either began before all that is known, or lasted as long.
func (p *past) stay(now time.Time, most time.Duration, so func(pods int64) bool) time.Duration {
	l, from := p.last, now
	skip := func(is bool, until time.Time) (known bool) {
		for l != nil && so(l.pods) == is {
			if l, from = l.before, l.from; is && until.Sub(from) >= most {
				return false
			}
		}
		return l != nil
	}
	if !skip(true, now) {
		return most
	}
	lasts := now.Sub(from)
	if !skip(false, now) {
		return most
	}
	end := from
	if !skip(true, end) {
		return most
	}
	return max(lasts, end.Sub(from), leastHorizon)
}

// each returns for how long of each hour something is paid for that costs as much as it does
// in the time, once, if that is spread over the horizon of the last search.
func (s *State) each(cost time.Duration) time.Duration {
	return time.Duration(quantity.MulDiv(int64(cost), int64(time.Hour), int64(max(s.horizon, leastHorizon))))
}

// share is how much of their price new nodes have to save, in thousandths.
func (s *State) share(p view.Policy) int64 {
	return quantity.MulDiv(int64(s.each(p.MoveTime)), 1000, int64(time.Hour))
}
