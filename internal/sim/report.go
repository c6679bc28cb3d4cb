package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Report is what came of a run.
type Report struct {
	Mode      Mode
	Pods      int // created
	Remaining int // in the end
	Left      int // not bound when the run ended
	Coming    int // of those, pods whose last plan is a node that had not joined
	Steps     int // decisions

	Launches    int
	Failed      int // launch calls that found no capacity
	Dropped     int // NodeClaims that ended without a call: all their offerings had just failed
	Died        int
	First       int // nodes with less than their launch was for, before one of their type had reported
	Vain        int // nodes with less than their launch was for, although one of their type had reported how small it is
	Deletes     int
	Refused     int // deletions that found a pod that the plan did not know
	Evictions   int // of pods on nodes that the core deleted
	Repeated    int // evictions of a replica that was evicted less than ten minutes before
	Nominations int
	Binds       int // of evicted pods, by the daemon
	Elsewhere   int // pods bound to another node than the last plan had said

	Violations int    // of the rules that the checker knows
	Violation  string // the first of them

	Bound        quantity.Money // no fleet for these pods costs less; see Bound
	Start        quantity.Money // of what runs when the run begins
	Cost         quantity.Money // of the fleet when the last pod was bound
	Settled      quantity.Money // when the run ended
	Peak         quantity.Money // the higher of Cost and Settled
	NodesStart   int
	Nodes        int
	NodesSettled int

	LastPod    time.Duration // when the last pod was created
	LastScaled time.Duration // when a controller deleted the last pod that was too many
	LastLaunch time.Duration // when the last node was launched
	AllRun     time.Duration // when the last pod was bound
	Ended      time.Duration // when the run was over
	Wait       Spread        // from a pod's creation to the first plan that places it
	Held       Spread        // part of Wait after the first plan that saw the pod
	Run        Spread        // from a pod's creation until it was bound
}

// Spread is the distribution of a duration over pods.
type Spread struct{ Median, P95, Max time.Duration }

func spreadOf(all []time.Duration) Spread {
	if len(all) == 0 {
		return Spread{}
	}
	slices.Sort(all)
	at := func(percent int) time.Duration { return all[(len(all)-1)*percent/100] }
	return Spread{Median: at(50), P95: at(95), Max: at(100)}
}

// Over is how far the cost is above the bound, in thousandths of the bound.
func (r Report) Over(cost quantity.Money) int64 {
	if r.Bound == 0 {
		return 0
	}
	return int64((cost - r.Bound) * 1000 / r.Bound)
}

// Table sets reports side by side, one to a line.
func Table(names []string, reports []Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-34s %9s %9s %6s %9s %6s %6s %5s %5s %5s %22s %7s %5s %6s\n",
		"run", "bound", "all run", "over", "settled", "over", "launch", "gone", "nodes", "left", "wait median/p95/max", "to run", "moved", "steps")
	for i, r := range reports {
		fmt.Fprintf(&b, "%-34s %9s %9s %5.1f%% %9s %5.1f%% %6d %5d %5d %5d %22s %7s %5d %6d\n", names[i],
			r.Bound.Dollars(), r.Cost.Dollars(), float64(r.Over(r.Cost))/10, r.Settled.Dollars(), float64(r.Over(r.Settled))/10,
			r.Launches, r.Deletes, r.Nodes, r.Left, r.Wait, r.Run.Median.Round(100*time.Millisecond), r.Elsewhere, r.Steps)
	}
	return b.String()
}

// String renders the spread in seconds.
func (s Spread) String() string {
	return fmt.Sprintf("%.2f/%.2f/%.2fs", s.Median.Seconds(), s.P95.Seconds(), s.Max.Seconds())
}
