package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim"
)

// churnSeeds is how many runs of a row about demand that comes and goes are played, from
// churnFrom on: no constant was chosen by them.
const churnFrom, churnSeeds = 4_001, 5

// churn is the run of a row about demand that comes and goes.
func churn(tb testing.TB, name string, seed uint64) sim.Config {
	tb.Helper()
	switch name {
	case "wave-2m":
		return waves(tb, seed, 2*time.Minute, time.Hour)
	case "wave-10m":
		return waves(tb, seed, 10*time.Minute, time.Hour)
	case "wave-1h":
		return waves(tb, seed, time.Hour, 4*time.Hour)
	}
	return cron(tb, seed, time.Hour)
}

// benchmarkChurn plays demand that comes and goes: what it costs over the bound of all the
// time, and how many pods are evicted and nodes launched for that in an hour.
func benchmarkChurn(b *testing.B, name string) {
	b.Helper()
	var all []aDay
	for b.Loop() {
		all = all[:0]
		for seed := range uint64(churnSeeds) {
			all = append(all, playOver(b, churn(b, name, churnFrom+seed), 10*time.Second))
		}
	}
	reportChurn(b, all)
}

func reportChurn(b *testing.B, all []aDay) {
	b.Helper()
	median := func(figure func(aDay) float64) float64 {
		list := make([]float64, len(all))
		for i, d := range all {
			list[i] = figure(d)
		}
		return median(list)
	}
	b.ReportMetric(median(func(d aDay) float64 { return d.over }), UnitGap)
	b.ReportMetric(median(func(d aDay) float64 { return float64(d.Evictions) / d.days / 24 }), UnitEvictionsHour)
	b.ReportMetric(median(func(d aDay) float64 { return float64(d.Launches) / d.days / 24 }), UnitLaunchesHour)
	twice, violations := 0, 0
	for _, d := range all {
		twice, violations = twice+d.Repeated, violations+d.Violations
	}
	b.ReportMetric(float64(twice), UnitRepeated)
	b.ReportMetric(float64(violations), UnitViolations)
}

// BenchmarkMoveConstants adds up what moves do in demand that comes and goes and after a
// scale-down, once, for cmd/constants to compare.
func BenchmarkMoveConstants(b *testing.B) {
	const seeds = 2
	for b.Loop() {
		total := map[string]float64{}
		for seed := uint64(constantsFrom); seed < constantsFrom+seeds; seed++ {
			for name, cfg := range map[string]sim.Config{"waves": waves(b, seed, 10*time.Minute, time.Hour), "cron": cron(b, seed, time.Hour)} {
				d := playOver(b, cfg, 30*time.Second)
				total[name+"-over-%"] += d.over / seeds
				total[name+"-evictions"] += float64(d.Evictions)
				total[name+"-launches"] += float64(d.Launches)
				total[UnitRepeated] += float64(d.Repeated)
			}
			s := scaleIn(b, seed, Shaped(seed, 60, 600), 50)
			total["scaled-over-%"] += s.over / seeds
			total["scaled-wasted-%"] += s.wasted / seeds
			total["scaled-evictions"] += float64(s.Evictions)
			total["scaled-launches"] += float64(s.Launches)
			total[UnitRepeated] += float64(s.Repeated)
		}
		for unit, value := range total {
			b.ReportMetric(value, unit)
		}
	}
}

// waves is a fleet of 600 pods of which every second Deployment goes to 40 % of its replicas
// and back, each time after the period.
func waves(tb testing.TB, seed uint64, period, length time.Duration) sim.Config {
	tb.Helper()
	cfg := standing(tb, seed, Pods(seed, Shaped(seed, 60, 600)), 32)
	cfg.Quiet, cfg.Limit = 2*length, length
	cfg.PodStart, cfg.Grace = 5*time.Second, 10*time.Second
	for i, w := range cfg.Workloads {
		if i%2 == 1 {
			continue
		}
		low := true
		for at := period; at < length; at += period {
			replicas := w.Replicas
			if low {
				replicas = max(1, (2*w.Replicas+4)/5)
			}
			cfg.Scales, low = append(cfg.Scales, sim.Scale{At: at, Workload: w.Name, Replicas: replicas}), !low
		}
	}
	return cfg
}

// cron is a fleet of 300 pods beside 30 CronJobs, each of which makes 8 pods every 10 minutes
// that take 2 to 6 minutes.
func cron(tb testing.TB, seed uint64, length time.Duration) sim.Config {
	tb.Helper()
	cfg := standing(tb, seed, Pods(seed, Shaped(seed, 40, 300)), 32)
	cfg.Quiet, cfg.Limit = 2*length, length
	cfg.PodStart, cfg.Grace = 5*time.Second, 10*time.Second
	d := drawing(seed)
	within := func(most time.Duration) time.Duration { return time.Duration(d.Int64N(int64(most))) }
	for i, s := range Shaped(seed+1, 30, 30) {
		name := fmt.Sprintf("job%d", i)
		cfg.CronJobs = append(cfg.CronJobs, sim.CronJob{
			Workload: sim.Workload{
				Namespace: namespace, Name: name, Labels: label.FromMap(map[string]string{"app": name}), Replicas: 8,
				Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: s.MilliCPU, MemoryBytes: s.MiB << 20, PodSlots: 1}},
			},
			First: within(10 * time.Minute), Every: 10 * time.Minute, Takes: 2*time.Minute + within(4*time.Minute),
		})
	}
	return cfg
}

// thirdOf is services with every kind of rule, each of which keeps a third of its replicas
// once all run.
func thirdOf(tb testing.TB, seed uint64) (cfg, scratch sim.Config) {
	tb.Helper()
	cfg = arrivingServices(tb, seed, 40*time.Second)
	for i := range cfg.Pools {
		cfg.Pools[i].Disruption = cluster.Disruption{
			Policy: cluster.WhenEmptyOrUnderutilized, After: 30 * time.Second, Budgets: []cluster.Budget{{Most: mostPercent, Percent: true}},
		}
	}
	cfg.Quiet, cfg.Limit = quiet, 90*time.Minute
	scratch = cfg
	scratch.Workloads = slices.Clone(cfg.Workloads)
	for i := range scratch.Workloads {
		w := &scratch.Workloads[i]
		w.Replicas = (w.Replicas + 2) / 3
		cfg.Scales = append(cfg.Scales, sim.Scale{At: 5 * time.Minute, Workload: w.Name, Replicas: w.Replicas})
	}
	return cfg, scratch
}

// benchmarkServicesThird plays services with rules that are scaled to a third: the cost over
// the bound in the end, and the nodes against a plan from scratch.
func benchmarkServicesThird(b *testing.B) {
	b.Helper()
	var over, nodes []float64
	var twice, violations, left int
	for b.Loop() {
		over, nodes, twice, violations, left = nil, nil, 0, 0, 0
		for seed := range uint64(servicesSeeds) {
			cfg, scratch := thirdOf(b, churnFrom+seed)
			least, _ := fromScratch(b, scratch)
			var last engine.Input
			cfg.Every, cfg.Sampled = 10*time.Second, func(s sim.Sample) { last = s.Input }
			r := sim.Run(cfg)
			a := engine.Audit(last)
			over = append(over, 100*(float64(a.Cost)/float64(a.Proof.Bound)-1))
			nodes = append(nodes, float64(r.Nodes)/float64(max(1, least)))
			twice, violations, left = twice+r.Repeated, violations+r.Violations, left+r.Left
			b.Logf("seed %d: %d nodes, %d from scratch; %s an hour, bound %s (+%.1f %%); %d evictions, %d twice, %d violations %s; %d launches; last action at %s",
				churnFrom+seed, r.Nodes, least, a.Cost.Dollars(), a.Proof.Bound.Dollars(), over[len(over)-1], r.Evictions, r.Repeated, r.Violations, r.Violation, r.Launches, r.LastLaunch)
		}
	}
	b.ReportMetric(median(over), UnitGap)
	b.ReportMetric(slices.Max(over), UnitWorstGap)
	b.ReportMetric(median(nodes), UnitOfScratch)
	b.ReportMetric(float64(twice), UnitRepeated)
	b.ReportMetric(float64(violations), UnitViolations)
	b.ReportMetric(float64(left), UnitUnplaced)
}

// Demand that comes and goes leaves no pod without a node, and moves break no rule.
func TestChurn_EveryPodRunsAndNoRuleIsBroken(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]sim.Config{
		"waves": waves(t, churnFrom, 5*time.Minute, 21*time.Minute), "cron": cron(t, churnFrom, 21*time.Minute),
	} {
		d := playOver(t, cfg, time.Minute)
		if d.Left > 40 || d.over < 0 || d.Violations > 0 {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// Services that are scaled down end with few nodes, and come to rest.
func TestServicesThird_TheFleetShrinksAndComesToRest(t *testing.T) {
	t.Parallel()
	cfg, scratch := thirdOf(t, churnFrom)
	least, _ := fromScratch(t, scratch)
	r := sim.Run(cfg)
	if r.Left > 0 || r.Violations > 0 || r.Repeated > 0 || r.Settled*2 > r.Peak || r.Nodes < int(least) {
		t.Errorf("%d nodes, %d from scratch: %+v", r.Nodes, least, r)
	}
}

// A pod that runs at the start and the one that comes in its place are of one controller: the
// core tells by the controller which pods have just been moved.
func TestWaves_SuccessorsAreOfTheControllerOfThePodsThatRanAtTheStart(t *testing.T) {
	t.Parallel()
	cfg := waves(t, churnFrom, 2*time.Minute, 5*time.Minute)
	uids := map[string]string{}
	cfg.Every, cfg.Sampled = 10*time.Second, func(s sim.Sample) {
		for _, p := range s.Input.Snapshot.Pods() {
			if p.Owner.Kind != "ReplicaSet" {
				continue
			}
			if known, is := uids[p.Owner.Name]; is && known != p.Owner.UID {
				t.Fatalf("pod %s: its controller %s has the UIDs %s and %s", p.ID(), p.Owner.Name, known, p.Owner.UID)
			}
			uids[p.Owner.Name] = p.Owner.UID
		}
	}
	if sim.Run(cfg).Pods == 0 {
		t.Error("no pod was created")
	}
}
