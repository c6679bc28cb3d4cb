package shadow

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/simulate"
)

// keptFor is how long the history lasts: 30 days of hours fit into a ConfigMap.
const keptFor = 30 * 24 * time.Hour

// mostBetween is how much time one look speaks for at most: longer than that nobody has looked, and
// nobody knows.
const mostBetween = 5 * time.Minute

// History is what was seen, hour by hour, the oldest first.
type History []Hour

// Hour is what was seen in an hour. Money is in dollars.
type Hour struct {
	Start   time.Time `json:"start"`
	Seconds float64   `json:"seconds"` // of the hour, that looks speak for
	// Paid is what the fleet has cost in these seconds, Forecast what it would have cost as the
	// daemon's forecasts say, and Bound the least that any fleet for the same pods costs.
	Paid     float64  `json:"paid"`
	Forecast float64  `json:"forecast"`
	Bound    float64  `json:"bound"`
	Unplaced int      `json:"unplaced,omitempty"` // the most pods that the daemon had no place for
	Launches Launches `json:"launches,omitzero"`
}

// Launches adds up nodes that the other program has launched, and what the daemon would have
// launched for their pods.
type Launches struct {
	Theirs simulate.Side `json:"theirs"`
	Ours   simulate.Side `json:"ours"`
	// Unplaced are nodes that are left out: the daemon has no place for a pod of theirs.
	Unplaced int `json:"unplaced,omitempty"`
	// Waited is how many NodeClaims say how long after their last pod they were made, and
	// WaitedSeconds is how long together.
	Waited        int     `json:"waited,omitempty"`
	WaitedSeconds float64 `json:"waitedSeconds,omitempty"`
}

// add adds a comparison. Of a side, the names of types are left out.
func (l *Launches) add(c simulate.Comparison) {
	if c.Unplaced > 0 {
		l.Unplaced += c.Theirs.Nodes
		return
	}
	l.Theirs.Nodes += c.Theirs.Nodes
	l.Theirs.CostPerHour += c.Theirs.CostPerHour
	l.Ours.Nodes += c.Ours.Nodes
	l.Ours.CostPerHour += c.Ours.CostPerHour
	l.Waited += len(c.WaitedSeconds)
	for _, s := range c.WaitedSeconds {
		l.WaitedSeconds += s
	}
}

// merge adds what another hour has.
func (l *Launches) merge(o Launches) {
	l.Theirs.Nodes += o.Theirs.Nodes
	l.Theirs.CostPerHour += o.Theirs.CostPerHour
	l.Ours.Nodes += o.Ours.Nodes
	l.Ours.CostPerHour += o.Ours.CostPerHour
	l.Unplaced += o.Unplaced
	l.Waited += o.Waited
	l.WaitedSeconds += o.WaitedSeconds
}

// hour is the one of the time, at the end of the history; what is too old goes.
func (h *History) hour(now time.Time) *Hour {
	start := now.UTC().Truncate(time.Hour)
	*h = slices.DeleteFunc(*h, func(x Hour) bool { return start.Sub(x.Start) >= keptFor })
	if n := len(*h); n == 0 || (*h)[n-1].Start.Before(start) {
		*h = append(*h, Hour{Start: start})
	}
	return &(*h)[len(*h)-1]
}

// look adds what a look has seen, which speaks for the time since the last one.
func (h *History) look(now time.Time, since time.Duration, f *simulate.Forecast, c *simulate.Comparison) {
	x, hours := h.hour(now), min(since, mostBetween).Hours()
	x.Seconds += hours * time.Hour.Seconds()
	x.Paid += f.Now.CostPerHour * hours
	x.Forecast += f.Then.CostPerHour * hours
	x.Bound += f.Now.BoundPerHour * hours
	x.Unplaced = max(x.Unplaced, f.UnplacedPods())
	if c != nil {
		x.Launches.add(*c)
	}
}

// Observed is the history as the report has it; nil where nothing was seen.
func (h History) Observed() *simulate.Observed {
	s := h.Sum()
	if s.Seconds <= 0 {
		return nil
	}
	hours := s.Seconds / time.Hour.Seconds()
	l := &s.Launches
	out := &simulate.Observed{
		Since: s.Start, Hours: hours, PaidPerHour: s.Paid / hours, ForecastPerHour: s.Forecast / hours, BoundPerHour: s.Bound / hours,
		Saved: s.Paid - s.Forecast, Theirs: l.Theirs, Ours: l.Ours, Unplaced: l.Unplaced,
	}
	if s.Paid > 0 {
		out.SavedPercent = 100 * out.Saved / s.Paid
	}
	if l.Waited > 0 {
		out.WaitedSeconds = l.WaitedSeconds / float64(l.Waited)
	}
	return out
}

// Sum adds up the history; the start is that of the first hour.
func (h History) Sum() (out Hour) {
	for i, x := range h {
		if i == 0 {
			out.Start = x.Start
		}
		out.Seconds += x.Seconds
		out.Paid += x.Paid
		out.Forecast += x.Forecast
		out.Bound += x.Bound
		out.Unplaced = max(out.Unplaced, x.Unplaced)
		out.Launches.merge(x.Launches)
	}
	return out
}

// then is the history with a later one. An hour that both have is added up.
func (h History) then(later History) History {
	out := slices.Clone(h)
	for _, x := range later {
		n := len(out) - 1
		if n < 0 || out[n].Start.Before(x.Start) {
			out = append(out, x)
			continue
		}
		both := History{out[n], x}.Sum()
		out[n] = both
	}
	return out
}
