package moves

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/consolidate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// A move costs once, and saves until the demand has moved by as much as was saved: if it has
// grown by that, the nodes are launched again, and if it has shrunk by that, they would have
// emptied by themselves. What moves cost is spread over that time, the horizon. Nobody knows how
// long it will be. It is taken to be the shorter one of two times, and Policy.PayBack at most:
//
//   - How long the demand has stayed where it is, or stayed there the last time; Policy.PayBack
//     where it was never so before (past.stay). This tells quickly of demand that comes and goes.
//   - How long the demand of the last hours took to move by parts of what could be saved
//     (trend.lasts). This tells of demand that grows or shrinks all the time.
//
// So after a scale-down as the fleet has not seen one, all moves that pay are made at once;
// where demand comes and goes every ten minutes, only those that pay back within ten minutes;
// and where it grows or shrinks for hours, few before much could be saved.

const (
	// A level is one that differs from that before by one pod of levelPart or more.
	levelPart = 1000
	// mostLevels is how many levels are remembered at least; twice as many at most.
	mostLevels = 10_000
	// leastHorizon bounds what moves cost in demand that never rests.
	leastHorizon = time.Second
	// The trend has the demand at the end of each part of this length, as far back as noted
	// parts. Noise within a part does not count.
	partTime = time.Minute
	noted    = 240
	// depths is of how many parts of what could be saved it is asked how long the demand takes
	// to move by as much.
	depths = 8
)

// past is the demand of before: its levels, a list that is never changed, only replaced, and its
// trend.
type past struct {
	last  *level
	trend *trend
}

// observe notes how much demand there is, unless pods are on their way from a node to
// another: they may be missing for as long as that takes.
func (s *State) observe(v view.View, landing bool) {
	later := *s
	if _, _, moving := later.underWay(v, landing); !moving {
		pods := demand(v.Snapshot)
		s.past.sees(pods, v.Now)
		s.past.trend = s.past.trend.sees(pods, v.Now.UnixNano()/int64(partTime))
	}
}

// level is how many pods there were from a time on.
type level struct {
	from   time.Time
	pods   int64
	before *level // nil where nothing is known of before
	number int
}

// demand returns how many pods run or are to run; those that are deleted with their nodes do
// not count.
func demand(s cluster.Snapshot) (pods int64) {
	pods = s.Bound().Moving
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
// at most, where the nodes that could be saved would run so many pods. The demand is where it was
// as long as it has changed by no more pods than an average node has: that needs no other nodes.
func (p *past) horizon(nodes int, saved int64, now time.Time, most time.Duration) time.Duration {
	if p.last == nil {
		return most
	}
	pods := p.last.pods
	margin := max(1, pods/int64(max(1, nodes)))
	notMore := func(was int64) bool { return was <= pods+margin }
	notLess := func(was int64) bool { return was >= pods-margin }
	return min(most, p.stay(now, most, notMore), p.stay(now, most, notLess), p.trend.lasts(saved, most))
}

// stay returns how long the demand has been so until now, or was so the last time before,
// whichever is longer; most where either began before all that is known, or lasted as long.
func (p *past) stay(now time.Time, most time.Duration, so func(pods int64) bool) time.Duration {
	l, from := p.last, now
	skip := func(inside bool, until time.Time) (known bool) {
		for l != nil && so(l.pods) == inside {
			if l, from = l.before, l.from; inside && until.Sub(from) >= most {
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

// trend is how much demand there was at the end of each part, the newest first; pods[0] is that
// of the present part, which has not ended. A trend is never changed, only replaced.
type trend struct {
	part  int64 // the number of the present one
	known int   // how many parts are known; before, the demand is taken to have been the same
	pods  [noted]int64
}

// sees returns the trend with so many pods now, in the part. Parts in which nothing was seen had
// as many as the one before. A clock that goes back by a moment may go back by a part.
func (t *trend) sees(pods, part int64) *trend {
	if t != nil && part == t.part-1 {
		part = t.part
	}
	if t == nil || part < t.part { // the clock went back by more
		return &trend{part: part, known: 1, pods: [noted]int64{pods}}
	}
	passed := int(min(part-t.part, noted))
	if passed == 0 && t.pods[0] == pods {
		return t
	}
	out := &trend{part: part, known: min(t.known+passed, noted)}
	copy(out.pods[passed:], t.pods[:])
	for i := range passed {
		out.pods[i] = t.pods[0]
	}
	out.pods[0] = pods
	return out
}

// lasts returns for how long it lasts if so many pods are saved, most at most. The first pod that
// comes needs the node that was deleted last, so the savings of few pods end long before that of
// all: it is asked how often the demand moves by each part of them, and the average counts. Where
// the demand moves steadily, that is about a quarter of the time that it takes to move by all.
func (t *trend) lasts(saved int64, most time.Duration) time.Duration {
	if t == nil || saved <= 0 {
		return most
	}
	const fine = 1 << 20
	often := int64(0) // how often in most, times depths and fine
	for i := range int64(depths) {
		often += quantity.MulDiv(int64(most), fine, int64(t.stays(max(1, quantity.MulDiv(saved, 2*i+1, 2*depths)), most)))
	}
	return time.Duration(quantity.MulDiv(int64(most), depths*fine, often)).Round(time.Second)
}

// stays returns how long the demand stays within so many pods of where it is, on average at all
// times: a stay counts for as long as it was.
func (t *trend) stays(margin int64, most time.Duration) time.Duration {
	squares := 0
	for i := 0; i < t.known; {
		from := i
		for i < t.known && distance(t.pods[i], t.pods[from]) <= margin {
			i++
		}
		stay := i - from
		if i == t.known {
			stay = noted - from
		}
		squares += stay * stay
	}
	return min(most, time.Duration(quantity.MulDiv(int64(partTime), int64(squares), noted)))
}

// begin begins the search with what moves cost within the horizon, which is found here.
func (s *State) begin(q consolidate.Question, v view.View) *consolidate.Search {
	prices := consolidate.PricesOf(q)
	s.horizon = s.past.horizon(v.Snapshot.NodeCount(), prices.CouldSave(), v.Now, v.Policy.PayBack)
	return prices.Begin(s.each(v.Policy.MoveTime))
}

// each returns for how long of each hour something is paid for that costs as much as it does
// in the time, once, if that is spread over the horizon of the last search.
func (s *State) each(cost time.Duration) time.Duration {
	return time.Duration(quantity.MulDiv(int64(cost), int64(time.Hour), int64(max(s.horizon, leastHorizon))))
}
