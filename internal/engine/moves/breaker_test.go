package moves

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
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
		{24*time.Minute + forgivenAfter*4*time.Minute - time.Second, 32*time.Minute + forgivenAfter*4*time.Minute - time.Second},
		{4 * time.Hour, 4*time.Hour + time.Minute}, // moves continued for ten times as long as the pause
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
	for _, c := range []struct {
		saves bool
		after time.Duration
		want  bool
	}{{true, time.Second, true}, {true, memory.UndoneWithin, false}, {false, time.Second, false}} {
		if got := undoneAfter(1, 1, 0, c.saves, c.after); slices.Contains(got, "a") != c.want || len(got) > 1 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestUndone_NeitherAFewPodsThatLostTheirPlaceNorPodsThatAreAddedHoldAnything(t *testing.T) {
	for _, c := range []struct {
		evicted, back, added int64
		want                 bool
	}{{21, 5, 0, false}, {20, 5, 0, true}, {20, 30, 0, true}, {20, 30, 30, false}, {20, 30, 25, true}, {20, 30, 26, false}, {20, 5, -20, true}} {
		if got := undoneAfter(c.evicted, c.back, c.added, true, time.Second); slices.Contains(got, "a") != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// undoneAfter takes away a node with so many pods of one kind, and then launches for so many
// of them, when their controller has added so many, of which it has created half.
func undoneAfter(evicted, back, added int64, saves bool, after time.Duration) []string {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var o cluster.Objects
	for i := range 100 {
		name := fmt.Sprint(i)
		o.Pods = append(o.Pods, cluster.Pod{Namespace: "default", Name: name, UID: name})
	}
	declared := max(0, added) / 2
	o.Workloads = []cluster.Workload{{UID: "w", Kind: "ReplicaSet", Namespace: "default", Name: "w", Missing: declared}}
	s, err := cluster.New(o)
	if err != nil {
		panic(err)
	}
	g, _ := s.GroupOf("default/0")
	m := memory.Memory{Evicting: []memory.Evicting{{Claim: "n", Pool: "a", Saves: saves, At: start, Pods: []memory.EvictingPods{{
		Slot: cluster.Slot{Kind: g.Kind, Count: evicted}, Of: int64(len(o.Pods)) - (added - declared),
	}}}}}
	out := Draft{Plan: plan.Plan{Actions: []plan.Action{plan.Launch{Planned: []cluster.Slot{{Kind: g.Kind, Count: back}}}}}}
	out.Memory = m.Next(s, start)
	return undone(view.Of(s, view.DefaultPolicy(), start.Add(after)), &out)
}
