package bench

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim"
)

// scaledIn is what came of a fleet after its pods were scaled in.
type scaledIn struct {
	sim.Report

	bound quantity.Money
	over  float64 // per cent that the last fleet costs above the bound
	// wasted is per cent that the fleet has cost above the bound on average, from the last
	// deletion of a controller on.
	wasted float64
	// near and close are the seconds from the last deletion of a controller until the
	// cost stays within 4 and 2.5 % of the bound; infinite if it never does.
	near, close float64
}

// launches is the share of the starting nodes that were launched, in per cent.
func (s scaledIn) launches() float64 { return 100 * float64(s.Launches) / float64(s.NodesStart) }

// evictions is how often a pod that stays was evicted, on average.
func (s scaledIn) evictions() float64 {
	return float64(s.Evictions) / float64(max(1, s.Remaining))
}

// BenchmarkScaledIn plays a few runs of the rows to=80, to=50 and to=30.
func BenchmarkScaledIn(b *testing.B) {
	from, err := File("w1_300x10k.csv")
	if err != nil {
		b.Fatal(err)
	}
	for _, seeds := range []uint64{1, 3} {
		for _, to := range []int{80, 50, 30} {
			b.Run(fmt.Sprintf("seeds=%d/to=%d", seeds, to), func(b *testing.B) { benchmarkScaledIn(b, from, to, seeds) })
		}
	}
}

// BenchmarkScaledInSmall plays the scenario of make bench-lab on the virtual clock: 1,009 pods
// that come within half a minute, of which each Deployment keeps a fifth.
func BenchmarkScaledInSmall(b *testing.B) {
	const seeds = 8
	for _, vcpu := range []int{8, 32} {
		b.Run(fmt.Sprintf("vcpu=%d", vcpu), func(b *testing.B) {
			playSeeds(b, seeds, func(seed uint64) scaledIn {
				return play(b, scalingInSmall(b, seed, vcpu), fmt.Sprintf("seed %d", seed))
			})
		})
	}
}

// scalingInSmall is the configuration of such a run. It ends as the laboratory's does, and its
// scale-down begins as there, some 15 seconds after the last launch.
func scalingInSmall(tb testing.TB, seed uint64, maxVCPU int) sim.Config {
	tb.Helper()
	const up, pods, observed = 50 * time.Second, 35, 390 * time.Second
	f, err := os.Open("../lab/scalein/testdata/w1_300x1k.csv")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	from, err := read(f)
	if err != nil {
		tb.Fatal(err)
	}
	cfg := standing(tb, seed, Pods(seed, from), maxVCPU)
	cfg.Running, cfg.Rate, cfg.Boot, cfg.Limit = cluster.Objects{}, pods, 2*time.Second, up+observed
	cfg.Write = 5 * time.Millisecond // the daemon's limit of requests
	for _, w := range cfg.Workloads {
		cfg.Scales = append(cfg.Scales, sim.Scale{At: up, Workload: w.Name, Replicas: (w.Replicas + 4) / 5})
	}
	return cfg
}

// quiet is how long nothing has changed when a run ends: longer than the core keeps away
// from pods that were evicted.
const quiet = 15 * time.Minute

// benchmarkScaledIn plays a fleet whose controllers delete pods at random until so many
// per cent are left, until nothing changes any more, or for an hour.
func benchmarkScaledIn(b *testing.B, from []Deployment, to int, seeds uint64) {
	b.Helper()
	all := playSeeds(b, seeds, func(seed uint64) scaledIn { return scaleIn(b, seed, from, to) })
	b.ReportMetric(slices.Max(figures(all, scaledIn.launches)), UnitLaunches)
}

// playSeeds plays a run for each seed from 1 on, reports what came of them, and returns
// them.
func playSeeds(b *testing.B, seeds uint64, run func(seed uint64) scaledIn) (all []scaledIn) {
	b.Helper()
	for b.Loop() {
		all = all[:0]
		for seed := range seeds {
			all = append(all, run(seed+1))
		}
	}
	reportScaledIn(b, all)
	return all
}

// figures returns a figure of each run.
func figures(all []scaledIn, figure func(scaledIn) float64) []float64 {
	out := make([]float64, len(all))
	for i, s := range all {
		out[i] = figure(s)
	}
	return out
}

func reportScaledIn(b *testing.B, all []scaledIn) {
	b.Helper()
	gaps := figures(all, func(s scaledIn) float64 { return s.over })
	b.ReportMetric(median(gaps), UnitGap)
	b.ReportMetric(slices.Max(gaps), UnitWorstGap)
	var twice, violations int
	for _, s := range all {
		twice, violations = twice+s.Repeated, violations+s.Violations
	}
	b.ReportMetric(float64(twice), UnitRepeated)
	b.ReportMetric(float64(violations), UnitViolations)
	b.ReportMetric(median(figures(all, scaledIn.evictions)), UnitEvictions)
	b.ReportMetric(median(figures(all, func(s scaledIn) float64 { return s.near })), UnitNear)
	b.ReportMetric(median(figures(all, func(s scaledIn) float64 { return s.close })), UnitClose)
}

func TestScaledIn_EveryPodStillRunsAndTheFleetIsNotDearer(t *testing.T) {
	t.Parallel()
	for _, to := range []int{80, 30} {
		s := scaleIn(t, 1, Shaped(1, 40, 600), to)
		if s.Left != 0 || s.Settled > s.Start || s.over < 0 || s.Remaining != 6*to {
			t.Errorf("to %d %%: %+v", to, s)
		}
	}
}

// scaleIn plays one run. The seed draws which pods go.
func scaleIn(tb testing.TB, seed uint64, from []Deployment, to int) scaledIn {
	tb.Helper()
	return play(tb, scalingIn(tb, seed, from, to), fmt.Sprintf("seed %d to %d %%", seed, to))
}

// play plays the run, which has a name.
func play(tb testing.TB, cfg sim.Config, name string) scaledIn {
	tb.Helper()
	began := time.Now()
	var costs []sim.Sample
	var last engine.Input
	cfg.Every, cfg.Sampled = time.Second, func(s sim.Sample) {
		last, s.Input = s.Input, engine.Input{}
		costs = append(costs, s)
	}
	out := scaledIn{Report: sim.Run(cfg)}
	a := engine.Audit(last)
	out.bound, out.over = a.Proof.Bound, 100*(float64(a.Cost)/float64(a.Proof.Bound)-1)
	within := func(permille int64) float64 {
		since := math.Inf(1)
		for _, s := range slices.Backward(costs) {
			if int64(s.Cost)*1000 > int64(out.bound)*(1000+permille) {
				break
			}
			since = max(0, (s.At - out.LastScaled).Seconds())
		}
		return since
	}
	out.near, out.close = within(40), within(25)
	var since, sum float64
	for _, s := range costs {
		if s.At >= out.LastScaled {
			since, sum = since+1, sum+float64(s.Cost)
		}
	}
	out.wasted = 100 * (sum/max(1, since)/float64(out.bound) - 1)
	tb.Logf("%s: %d nodes at %s, then %d at %s, bound %s (+%.1f %%); %d launches (%.0f %%), %d deletes, %.2f evictions a pod, %d twice, %d refused; %d violations %s; within 4 %% after %.0f s, within 2.5 %% after %.0f s; scaled by %.0f s, %d steps in %.1f s",
		name, out.NodesStart, out.Start.Dollars(), out.NodesSettled, out.Settled.Dollars(), out.bound.Dollars(), out.over,
		out.Launches, out.launches(), out.Deletes, out.evictions(), out.Repeated, out.Refused, out.Violations, out.Violation, out.near, out.close, out.LastScaled.Seconds(), out.Steps, time.Since(began).Seconds())
	return out
}

// scalingIn is the configuration of such a run: the fleet that one Step buys, all its
// pods on it, and controllers that are told at second 10 to keep the share.
func scalingIn(tb testing.TB, seed uint64, from []Deployment, to int) sim.Config {
	tb.Helper()
	cfg := standing(tb, seed, Pods(seed, from), 32)
	kept := map[string]int64{}
	for _, p := range keep(seed, cfg.Running.Pods, to) {
		kept[p.Owner.Name]++
	}
	for _, w := range cfg.Workloads {
		cfg.Scales = append(cfg.Scales, sim.Scale{At: 10 * time.Second, Workload: w.Name, Replicas: kept[w.Name]})
	}
	return cfg
}

// standing is the configuration of a run that begins with such a fleet: boots take 40 s,
// and pods have no grace.
func standing(tb testing.TB, seed uint64, pods []cluster.Pod, maxVCPU int) sim.Config {
	tb.Helper()
	s, err := Stand(seed, pods, maxVCPU)
	if err != nil {
		tb.Fatal(err)
	}
	return s.living(seed)
}

// living is the configuration of a run that begins with the fleet.
func (s Standing) living(seed uint64) sim.Config {
	o := s.Objects
	cfg := sim.Config{
		Seed: seed, Classes: o.Classes, Pools: o.Pools, DaemonSets: o.DaemonSets,
		Policy: s.Setting.Policy(), Rate: 500, Boot: 40 * time.Second, Quiet: quiet, Limit: time.Hour,
		Running: cluster.Objects{Nodes: o.Nodes, Claims: o.Claims, Pods: o.Pods},
	}
	owned := map[string]int{}
	for _, p := range o.Pods {
		i, known := owned[p.Owner.Name]
		if !known {
			i = len(cfg.Workloads)
			owned[p.Owner.Name] = i
			cfg.Workloads = append(cfg.Workloads, sim.Workload{Namespace: p.Namespace, Name: p.Owner.Name, Labels: p.Labels, Shape: p.Shape})
		}
		cfg.Workloads[i].Replicas++
	}
	return cfg
}
