package engine

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// breaker holds moves back that save money after one that did not: soon after it, nodes
// were launched for pods of the kinds that it evicted. Without it, a fleet whose pods the
// scheduler spreads in another way than planned would be rearranged again and again.
type breaker struct {
	tripped time.Time // last; zero for never
	pause   time.Duration
}

const (
	// A launch so soon after an eviction undoes the move.
	undoneWithin = time.Minute
	// The first pause, the longest one, and how long after a trip the next pause is the
	// first again.
	firstPause, longestPause, forgiven = time.Minute, 4 * time.Hour, 12 * time.Hour
)

// until returns when moves may begin again.
func (b breaker) until() time.Time { return b.tripped.Add(b.pause) }

// trip returns the breaker with a pause from now on, twice as long as the last one. What
// happens during a pause does not make it longer.
func (b breaker) trip(now time.Time) breaker {
	switch {
	case b.pause == 0 || !now.Before(b.tripped.Add(forgiven)):
		return breaker{now, firstPause}
	case now.Before(b.until()):
		return b
	}
	return breaker{now, min(2*b.pause, longestPause)}
}

// undone says whether the plan launches nodes for pods of kinds that were evicted a short
// time ago to save money.
func undone(out Output, now time.Time) bool {
	lately := func(x cluster.Slot) bool {
		return slices.ContainsFunc(out.Memory.Evicted, func(e memory.Evicted) bool { return e.Kind == x.Kind && now.Before(e.Saving.Add(undoneWithin)) })
	}
	return slices.ContainsFunc(out.Plan.Actions, func(a plan.Action) bool {
		l, is := a.(plan.Launch)
		return is && slices.ContainsFunc(l.Planned, lately)
	})
}
