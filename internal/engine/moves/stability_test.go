package moves

import (
	"testing"
	"time"
)

func TestStability_PodsThatJustCameStayForAMinuteUnlessManyHaveGone(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		left  int64 // of 200 pods, five seconds after the launch
		waits time.Duration
	}{
		{200, growthLasts},
		{198, growthLasts},
		{197, 5*time.Second + stableFor},
	} {
		var quiet stability
		quiet.launches(200, start)
		is := func(after time.Duration, pods int64) bool {
			_, yes := quiet.reached(pods, start.Add(after))
			return yes
		}
		is(0, 200)
		waited := 5 * time.Second
		for !is(waited, c.left) && waited < time.Hour {
			waited += time.Second
		}
		if waited != c.waits {
			t.Errorf("%d pods left: the search waits for %s, want %s", c.left, waited, c.waits)
		}
	}
}

func TestCooldowns_TheFleetIsSearchedAgainWhenThoseOfAWholeTargetHaveEnded(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		nodes []int // when they may be deleted, in seconds
		over  int
	}{
		{[]int{600}, 600},
		{[]int{640, 600, 620}, 640},
		{[]int{600, 2000}, 900},
	} {
		var s cooldowns
		for _, at := range c.nodes {
			s = s.with(start.Add(time.Duration(at) * time.Second))
		}
		if over := s.nextSearch().Sub(start); over != time.Duration(c.over)*time.Second {
			t.Errorf("nodes may go after %v seconds: the next search comes after %s, want %d s", c.nodes, over, c.over)
		}
	}
}
