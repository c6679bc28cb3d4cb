package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim"
)

// The most that the core may take: thousandths over the bound when all pods run,
// for 1,000 and 10,000 pods, and how long a pod may wait for a decision.
var arrivalsMay = map[sim.Mode][2]int64{
	sim.Full: {60, 90}, sim.NominationsOnly: {60, 80},
}

const (
	waitMedian = 200 * time.Millisecond
	waitP95    = time.Second
)

// BenchmarkArrivals plays pods that arrive at 100 a second at a fleet that is
// empty at first and boots in 40 s: all Deployments declared at the start, or
// one after the other. It prints the cost over the bound and what is required.
func BenchmarkArrivals(b *testing.B) {
	for _, size := range []struct {
		name        string
		deployments int
		pods        int64
	}{{"1000", 299, 1009}, {"10000", 300, 10_000}} {
		for _, sequence := range []bool{false, true} {
			for _, mode := range []sim.Mode{sim.Full, sim.NominationsOnly} {
				if sequence && mode != sim.Full {
					continue // declared pods, which alone it is about, are not shown
				}
				order := map[bool]string{false: "at-once", true: "in-sequence"}[sequence]
				b.Run(fmt.Sprintf("pods=%s/%s/%s", size.name, order, []string{"full", "nominations"}[mode]), func(b *testing.B) {
					may := arrivalsMay[mode][0]
					if size.pods > 5000 {
						may = arrivalsMay[mode][1]
					}
					for seed := uint64(1); b.Loop(); seed++ {
						reportArrivals(b, arrivals(b, seed, size.deployments, size.pods, mode, sequence), may)
					}
				})
			}
		}
	}
	b.Run("pods=1000/at-once/full-loose", func(b *testing.B) {
		for seed := uint64(1); b.Loop(); seed++ {
			reportArrivals(b, sim.Run(loose(arriving(b, seed, 299, 1009, sim.Full, false))), arrivalsMay[sim.Full][0])
		}
	})
}

// loose gives the pools a limit that does not bind.
func loose(cfg sim.Config) sim.Config {
	cfg.Pools = slices.Clone(cfg.Pools)
	for i := range cfg.Pools {
		cfg.Pools[i].Limits = []quantity.Amount{{Name: quantity.CPU, Count: 1_000_000_000}}
	}
	return cfg
}

func TestArrivals_ALimitThatDoesNotBindChangesNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		cfg := arriving(t, seed, 60, 300, sim.Full, false)
		if without, with := sim.Run(cfg), sim.Run(loose(cfg)); with != without {
			t.Errorf("seed %d: with a limit %+v, without %+v", seed, with, without)
		}
	}
}

func reportArrivals(b *testing.B, r sim.Report, may int64) {
	b.Helper()
	if r.Left != 0 {
		b.Fatalf("%d pods do not run: %+v", r.Left, r)
	}
	b.ReportMetric(float64(r.Over(r.Cost))/10, "%over")
	b.ReportMetric(float64(r.Over(r.Settled))/10, "%settled")
	b.ReportMetric(float64(may)/10, "%required")
	b.ReportMetric(float64(r.Launches), "launches")
	b.ReportMetric(r.Wait.Median.Seconds(), "wait-s")
	b.ReportMetric(r.Wait.P95.Seconds(), "wait95-s")
	b.ReportMetric(float64(r.Steps), "steps")
	verdict := "met"
	if r.Over(r.Cost) > may || r.Wait.Median > waitMedian || r.Wait.P95 > waitP95 {
		verdict = "MISSED"
	}
	b.Logf("required over %.1f%%, wait %s/%s: %s\n%s", float64(may)/10, waitMedian, waitP95, verdict, sim.Table([]string{b.Name()}, []sim.Report{r}))
}

// arrivals plays one run; the seed draws the Deployments and every chance.
func arrivals(b testing.TB, seed uint64, deployments int, pods int64, mode sim.Mode, sequence bool) sim.Report {
	b.Helper()
	return sim.Run(arriving(b, seed, deployments, pods, mode, sequence))
}

// arriving is the configuration of such a run.
func arriving(b testing.TB, seed uint64, deployments int, pods int64, mode sim.Mode, sequence bool) sim.Config {
	b.Helper()
	setting, err := Published(32)
	if err != nil {
		b.Fatal(err)
	}
	objects, err := setting.Objects()
	if err != nil {
		b.Fatal(err)
	}
	for i := range objects.Pools {
		objects.Pools[i].Disruption.After = 30 * time.Second
	}
	cfg := sim.Config{
		Seed: seed, Pools: objects.Pools, Classes: objects.Classes, DaemonSets: objects.DaemonSets,
		Policy: Policy(), Mode: mode, InSequence: sequence, Rate: 100, Boot: 40 * time.Second,
	}
	for _, d := range Shaped(seed, deployments, pods) {
		cfg.Workloads = append(cfg.Workloads, sim.Workload{
			Namespace: namespace, Name: d.Name, Labels: label.FromMap(map[string]string{"app": d.Name}), Replicas: d.Count,
			Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: d.MilliCPU, MemoryBytes: d.MiB << 20, PodSlots: 1}},
		})
	}
	return cfg
}
