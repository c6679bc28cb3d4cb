package shadow

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/simulate"
)

// mostHours is how many hours the history has: 30 days of them fit into a ConfigMap.
const mostHours = 30 * 24

// mostBetween is how much time one look speaks for at most: longer than that nobody has looked, and
// nobody knows.
const mostBetween = 5 * time.Minute

// History is what was seen, hour by hour, the oldest first.
type History []Hour

// Hour is what was seen in an hour. Money is in dollars.
type Hour struct {
	Start   time.Time `json:"start"`   // of the first look in the hour
	Seconds float64   `json:"seconds"` // of the hour, that looks speak for
	// Nodes says which nodes may be replaced.
	Nodes simulate.Nodes `json:"nodes,omitempty"`
	// Paid is what the fleet has cost in these seconds, Forecast what it would have cost as the
	// daemon's forecasts say, and Bound the least that any fleet for the same pods costs.
	Paid     float64  `json:"paid"`
	Forecast float64  `json:"forecast"`
	Bound    float64  `json:"bound"`
	Launches Launches `json:"launches,omitzero"`
}

// Launches adds up nodes that the other program has launched, and what the daemon would have
// launched for their pods.
type Launches struct {
	Theirs  simulate.Side `json:"theirs"` // without the names of types
	Ours    simulate.Side `json:"ours"`
	LeftOut int           `json:"leftOut,omitempty"` // nodes that could not be compared
	// Waited is how many NodeClaims say how long after their last pod they were made, and
	// WaitedSeconds is how long together.
	Waited        int     `json:"waited,omitempty"`
	WaitedSeconds float64 `json:"waitedSeconds,omitempty"`
}

// launchesOf are those of one comparison, and of nodes that are given up.
func launchesOf(c simulate.Comparison, givenUp int) Launches {
	out := Launches{Theirs: c.Theirs, Ours: c.Ours, LeftOut: len(c.LeftOut) + givenUp, Waited: len(c.WaitedSeconds)}
	out.Theirs.Types, out.Ours.Types = nil, nil
	for _, s := range c.WaitedSeconds {
		out.WaitedSeconds += s
	}
	return out
}

// add adds what another one has.
func (l *Launches) add(o Launches) {
	l.Theirs.Nodes += o.Theirs.Nodes
	l.Theirs.CostPerHour += o.Theirs.CostPerHour
	l.Ours.Nodes += o.Ours.Nodes
	l.Ours.CostPerHour += o.Ours.CostPerHour
	l.LeftOut += o.LeftOut
	l.Waited += o.Waited
	l.WaitedSeconds += o.WaitedSeconds
}

// hour is the one of the time. Hours that are still to come are of a clock that was wrong, and go.
func (h *History) hour(now time.Time) *Hour {
	same := func(x Hour) bool { return x.Start.Truncate(time.Hour).Equal(now.UTC().Truncate(time.Hour)) }
	*h = slices.DeleteFunc(*h, func(x Hour) bool { return x.Start.After(now) && !same(x) })
	if n := len(*h); n == 0 || !same((*h)[n-1]) {
		*h = append(*h, Hour{Start: now.UTC()})
	}
	*h = (*h)[max(0, len(*h)-mostHours):]
	return &(*h)[len(*h)-1]
}

// look adds what a look has seen, which speaks for the time since the last one.
func (h *History) look(now time.Time, since time.Duration, nodes simulate.Nodes, f *simulate.Forecast, l Launches) {
	x, hours := h.hour(now), max(0, min(since, mostBetween)).Hours()
	x.Nodes = nodes
	x.Seconds += hours * time.Hour.Seconds()
	x.Paid += f.Now.CostPerHour * hours
	x.Forecast += f.Then.CostPerHour * hours
	x.Bound += f.Now.BoundPerHour * hours
	x.Launches.add(l)
}

// Observed is the history as the report has it; nil where nothing was seen.
func (h History) Observed() *simulate.Observed {
	s := h.Sum()
	if s.Seconds <= 0 {
		return nil
	}
	hours, l := s.Seconds/time.Hour.Seconds(), &s.Launches
	out := &simulate.Observed{
		Since: s.Start, Hours: hours, PaidPerHour: s.Paid / hours, ForecastPerHour: s.Forecast / hours, BoundPerHour: s.Bound / hours,
		Saved: s.Paid - s.Forecast, Nodes: s.Nodes, Theirs: l.Theirs, Ours: l.Ours, LeftOut: l.LeftOut,
	}
	if s.Paid > 0 {
		out.SavedPercent = 100 * out.Saved / s.Paid
	}
	if l.Waited > 0 {
		out.WaitedSeconds = l.WaitedSeconds / float64(l.Waited)
	}
	return out
}

// Sum adds up the history. Only hours count in which the same nodes could be replaced as in the last
// one: what a fleet costs and what a part of it costs do not add up.
func (h History) Sum() (out Hour) {
	for _, x := range h {
		if x.Nodes != h[len(h)-1].Nodes {
			continue
		}
		if out.Start.IsZero() {
			out.Start, out.Nodes = x.Start, x.Nodes
		}
		out.Seconds += x.Seconds
		out.Paid += x.Paid
		out.Forecast += x.Forecast
		out.Bound += x.Bound
		out.Launches.add(x.Launches)
	}
	return out
}

// then is the history with a later one. An hour that both have is added up.
func (h History) then(later History) History {
	out := slices.Clone(h)
	for _, x := range later {
		n := len(out) - 1
		if n < 0 || out[n].Nodes != x.Nodes || !out[n].Start.Truncate(time.Hour).Equal(x.Start.Truncate(time.Hour)) {
			out = append(out, x)
			continue
		}
		both := History{out[n], x}.Sum()
		out[n] = both
	}
	return out
}
