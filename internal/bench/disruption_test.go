package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim"
)

// scaledSeeds is how many runs of a row are played.
const scaledSeeds = 20

// BenchmarkDisruption measures what is done about nodes that run and are not needed.
func BenchmarkDisruption(b *testing.B) {
	from, err := File("w1_300x10k.csv")
	if err != nil {
		b.Fatal(err)
	}
	for _, to := range []int{80, 50, 30} {
		b.Run(fmt.Sprintf("to=%d", to), func(b *testing.B) { benchmarkScaledIn(b, from, to, scaledSeeds) })
	}
	b.Run("sweep", benchmarkSweep)
	b.Run("one-gone", benchmarkOneGone)
	b.Run("day", func(b *testing.B) {
		for b.Loop() {
			reportDay(b, playDay(b, dayOf(b, 1, Shaped(1, 300, 9_000), 50, 24*time.Hour)))
		}
	})
}

// full is a fleet of some 2,200 nodes with 37,000 pods in the sizes of w1, on types up to
// 16 vCPU, nearly full.
func full(b *testing.B) engine.Input {
	b.Helper()
	from, err := File("w1_300x10k.csv")
	if err != nil {
		b.Fatal(err)
	}
	for i := range from {
		from[i].Count = from[i].Count * 37 / 10
	}
	cfg := standing(b, 1, from, 16)
	objects := cfg.Running
	objects.Pools, objects.Classes, objects.DaemonSets = cfg.Pools, cfg.Classes, cfg.DaemonSets
	snapshot, err := cluster.New(objects)
	if err != nil {
		b.Fatal(err)
	}
	return engine.Input{Snapshot: snapshot, Policy: cfg.Policy, Now: Began().Add(time.Hour)}
}

// sweep steps until a plan disrupts a node or nothing is left to do within a minute, and
// returns what a Step remembers then. No plan is carried out.
func sweep(b *testing.B, in engine.Input) (memory engine.Memory, steps int) {
	b.Helper()
	const most = 100_000
	for steps = 1; steps < most; steps++ {
		out := engine.Step(in)
		in.Memory = out.Memory
		soon, disrupts := false, false
		for _, a := range out.Plan.Actions {
			switch a := a.(type) {
			case plan.Wait:
				soon = soon || a.Until.Sub(in.Now) < time.Minute
			case plan.Launch, plan.Disrupt, plan.Delete:
				disrupts = true
			case plan.Nominate, plan.Release, plan.Restore:
			}
		}
		if disrupts || out.Trace.Complete && !soon {
			return in.Memory, steps
		}
		in.Now = in.Now.Add(time.Second)
	}
	b.Fatalf("after %d steps there is still something to do", most)
	return in.Memory, steps
}

// benchmarkSweep looks at every node of the fleet, by a daemon that has just started.
func benchmarkSweep(b *testing.B) {
	in := full(b)
	runtime.GC()
	b.ReportAllocs()
	var steps int
	for b.Loop() {
		_, steps = sweep(b, in)
	}
	b.ReportMetric(float64(in.Snapshot.NodeCount()), UnitNodes)
	b.ReportMetric(float64(steps), "steps")
}

// benchmarkOneGone takes another pod from the fleet each time, and steps once.
func benchmarkOneGone(b *testing.B) {
	in := full(b)
	in.Memory, _ = sweep(b, in)
	pods := in.Snapshot.Pods()
	rng := rand.New(rand.NewPCG(1, 0x90e))
	runtime.GC()
	b.ReportAllocs()
	var worst time.Duration
	for b.Loop() {
		b.StopTimer()
		gone := pods[rng.IntN(len(pods))].ID()
		b.StartTimer()
		began := time.Now()
		next, err := in.Snapshot.Apply(cluster.Delta{Gone: cluster.Gone{Pods: []string{gone}}})
		if err != nil {
			b.Fatal(err)
		}
		one := in
		one.Snapshot = next
		engine.Step(one)
		worst = max(worst, time.Since(began))
	}
	b.ReportMetric(float64(in.Snapshot.NodeCount()), UnitNodes)
	b.ReportMetric(worst.Seconds()*1000, UnitWorst)
}

// aDay is what came of a day.
type aDay struct {
	sim.Report

	over float64 // per cent that all instances cost above the bound, over the whole time
	pods float64 // that ran on average
	days float64
}

// evictions is how often a pod was evicted in a day.
func (d aDay) evictions() float64 { return float64(d.Evictions) / d.pods / d.days }

func reportDay(b *testing.B, d aDay) {
	b.Helper()
	b.ReportMetric(d.over, UnitGap)
	b.ReportMetric(d.evictions(), UnitEvictions)
	b.ReportMetric(float64(d.Repeated), UnitRepeated)
	b.ReportMetric(float64(d.Violations), UnitViolations)
	b.ReportMetric(float64(d.Launches), "launches")
}

// playDay plays the run, and compares cost and bound every five minutes.
func playDay(tb testing.TB, cfg sim.Config) aDay {
	tb.Helper()
	var cost, bound quantity.Money
	var pods, samples float64
	began := time.Now()
	cfg.Every, cfg.Sampled = 5*time.Minute, func(s sim.Sample) {
		a := engine.Audit(s.Input)
		cost, bound = cost.Add(s.Cost), bound.Add(a.Proof.Bound)
		pods, samples = pods+float64(a.Pods), samples+1
	}
	d := aDay{Report: sim.Run(cfg)}
	d.over, d.pods, d.days = 100*(float64(cost)/float64(bound)-1), pods/samples, cfg.Limit.Hours()/24
	tb.Logf("%.0f pods on average, %d created: +%.1f %% over the bound of all the time; %d launches, %d deletes; %.2f evictions a pod and day, %d twice; %d violations %s; %d left; %d steps in %.1f s",
		d.pods, d.Pods, d.over, d.Launches, d.Deletes, d.evictions(), d.Repeated, d.Violations, d.Violation, d.Left, d.Steps, time.Since(began).Seconds())
	return d
}

// dayOf is a day that begins at midnight with half of the pods and has all of them at
// noon. Beside the Deployments there are CronJobs, each of which makes 20 pods an hour
// that take 10 to 20 minutes; and each Deployment has a rollout.
func dayOf(tb testing.TB, seed uint64, from []Deployment, cronJobs int, length time.Duration) sim.Config {
	tb.Helper()
	half := slices.Clone(from)
	for i := range half {
		half[i].Count = max(1, (half[i].Count+1)/2)
	}
	cfg := standing(tb, seed, half, 32)
	cfg.Quiet, cfg.Limit = 48*time.Hour, length
	cfg.PodStart, cfg.Grace = 5*time.Second, 10*time.Second
	full := slices.Clone(cfg.Workloads)
	for i := range full {
		full[i].Replicas = from[i].Count
	}
	cfg.Scales = sim.Daily(full, 500, 10*time.Minute, length)
	rng := rand.New(rand.NewPCG(seed, 0xda1))
	within := func(d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d))) }
	for _, w := range cfg.Workloads {
		cfg.Rollouts = append(cfg.Rollouts, sim.Rollout{At: within(24 * time.Hour), Workload: w.Name})
	}
	for i, d := range Shaped(seed+1, cronJobs, int64(cronJobs)) {
		name := fmt.Sprintf("job%d", i)
		cfg.CronJobs = append(cfg.CronJobs, sim.CronJob{
			Workload: sim.Workload{
				Namespace: namespace, Name: name, Labels: label.FromMap(map[string]string{"app": name}), Replicas: 20,
				Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: d.MilliCPU, MemoryBytes: d.MiB << 20, PodSlots: 1}},
			},
			First: within(time.Hour), Every: time.Hour, Takes: 10*time.Minute + within(10*time.Minute),
		})
	}
	return cfg
}

func TestDay_EveryPodRunsInTheEndWhateverHappens(t *testing.T) {
	t.Parallel()
	cfg := dayOf(t, 1, Shaped(1, 30, 300), 2, 6*time.Hour)
	d := playDay(t, cfg)
	if d.Left > 30 || d.over < 0 || d.pods < 100 || d.Pods < 500 {
		t.Errorf("%+v", d)
	}
}
