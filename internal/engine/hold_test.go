package engine

import (
	"testing"
	"time"
)

func TestHold_FullBinsGoAtOnceAndTheTailWaitsWhileDemandGrows(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	grows := Growth{Demand: 9, Last: now, Before: ago(100 * time.Millisecond)}
	for _, c := range []struct {
		name   string
		bin    prospect
		growth Growth
		launch bool
		look   time.Time
	}{
		{"full", prospect{price: 1000, worth: 950, since: now}, grows, true, time.Time{}},
		{"tail", prospect{price: 1000, worth: 949, since: now}, grows, false, ago(100 * time.Millisecond).Add(growthGap)},
		{"tail of which a pod is old", prospect{price: 1000, worth: 10, since: ago(900 * time.Millisecond)}, grows, false, ago(900 * time.Millisecond).Add(tailWait)},
		{"tail that has waited enough", prospect{price: 1000, worth: 10, since: ago(tailWait)}, grows, true, time.Time{}},
		{"demand grew once", prospect{price: 1000, worth: 10, since: now}, Growth{Demand: 1, Last: now}, true, time.Time{}},
		{"demand grew long ago", prospect{price: 1000, worth: 10, since: now}, Growth{Last: now, Before: ago(growthGap)}, true, time.Time{}},
		{"nothing remembered", prospect{price: 1000, worth: 10, since: now}, Growth{}, true, time.Time{}},
		{"pods of a node that goes", prospect{price: 1000, worth: 10, since: now, urgent: true}, grows, true, time.Time{}},
	} {
		launch, look := hold([]prospect{c.bin}, c.growth, now)
		if launch[0] != c.launch || !look.Equal(c.look) {
			t.Errorf("%s: launch %t, look at %v; want %t, %v", c.name, launch[0], look, c.launch, c.look)
		}
	}
}

func TestHold_LooksAgainWhenTheFirstOfTheTailIsDue(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	g := Growth{Last: now, Before: now}
	old, young := now.Add(-800*time.Millisecond), now.Add(-700*time.Millisecond)
	launch, look := hold([]prospect{{price: 10_000, since: young}, {price: 10_000, since: old}, {price: 10_000, worth: 10_000}}, g, now)
	if launch[0] || launch[1] || !launch[2] || !look.Equal(old.Add(tailWait)) {
		t.Errorf("launch %v, look at %v", launch, look)
	}
	launch, _ = hold([]prospect{{price: 10_000, since: young}, {price: 10_000, since: old}}, g, look)
	if launch[0] || !launch[1] {
		t.Errorf("when the first is due: launch %v", launch)
	}
}

func TestGrowth_OnlyMoreDemandIsGrowth(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return now.Add(time.Duration(ms) * time.Millisecond) }
	g := Growth{}.next(40, at(0)) // declared as a whole
	g = g.next(40, at(10))        // created
	g = g.next(38, at(20))        // fewer
	if !g.Before.IsZero() || !g.Last.Equal(at(0)) || g.until().After(at(20)) {
		t.Errorf("one growth is taken for more: %+v", g)
	}
	if g = g.next(39, at(200)); !g.until().Equal(at(0).Add(growthGap)) {
		t.Errorf("demand grows until %v", g.until())
	}
}
