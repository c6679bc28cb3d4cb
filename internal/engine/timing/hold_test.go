package timing

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// growthGap is that of memory.Growth.
const growthGap = 950 * time.Millisecond

func TestHold_FullBinsGoAtOnceAndTheTailWaitsWhileDemandGrows(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	grows := memory.Growth{Demand: 9, Last: now, Before: ago(100 * time.Millisecond)}
	for _, c := range []struct {
		name   string
		bin    Prospect
		growth memory.Growth
		launch bool
		look   time.Time
	}{
		{"full", Prospect{Price: 1000, Worth: 950, Since: now}, grows, true, time.Time{}},
		{"tail", Prospect{Price: 1000, Worth: 949, Since: now}, grows, false, ago(100 * time.Millisecond).Add(growthGap)},
		{"tail of which a pod is old", Prospect{Price: 1000, Worth: 10, Since: ago(900 * time.Millisecond)}, grows, false, ago(900 * time.Millisecond).Add(TailWait)},
		{"tail that has waited enough", Prospect{Price: 1000, Worth: 10, Since: ago(TailWait)}, grows, true, time.Time{}},
		{"demand grew once", Prospect{Price: 1000, Worth: 10, Since: now}, memory.Growth{Demand: 1, Last: now}, true, time.Time{}},
		{"demand grew long ago", Prospect{Price: 1000, Worth: 10, Since: now}, memory.Growth{Last: now, Before: ago(growthGap)}, true, time.Time{}},
		{"nothing remembered", Prospect{Price: 1000, Worth: 10, Since: now}, memory.Growth{}, true, time.Time{}},
		{"pods of a node that goes", Prospect{Price: 1000, Worth: 10, Since: now, Urgent: true}, grows, true, time.Time{}},
	} {
		launch, look := Hold([]Prospect{c.bin}, c.growth, now)
		if launch[0] != c.launch || !look.Equal(c.look) {
			t.Errorf("%s: launch %t, look at %v; want %t, %v", c.name, launch[0], look, c.launch, c.look)
		}
	}
}

func TestHold_LooksAgainWhenTheFirstOfTheTailIsDue(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	g := memory.Growth{Last: now, Before: now}
	old, young := now.Add(-800*time.Millisecond), now.Add(-700*time.Millisecond)
	launch, look := Hold([]Prospect{{Price: 10_000, Since: young}, {Price: 10_000, Since: old}, {Price: 10_000, Worth: 10_000}}, g, now)
	if launch[0] || launch[1] || !launch[2] || !look.Equal(old.Add(TailWait)) {
		t.Errorf("launch %v, look at %v", launch, look)
	}
	launch, _ = Hold([]Prospect{{Price: 10_000, Since: young}, {Price: 10_000, Since: old}}, g, look)
	if launch[0] || !launch[1] {
		t.Errorf("when the first is due: launch %v", launch)
	}
}

// Where the pods of a spread run in one zone decides where the others may.
func TestHold_BinsWithPodsDividedAmongDomainsGoTogether(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	g := memory.Growth{Last: now, Before: now}
	tied := func(worth quantity.Money, since time.Time) Prospect {
		return Prospect{Price: 1000, Worth: worth, Since: since, Tied: true}
	}
	for name, c := range map[string]struct {
		bins   []Prospect
		launch bool
	}{
		"one is full and one is not": {[]Prospect{tied(1000, now), tied(10, now)}, false},
		"all are full":               {[]Prospect{tied(1000, now), tied(1000, now)}, true},
		"one is due":                 {[]Prospect{tied(10, now), tied(10, now.Add(-TailWait))}, true},
	} {
		launch, look := Hold(c.bins, g, now)
		if launch[0] != c.launch || launch[1] != c.launch || look.IsZero() != c.launch {
			t.Errorf("%s: launch %v, look at %v", name, launch, look)
		}
	}
}

func TestGrowth_OnlyMoreDemandIsGrowth(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return now.Add(time.Duration(ms) * time.Millisecond) }
	g := memory.Growth{}.Next(40, at(0)) // declared as a whole
	g = g.Next(40, at(10))               // created
	g = g.Next(38, at(20))               // fewer
	if !g.Before.IsZero() || !g.Last.Equal(at(0)) || g.Until().After(at(20)) {
		t.Errorf("one growth is taken for more: %+v", g)
	}
	if g = g.Next(39, at(200)); !g.Until().Equal(at(0).Add(growthGap)) {
		t.Errorf("demand grows until %v", g.Until())
	}
}
