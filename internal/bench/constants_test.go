package bench

import (
	"runtime"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim"
)

// The seeds of BenchmarkConstants. No requirement is about them, so no constant was
// chosen by them.
const (
	constantsFrom  = 1_001
	constantsSeeds = 8
)

// BenchmarkConstants adds up what the engine makes of drawn demand of many kinds, once,
// for cmd/constants to compare. Money is in thousandths of a dollar, as the figures that
// a benchmark prints have no decimals when they are large.
func BenchmarkConstants(b *testing.B) {
	capped := func() (Setting, error) { return Published(32) }
	uncapped := func() (Setting, error) { return Published(0) }
	karpenters := func() (Setting, error) { return Fake(), nil }
	of := func(draw func(uint64) []Deployment) func(uint64) ([]cluster.Pod, error) {
		return func(seed uint64) ([]cluster.Pod, error) { return Pods(seed, draw(seed)), nil }
	}
	cases := []Case{
		{Setting: capped, Pods: shaped(300, 3_000)},
		{Setting: uncapped, Pods: shaped(300, 3_000)},
		{Setting: capped, Pods: shaped(60, 300)},
		{Setting: capped, Pods: big(20)},
		{Setting: uncapped, Pods: big(20)},
		{Setting: capped, Pods: of(func(seed uint64) []Deployment { return Pareto(seed, 60) })},
		{Setting: capped, Pods: of(func(seed uint64) []Deployment { return Uniform(seed, 60) })},
		{Setting: gpus, Pods: of(func(seed uint64) []Deployment { return append(Shaped(seed, 60, 600), WithGPUs(seed, 20)...) })},
		{Setting: spot, Pods: shaped(100, 1_000)},
		{Setting: karpenters, Pods: mixed(1_000, Kinds()...)},
		{Setting: capped, Pods: shaped(100, 1_000), Limit: 75},
		{Setting: capped, Pods: func(seed uint64) ([]cluster.Pod, error) {
			return append(Pods(seed, Shaped(seed, 300, 3_000)), append(everyKind(2*seed), everyKind(2*seed+1)...)...), nil
		}},
	}
	for b.Loop() {
		total := map[string]float64{}
		for _, c := range cases {
			addUp(b, c, total)
		}
		for seed := range uint64(constantsSeeds) {
			full := sim.Run(arriving(b, constantsFrom+seed, 60, 300, sim.Full, false))
			total["arrivals-m$/h"] += float64(full.Cost) / 1e6
			total["arrivals-launches"] += float64(full.Launches)
		}
		for unit, value := range total {
			b.ReportMetric(value, unit)
		}
	}
}

// addUp adds the figures of the case, over its seeds, to the total.
func addUp(b *testing.B, c Case, total map[string]float64) {
	b.Helper()
	base, err := c.Base()
	if err != nil {
		b.Fatal(err)
	}
	for seed := range uint64(constantsSeeds) {
		in, pods, err := c.Prepare(base, constantsFrom+seed)
		if err != nil {
			b.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		out := engine.Step(in)
		runtime.ReadMemStats(&after)
		least := time.Hour
		for range 3 { // the least of some: what else the machine does only adds
			start := time.Now()
			engine.Step(in)
			least = min(least, time.Since(start))
		}
		total["step-ms"] += least.Seconds() * 1000
		total["kB"] += float64(after.TotalAlloc-before.TotalAlloc) / 1000
		if err := Prove(in, out); err != nil {
			b.Fatal(err)
		}
		f := ReadOutput(pods, out)
		total["m$/h"] += float64(f.Cost) / 1e6
		total["bound-m$/h"] += float64(f.Bound) / 1e6
		total[UnitUnplaced] += float64(f.Missing())
		total["fills"] += float64(out.Trace.Work)
		total["units"] += float64(out.Trace.Units)
	}
}
