package memory

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

func TestChurn_AnEvictionCountsForADayAndOnlyForPodsOfTheKind(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 900, time.UTC)
	var c Churn
	for _, x := range []struct {
		after  time.Duration
		evicts int64 // of 20 pods
		want   int64 // millionths
		since  time.Duration
	}{
		{0, 4, 200_000, 0},
		{30 * time.Minute, 4, 400_000, 0},
		{2 * time.Hour, 20, 1400_000, 0},
		{24*time.Hour - time.Second, 0, 1400_000, 0},
		{24 * time.Hour, 0, 1000_000, 2 * time.Hour},
		{26 * time.Hour, 2, 100_000, 26 * time.Hour},
	} {
		now := start.Add(x.after)
		if c = c.next(now); x.evicts > 0 {
			c = c.With("web", x.evicts, 20, now)
		}
		share, since := c.Moved("web")
		// The API server gives pods the second in which they were created.
		if want := start.Add(x.since).Truncate(time.Second); share != x.want || !since.Equal(want) {
			t.Errorf("after %s: %d millionths since %s, want %d since %s", x.after, share, since, x.want, want)
		}
		if share, _ := c.Moved("db"); share != 0 {
			t.Errorf("after %s: pods of another kind have moved", x.after)
		}
	}
	if c = c.next(start); len(c) != 0 { // the clock went back
		t.Errorf("evictions of the future count: %+v", c)
	}
}

func TestChurn_CountsDeletionsThatWereCarriedOutToSaveMoney(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	o := cluster.Objects{Nodes: []cluster.Node{{Name: "n", UID: "n", Ready: true}}}
	for _, name := range []string{"a", "b", "c", "d"} {
		o.Pods = append(o.Pods, cluster.Pod{Namespace: "default", Name: name, UID: name, Node: "n"})
	}
	o.Claims = []cluster.Claim{{Name: "stays", UID: "stays"}}
	s, err := cluster.New(o)
	if err != nil {
		t.Fatal(err)
	}
	g, _ := s.GroupOf("default/a")
	for want, x := range map[int64]Evicting{
		250_000: {Claim: "gone", UID: "gone", Saves: true},
		0:       {Claim: "gone", UID: "gone"},
		-1:      {Claim: "stays", UID: "stays", Saves: true}, // declined
	} {
		x.Pods, x.At = []EvictingPods{{Slot: cluster.Slot{Kind: g.Kind, Count: 1}, Of: Staying(s)(g)}}, now
		if share, _ := (Memory{Evicting: []Evicting{x}}).Next(s, now).Churn.Moved(g.Kind); share != max(0, want) {
			t.Errorf("%+v: %d millionths of the pods have moved, want %d", x, share, want)
		}
	}
}
