package bench

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	shares "github.com/karpenterd/terraform-provider-karpenter/internal/share"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim/forecast"
)

// thinned is a fleet that one Step bought, of whose pods so many per cent are left.
func thinned(tb testing.TB, seed uint64, from []Deployment, to int) Standing {
	tb.Helper()
	s, err := Stand(seed, Pods(seed, from), 32)
	if err != nil {
		tb.Fatal(err)
	}
	s.Objects.Pods = keep(seed, s.Objects.Pods, to)
	return s
}

// forecastOf asks what becomes of the fleet within an hour.
func forecastOf(tb testing.TB, s Standing, seed uint64) forecast.Answer {
	tb.Helper()
	in, err := s.Input(mostPercent)
	if err != nil {
		tb.Fatal(err)
	}
	a, err := forecast.Play(forecast.Question{Snapshot: in.Snapshot, Policy: in.Policy, Now: in.Now, Seed: seed, For: time.Hour})
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func tell(tb testing.TB, name string, a forecast.Answer, took time.Duration) {
	tb.Helper()
	tb.Logf("%s: %d nodes at %s, then %d at %s, bound %s; %d launches, %d removals, %d evictions; %d steps for %s in %.2f s, settled %v",
		name, a.Now.Nodes, a.Now.Audit.Cost.Dollars(), a.Then.Nodes, a.Then.Audit.Cost.Dollars(), a.Then.Audit.Proof.Bound.Dollars(),
		len(a.Launches), len(a.Removals), a.Evicted, a.Steps, a.Played, took.Seconds(), a.Settled)
}

// What is forecast of fleets that are scaled in is what the simulator comes to, in which nodes
// boot, drain and are filled by the scheduler.
func TestForecast_CostsWhatTheSimulatorComesTo(t *testing.T) {
	t.Parallel()
	type fleet struct {
		seed uint64
		to   int
	}
	var fleets []fleet
	for seed := range uint64(3) {
		for _, to := range []int{80, 50, 30} {
			fleets = append(fleets, fleet{seed + 1, to})
		}
	}
	for _, x := range shares.Of(t.Name(), 4, fleets) {
		name := fmt.Sprintf("seed %d to %d %%", x.seed, x.to)
		s := thinned(t, x.seed, Shaped(x.seed, 120, 2000), x.to)
		began := time.Now()
		a := forecastOf(t, s, x.seed)
		tell(t, name, a, time.Since(began))
		lived := play(t, s.living(x.seed), name)
		if off := math.Abs(float64(a.Then.Audit.Cost)/float64(lived.Settled) - 1); off > 0.02 {
			t.Errorf("%s: forecast %s, and the simulator comes to %s: %.1f %% apart", name, a.Then.Audit.Cost.Dollars(), lived.Settled.Dollars(), 100*off)
		}
	}
}

// BenchmarkForecast plays an hour of 40,000 pods on 2,000 nodes, of which a fifth has been scaled in.
func BenchmarkForecast(b *testing.B) {
	s, err := Stand(1, Pods(1, Large(1, 40_000)), 16)
	if err != nil {
		b.Fatal(err)
	}
	s.Objects.Pods = keep(1, s.Objects.Pods, 80)
	in, err := s.Input(mostPercent)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		snapshot, err := cluster.New(s.Objects)
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		a, err := forecast.Play(forecast.Question{Snapshot: snapshot, Policy: in.Policy, Now: in.Now, Seed: 1, For: time.Hour})
		if err != nil {
			b.Fatal(err)
		}
		tell(b, "40,000 pods", a, time.Since(began))
	}
}
