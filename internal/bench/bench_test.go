package bench

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
)

// BenchmarkCore runs every case. The seeds of a case come first, then one that
// is drawn now and reported, then others: no input is decided on twice.
func BenchmarkCore(b *testing.B) {
	for _, c := range Cases() {
		b.Run(c.Name, func(b *testing.B) { benchmarkCase(b, c) })
	}
	b.Run("w4-polished", benchmarkPolished)
	b.Run("index", benchmarkIndex)
	b.Run("event", func(b *testing.B) { benchmarkEvent(b, large, false, false) })
	b.Run("event-step", func(b *testing.B) { benchmarkEvent(b, large, false, true) })
	b.Run("event-room", func(b *testing.B) { benchmarkEvent(b, small, true, true) })
	b.Run("event-selects", func(b *testing.B) { benchmarkEvent(b, selects, true, true) })
	b.Run("ordered", func(b *testing.B) { benchmarkOrdered(b, 100, 0) })
	b.Run("ordered-launch", func(b *testing.B) { benchmarkOrdered(b, 15_000, 1) })
	b.Run("stuck", benchmarkStuck)
	b.Run("unconstrained", func(b *testing.B) { benchmarkUnconstrained(b, 1) })
	b.Run("constrained-1%", func(b *testing.B) { benchmarkUnconstrained(b, 8) })
	b.Run("audit", benchmarkAudit)
}

func benchmarkCase(b *testing.B, c Case) {
	b.Helper()
	base, err := c.Base()
	if err != nil {
		b.Fatal(err)
	}
	drawn := 1_000 + rand.Uint64N(1_000_000)
	seed := func(i int) uint64 {
		if i == c.Seeds {
			return drawn
		}
		return uint64(i + 1)
	}
	var all []Figures
	var worst time.Duration
	run := func(i int, timed bool) {
		in, pods, err := c.Prepare(base, seed(i))
		if err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		if timed {
			b.StartTimer()
		}
		start := time.Now()
		out := engine.Step(in)
		worst = max(worst, time.Since(start))
		b.StopTimer()
		all = append(all, ReadOutput(pods, out))
		if err := Prove(in, out); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		run(len(all), true)
		b.StartTimer()
	}
	b.StopTimer()
	for len(all) <= c.Seeds { // the gap is over all of them, however few were timed
		run(len(all), false)
	}
	report(b, all)
	reportNodeCost(b, c, base)
	b.ReportMetric(worst.Seconds()*1000, UnitWorst)
	b.ReportMetric(float64(drawn), UnitDrawn)
}

// benchmarkPolished makes w4's plan in Steps of a thousand units of work, with as
// much polishing as helps.
func benchmarkPolished(b *testing.B) {
	b.Helper()
	cases := Cases()
	c := cases[slices.IndexFunc(cases, func(c Case) bool { return c.Name == "w4" })]
	base, err := c.Base()
	if err != nil {
		b.Fatal(err)
	}
	var all []Figures
	var units int
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		in, pods, err := c.Prepare(base, uint64(len(all)+1))
		if err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		b.StartTimer()
		in.Polish, in.WorkLimit = math.MaxInt, 1000
		out := engine.Step(in)
		for !out.Trace.Complete {
			in.Memory = out.Memory
			out = engine.Step(in)
		}
		b.StopTimer()
		all, units = append(all, ReadOutput(pods, out)), out.Trace.Units
		if err := Prove(in, out); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	report(b, all)
	b.ReportMetric(float64(units), "units")
}

// report gives the medians over the inputs, and the worst.
func report(b *testing.B, all []Figures) {
	b.Helper()
	var cost, bound, gap, nodes, satisfied []float64
	unplaced := 0
	for _, f := range all {
		cost = append(cost, float64(f.Cost)/1e9)
		bound = append(bound, float64(f.Bound)/1e9)
		nodes = append(nodes, float64(f.Nodes))
		satisfied = append(satisfied, float64(f.Satisfied))
		if g, ok := f.Gap(); ok {
			gap = append(gap, g)
		}
		unplaced = max(unplaced, f.Missing())
	}
	b.ReportMetric(median(cost), UnitCost)
	b.ReportMetric(median(nodes), UnitNodes)
	b.ReportMetric(float64(unplaced), UnitUnplaced)
	if len(gap) > 0 {
		b.ReportMetric(median(bound), UnitBound)
		b.ReportMetric(median(gap), UnitGap)
		b.ReportMetric(slices.Max(gap), UnitWorstGap)
	}
	if most := slices.Max(satisfied); most > 0 {
		b.ReportMetric(median(satisfied), UnitSatisfied)
	}
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// benchmarkIndex makes the index of w1 from raw objects that it has not seen.
func benchmarkIndex(b *testing.B) {
	c := Cases()[0]
	base, err := c.Base()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for seed := uint64(1); b.Loop(); seed++ {
		b.StopTimer()
		objects := base.objects
		if objects.Pods, err = c.Pods(seed); err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		b.StartTimer()
		if _, err := cluster.New(objects); err != nil {
			b.Fatal(err)
		}
	}
}
