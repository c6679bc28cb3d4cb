package engine

import (
	"testing"
	"time"
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
