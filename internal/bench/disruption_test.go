package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
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
	b.Run("sweep", func(b *testing.B) { benchmarkSweep(b, full(b), true) })
	b.Run("target", func(b *testing.B) { benchmarkSweep(b, full(b), false) })
	b.Run("sweep-5k", func(b *testing.B) { benchmarkSweep(b, spread(b), false) })
	b.Run("one-gone", func(b *testing.B) { benchmarkOneGone(b, false) })
	b.Run("one-gone-search", func(b *testing.B) { benchmarkOneGone(b, true) })
	for _, name := range []string{"wave-2m", "wave-10m", "wave-1h", "cron"} {
		b.Run(name, func(b *testing.B) { benchmarkChurn(b, name) })
	}
	b.Run("services-third", benchmarkServicesThird)
	b.Run("day", func(b *testing.B) {
		for b.Loop() {
			reportDay(b, playDay(b, dayOf(b, 1, Shaped(1, 300, 9_000), 50, 24*time.Hour)))
		}
	})
}

// full is a fleet of some 2,200 nodes with 37,000 pods in the sizes of w1, on types up to
// 16 vCPU, nearly full.
func full(tb testing.TB) Standing {
	tb.Helper()
	return stand(tb, Pods(1, times(tb, 37, 10)), 16)
}

// spread is a fleet of some 5,000 nodes with 58,000 pods in the sizes of w1, on types up to
// 8 vCPU, nearly full. The pods of 50 Deployments are spread over zones.
func spread(tb testing.TB) Standing {
	tb.Helper()
	pods := Pods(1, times(tb, 58, 10))
	apps := map[string]bool{}
	for i := range pods {
		p := &pods[i]
		app, _ := p.Labels.Get("app")
		if apps[app] || len(apps) < 50 {
			apps[app] = true
			p.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: cluster.PodSelector{Match: label.All(label.Is("app", app))}}}
		}
	}
	return stand(tb, pods, 8)
}

// times is w1 with so many times as many pods.
func times(tb testing.TB, by, per int64) []Deployment {
	tb.Helper()
	from, err := File("w1_300x10k.csv")
	if err != nil {
		tb.Fatal(err)
	}
	for i := range from {
		from[i].Count = from[i].Count * by / per
	}
	return from
}

func stand(tb testing.TB, pods []cluster.Pod, maxVCPU int) Standing {
	tb.Helper()
	s, err := Stand(1, pods, maxVCPU)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// swept is what came of Steps until nothing was left to look at.
type swept struct {
	engine.Input // of the next Step

	steps int
	worst time.Duration // that a Step took
	going []string      // NodeClaims that a plan disrupts; the Steps end with such a plan
}

// sweep steps until a plan disrupts a node or nothing is left to do within a minute. No
// plan is carried out.
func sweep(tb testing.TB, in engine.Input) swept {
	tb.Helper()
	return sweepUntil(tb, in, func(engine.Trace) bool { return false })
}

// sweepUntil is a sweep that also ends with a Step that is enough.
func sweepUntil(tb testing.TB, in engine.Input, enough func(engine.Trace) bool) swept {
	tb.Helper()
	const most = 100_000
	out := swept{Input: in}
	for out.steps < most {
		began := time.Now()
		step := engine.Step(out.Input)
		out.worst = max(out.worst, time.Since(began))
		out.steps++
		out.Memory, out.Now = step.Memory, out.Now.Add(time.Second)
		soon := false
		for _, a := range step.Plan.Actions {
			switch a := a.(type) {
			case plan.Wait:
				soon = soon || a.Until.Sub(out.Now) < time.Minute
			case plan.Launch:
				if a.Move != nil {
					for _, s := range a.Move.Sources {
						out.going = append(out.going, s.Claim)
					}
				}
			case plan.Disrupt:
				out.going = append(out.going, a.Claim)
			case plan.Delete:
				out.going = append(out.going, a.Claim)
			case plan.Nominate, plan.Bind, plan.Release, plan.Close, plan.Restore:
			}
		}
		if len(out.going) > 0 || step.Trace.Complete && !soon || enough(step.Trace) {
			return out
		}
	}
	tb.Fatalf("after %d steps there is still something to do", most)
	return out
}

// benchmarkSweep looks at every node of the fleet, by a daemon that has just started. As
// the budget lets no node go, the search goes on to its end. Alone leaves out sets of
// nodes.
func benchmarkSweep(b *testing.B, fleet Standing, alone bool) {
	b.Helper()
	in, err := fleet.Input(0)
	if err != nil {
		b.Fatal(err)
	}
	if alone {
		in.Policy.SweepTrials = 1
	}
	runtime.GC()
	b.ReportAllocs()
	var out swept
	var worst time.Duration
	for b.Loop() {
		out = sweep(b, in)
		worst = max(worst, out.worst)
	}
	if len(out.going) > 0 {
		b.Fatalf("%d nodes go against the budget", len(out.going))
	}
	b.ReportMetric(float64(in.Snapshot.NodeCount()), UnitNodes)
	b.ReportMetric(float64(out.steps), UnitSteps)
	b.ReportMetric(worst.Seconds()*1000, UnitWorst)
}

// benchmarkOneGone takes another pod from a fleet that has been swept each time. It measures
// the update of the snapshot and all Steps, those that wait for more changes included, until
// it is decided what goes of the nodes that this concerns: each node alone, without new
// nodes, and the node that lost the pod also with new nodes; if a node goes, with the plan
// that begins it. What sets of nodes could save is not decided then. With search set, it
// measures the whole search that follows, too.
func benchmarkOneGone(b *testing.B, search bool) {
	b.Helper()
	in := settleAlone(b, settle(b, full(b)))
	runtime.GC()
	b.ReportAllocs()
	var worst time.Duration
	var steps, turns, going int
	rng := rand.New(rand.NewPCG(1, 0x90e))
	pods := in.Snapshot.Pods()
	for b.Loop() {
		out := oneGone(b, in, pods[rng.IntN(len(pods))].ID(), search)
		worst, steps, turns = max(worst, out.worst), steps+out.steps, turns+1
		if len(out.going) > 0 {
			going++
		}
	}
	b.ReportMetric(float64(in.Snapshot.NodeCount()), UnitNodes)
	b.ReportMetric(float64(steps)/float64(turns), UnitSteps)
	b.ReportMetric(worst.Seconds()*1000, UnitWorst)
	b.ReportMetric(100*float64(going)/float64(turns), "going-%")
}

// oneGone takes the pod away and steps until what this concerns is decided or, with search
// set, until nothing is left to do.
func oneGone(tb testing.TB, in engine.Input, pod string, search bool) swept {
	tb.Helper()
	next, err := in.Snapshot.Apply(cluster.Delta{Removed: cluster.Removed{Pods: []string{pod}}})
	if err != nil {
		tb.Fatal(err)
	}
	in.Snapshot = next
	return sweepUntil(tb, in, func(t engine.Trace) bool { return t.ChangesTried && !search })
}

// settleAlone keeps the nodes from going that go as soon as any pod is gone: the sweep has
// left them although they can go alone.
func settleAlone(tb testing.TB, in engine.Input) engine.Input {
	tb.Helper()
	rng := rand.New(rand.NewPCG(2, 0x90e))
	pods := in.Snapshot.Pods()
	const enough = 10
	for quiet := 0; quiet < enough; quiet++ {
		if out := oneGone(tb, in, pods[rng.IntN(len(pods))].ID(), false); len(out.going) > 0 {
			quiet = 0
			in.Snapshot = staying(tb, in.Snapshot, out.going)
			in = keepAll(tb, in)
		}
	}
	return in
}

// staying returns the snapshot in which the nodes of the NodeClaims must not be disrupted.
func staying(tb testing.TB, s cluster.Snapshot, claims []string) cluster.Snapshot {
	tb.Helper()
	var d cluster.Delta
	slices.Sort(claims)
	for _, name := range slices.Compact(claims) { // each replacement of a move names all its sources
		c, _ := s.Claim(name)
		n, _ := s.Node(c.Node)
		n.DoNotDisrupt = true
		d.Put.Nodes = append(d.Put.Nodes, n)
	}
	s, err := s.Apply(d)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// settle keeps the nodes that a sweep takes away from going to save money, until a sweep
// takes none away.
func settle(tb testing.TB, fleet Standing) engine.Input {
	tb.Helper()
	in, err := fleet.Input(100)
	if err != nil {
		tb.Fatal(err)
	}
	return keepAll(tb, in)
}

// keepAll is settle for a fleet that may have been swept.
func keepAll(tb testing.TB, in engine.Input) engine.Input {
	tb.Helper()
	for range in.Snapshot.NodeCount() {
		out := sweep(tb, in)
		if len(out.going) == 0 {
			return out.Input
		}
		in.Snapshot = staying(tb, in.Snapshot, out.going)
	}
	tb.Fatal("nodes go that are to stay")
	return in
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
	return playOver(tb, cfg, 5*time.Minute)
}

// playOver plays the run, and compares cost and bound each time.
func playOver(tb testing.TB, cfg sim.Config, every time.Duration) aDay {
	tb.Helper()
	var cost, bound quantity.Money
	var pods, samples float64
	began := time.Now()
	cfg.Every, cfg.Sampled = every, func(s sim.Sample) {
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
	cfg := standing(tb, seed, Pods(seed, half), 32)
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
	if d.Left > 30 || d.over < 0 || d.pods < 100 || d.Pods < 500 || d.Violations > 0 {
		t.Errorf("%+v", d)
	}
}

func TestDisrupting_EveryRowSaysItsTerms(t *testing.T) {
	t.Parallel()
	for _, r := range Disrupting() {
		for _, term := range []string{"budget ", "least saving $", "payback "} {
			if !strings.Contains(r.Title, term) {
				t.Errorf("row %s does not say %q: %s", r.Name, term, r.Title)
			}
		}
	}
}

// What is measured ends where nothing is left to do, not with the first node that goes.
func TestSweep_GoesOnToItsEnd(t *testing.T) {
	t.Parallel()
	s, err := Stand(1, Pods(1, Shaped(1, 40, 600)), 32)
	if err != nil {
		t.Fatal(err)
	}
	s.Objects.Pods = keep(1, s.Objects.Pods, 30)
	input := func(percent int64) engine.Input {
		in, err := s.Input(percent)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	if out := sweep(t, input(100)); len(out.going) == 0 {
		t.Fatal("nothing goes of a fleet that lost 70 % of its pods")
	}
	out := sweep(t, input(0))
	if len(out.going) > 0 {
		t.Errorf("%s go against the budget", out.going)
	}
	if again := sweep(t, out.Input); again.steps != 1 || len(again.going) > 0 {
		t.Errorf("after the end there are %d Steps to do, and %s go", again.steps, again.going)
	}
	in := settle(t, s)
	if again := sweep(t, in); len(again.going) > 0 {
		t.Errorf("%s go after all stays that a sweep takes away", again.going)
	}
}
