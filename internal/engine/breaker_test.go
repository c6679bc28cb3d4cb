package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

func TestBreaker_PausesTwiceAsLongEachTime(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var b breaker
	at := func(d time.Duration) time.Duration { b = b.trip(start.Add(d)); return b.until().Sub(start) }
	for i, c := range []struct{ trips, until time.Duration }{
		{0, time.Minute},
		{30 * time.Second, time.Minute}, // during the pause
		{10 * time.Minute, 12 * time.Minute},
		{20 * time.Minute, 24 * time.Minute},
		{20*time.Minute + forgiven, 21*time.Minute + forgiven},
	} {
		if got := at(c.trips); got != c.until {
			t.Errorf("trip %d: paused until %s, want %s", i, got, c.until)
		}
	}
	b = breaker{start, longestPause}
	if got := at(longestPause); got != 2*longestPause {
		t.Errorf("the longest pause ends at %s", got)
	}
}

func TestUndone_OnlyALaunchSoonAfterAnEvictionThatWasToSaveMoney(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		saves bool
		after time.Duration
		want  bool
	}{{true, time.Second, true}, {true, undoneWithin, false}, {false, time.Second, false}} {
		out := Output{Plan: plan.Plan{Actions: []plan.Action{plan.Launch{Planned: []cluster.Slot{{Kind: "web", Count: 1}}}}}}
		out.Memory.Evict("web", "a", c.saves, start)
		if got := undone(out, start.Add(c.after)); slices.Contains(got, "a") != c.want || len(got) > 1 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
