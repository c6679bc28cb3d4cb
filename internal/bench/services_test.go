package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim"
)

// servicesSeeds is how many runs of each row are played.
const servicesSeeds = 20

// servicesWithin is the time in which all pods of the services are created.
const servicesWithin = 10 * time.Second

// BenchmarkArrivalsServices plays services with every kind of constraint that are
// created within 10 s on a fleet that is empty at first. It prints the cost over
// the bound, the nodes against the plan from scratch, and when the last node is
// launched; of all runs the median and the worst.
func BenchmarkArrivalsServices(b *testing.B) {
	for _, boot := range []time.Duration{2 * time.Second, 40 * time.Second} {
		b.Run("boot="+boot.String(), func(b *testing.B) {
			var runs []ServicesRun
			for b.Loop() {
				runs = runs[:0]
				for seed := range uint64(servicesSeeds) {
					runs = append(runs, services(b, seed+1, boot))
				}
			}
			for _, l := range ServicesLimits() {
				b.ReportMetric(l.Figure(runs), l.Unit)
			}
		})
	}
}

// services plays one run.
func services(t testing.TB, seed uint64, boot time.Duration) ServicesRun {
	t.Helper()
	cfg := arrivingServices(t, seed, boot)
	nodes, cost := fromScratch(t, cfg)
	r := sim.Run(cfg)
	if r.Left != 0 {
		t.Fatalf("seed %d: %d pods do not run: %+v", seed, r.Left, r)
	}
	t.Logf("seed %d: %d pods, %d nodes and %s from scratch, last pod %.1f s, last launch %.1f s\n%s",
		seed, r.Pods, nodes, cost.Dollars(), r.LastPod.Seconds(), r.LastLaunch.Seconds(), sim.Table([]string{boot.String()}, []sim.Report{r}))
	return ServicesRun{
		Over: float64(r.Over(r.Cost)) / 10, Nodes: float64(r.Nodes) / float64(max(1, nodes)), Last: (r.LastLaunch - r.LastPod).Seconds(),
	}
}

// arrivingServices is the configuration of a run in which Services are created one
// after the other.
func arrivingServices(t testing.TB, seed uint64, boot time.Duration) sim.Config {
	t.Helper()
	setting, err := ServicesSetting()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := setting.Objects()
	if err != nil {
		t.Fatal(err)
	}
	for i := range objects.Pools {
		objects.Pools[i].Disruption.After = 30 * time.Second
	}
	cfg := sim.Config{
		Seed: seed, Pools: objects.Pools, Classes: objects.Classes, DaemonSets: objects.DaemonSets,
		Policy: Policy(), InSequence: true, Boot: boot,
	}
	var pods int64
	for _, s := range Services(seed) {
		pods += s.Replicas
		cfg.Workloads = append(cfg.Workloads, sim.Workload{Namespace: namespace, Name: s.Name, Labels: s.Labels, Shape: s.Shape, Replicas: s.Replicas})
	}
	cfg.Rate = pods*int64(time.Second)/int64(servicesWithin) + 1
	return cfg
}

// fromScratch is what one Step plans for all pods of the run at once.
func fromScratch(t testing.TB, cfg sim.Config) (nodes int64, cost quantity.Money) {
	t.Helper()
	o := cluster.Objects{Pools: cfg.Pools, Classes: cfg.Classes, DaemonSets: cfg.DaemonSets}
	for _, w := range cfg.Workloads {
		for i := range w.Replicas {
			name := fmt.Sprintf("%s-%d", w.Name, i)
			o.Pods = append(o.Pods, cluster.Pod{
				UID: name, Namespace: w.Namespace, Name: name, Labels: w.Labels, Shape: w.Shape, Created: Began(), Unschedulable: true,
				Owner: cluster.Owner{Kind: "ReplicaSet", Name: w.Name, UID: w.Name},
			})
		}
	}
	snapshot, err := cluster.New(o)
	if err != nil {
		t.Fatal(err)
	}
	p := engine.Step(engine.Input{Snapshot: snapshot, Policy: cfg.Policy, Now: Began(), Seed: cfg.Seed}).Plan
	for _, a := range p.Actions {
		if _, launch := a.(plan.Launch); launch {
			nodes++
		}
	}
	return nodes, p.Cost
}

func TestServices_AThirdAsksForNothingAndTheOthersForOneThingEach(t *testing.T) {
	of, pods := map[string]int{}, int64(0)
	for _, w := range Services(1) {
		kind := w.Name[:max(0, strings.LastIndexByte(w.Name, '-'))]
		of[kind]++
		pods += w.Replicas
		if w.Replicas < 3 || w.Replicas > 20 {
			t.Errorf("%s has %d replicas", w.Name, w.Replicas)
		}
	}
	if of["plain"]+of[""] != deployedServices/3 {
		t.Errorf("of %d Deployments %d ask for nothing", deployedServices, of["plain"]+of[""])
	}
	for _, c := range constraints() {
		if n := of[c.name]; n < 5 || n > 6 {
			t.Errorf("%d Deployments ask for %s", n, c.name)
		}
	}
	if pods < 400 || pods > 900 {
		t.Errorf("%d pods in all", pods)
	}
}
