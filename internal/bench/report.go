package bench

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Units of the figures that the benchmarks report, beside those of package
// testing.
const (
	UnitNanos     = "ns/op"
	UnitBytes     = "B/op"
	UnitWorst     = "worst-ms"
	UnitCost      = "$/h"
	UnitBound     = "bound-$/h"
	UnitGap       = "gap-%"       // the median's, above the bound
	UnitWorstGap  = "worst-gap-%" // of all inputs
	UnitNodes     = "nodes"
	UnitUnplaced  = "unplaced"         // of all inputs, the most
	UnitSatisfied = "preferred-weight" // of preferences met for certain
	UnitSlower    = "slower-%"
	UnitDrawn     = "drawn-seed"

	// The same inputs with the daemon's default node cost, the medians.
	UnitDefaultCost  = "default-$/h" // of instances
	UnitDefaultNodes = "default-nodes"
	UnitDefaultGap   = "default-gap-%" // of all that nodes cost, above the bound

	UnitArrivalsOver    = "%over"    // cost above the bound when all pods run
	UnitArrivalsSettled = "%settled" // the same, a while later
	UnitArrivalsMay     = "%required"
	UnitWait            = "wait-s" // that a pod has for a decision, the median
	UnitWait95          = "wait95-s"

	UnitSteps         = "steps"      // of one operation
	UnitLaunches      = "launched-%" // of the starting nodes, the most of all inputs
	UnitEvictions     = "evictions/pod"
	UnitEvictionsHour = "evictions/h"
	UnitLaunchesHour  = "launches/h"
	UnitOfScratch     = "x-scratch-nodes" // nodes for each node of a plan from scratch
	UnitRepeated      = "evicted-twice"   // within ten minutes
	UnitViolations    = "violations"      // of the rules that the simulator checks
	UnitNear          = "within4%-s"      // until the cost stays within 4 % of the bound; +Inf for never
	UnitClose         = "within2.5%-s"    // the same of 2.5 %
)

// Metrics are the figures of one benchmark, by unit.
type Metrics map[string]float64

// String says what was measured.
func (m Metrics) String() string {
	var parts []string
	say := func(unit string, per float64, format string) {
		if v, ok := m[unit]; ok {
			parts = append(parts, fmt.Sprintf(format, v/per))
		}
	}
	say(UnitNanos, 1e6, "%.4g ms")
	say(UnitWorst, 1, "worst %.4g ms")
	say(UnitBytes, 1e6, "%.3g MB")
	say(UnitCost, 1, "$%.2f/h")
	say(UnitBound, 1, "bound $%.2f/h")
	say(UnitGap, 1, "gap %.2f %%")
	say(UnitWorstGap, 1, "worst %.2f %%")
	say(UnitNodes, 1, "%.0f nodes")
	say(UnitUnplaced, 1, "%.0f unplaced")
	say(UnitSatisfied, 1, "preferences of weight %.0f met")
	say(UnitSlower, 1, "%.1f %% slower")
	say(UnitDrawn, 1, "drawn seed %.0f")
	say(UnitDefaultCost, 1, "with the default node cost $%.2f/h")
	say(UnitDefaultNodes, 1, "%.0f nodes")
	say(UnitDefaultGap, 1, "gap %.2f %%")
	say(UnitArrivalsOver, 1, "%.1f %% over the bound")
	say(UnitArrivalsSettled, 1, "settled %.1f %%")
	say(UnitWait, 1, "wait %.2f s")
	say(UnitWait95, 1, "95th %.2f s")
	say(UnitSteps, 1, "%.0f Steps")
	say(UnitLaunches, 1, "launches %.0f %%")
	say(UnitEvictions, 1, "%.2f evictions a pod")
	say(UnitEvictionsHour, 1, "%.0f evictions an hour")
	say(UnitLaunchesHour, 1, "%.0f launches an hour")
	say(UnitOfScratch, 1, "%.2f times the nodes of a plan from scratch")
	say(UnitRepeated, 1, "%.0f evicted twice")
	say(UnitViolations, 1, "%.0f violations")
	say(UnitNear, 1, "within 4 %% after %.0f s")
	say(UnitClose, 1, "within 2.5 %% after %.0f s")
	return strings.Join(parts, ", ")
}

// ArrivalsRequired is what a run of arrivals with these figures must reach.
func ArrivalsRequired(m Metrics) Required {
	return Required{Over: m[UnitArrivalsMay], Wait: 0.2, Wait95: 1}
}

// Missed names the requirements that the figures do not meet.
func (r Required) Missed(m Metrics) []string {
	var missed []string
	hold := func(limit float64, unit string, per float64, what string) {
		v, ok := m[unit]
		switch {
		case limit == 0:
		case !ok:
			missed = append(missed, what+" (not measured)")
		case v/per > limit:
			missed = append(missed, what)
		}
	}
	hold(r.Millis, UnitNanos, 1e6, "time")
	hold(r.MB, UnitBytes, 1e6, "allocations")
	hold(r.Gap, UnitGap, 1, "gap")
	hold(r.WorstGap, UnitWorstGap, 1, "worst gap")
	hold(r.Slower, UnitSlower, 1, "slower")
	hold(r.Over, UnitArrivalsOver, 1, "cost")
	hold(r.Wait, UnitWait, 1, "wait")
	hold(r.Wait95, UnitWait95, 1, "95th of the waits")
	hold(r.Launches, UnitLaunches, 1, "launches")
	hold(r.Evictions, UnitEvictions, 1, "evictions")
	hold(r.Scratch, UnitOfScratch, 1, "nodes")
	if m[UnitRepeated] > 0 {
		missed = append(missed, "pods evicted twice")
	}
	if m[UnitViolations] > 0 {
		missed = append(missed, "violations")
	}
	if n, ok := m[UnitUnplaced]; r.Unplaced && (!ok || n > 0) {
		missed = append(missed, "unplaced pods")
	}
	if r.Binds && m[UnitUnplaced] == 0 {
		missed = append(missed, "a limit that binds")
	}
	return missed
}

// Align prints rows in columns, the first of them underlined. The columns named
// by a letter l in align are flush left, those by r flush right.
func Align(w io.Writer, align string, rows [][]string) error {
	widths := make([]int, len(align))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	total := -2
	for _, width := range widths {
		total += width + 2
	}
	for n, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if align[i] == 'r' {
				line.WriteString(pad + cell + "  ")
				continue
			}
			line.WriteString(cell + pad + "  ")
		}
		text := strings.TrimRight(line.String(), " ")
		if n == 0 {
			text += "\n" + strings.Repeat("-", total)
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return fmt.Errorf("table print: %w", err)
		}
	}
	return nil
}
