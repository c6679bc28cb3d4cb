package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Row is one line of the table of results: what is measured, and what is required.
// What Karpenter takes for the same is in no source: see Comparisons.
type Row struct {
	Name     string // of the benchmark, after the first slash
	Title    string
	Required Required
}

// Required is what a row must reach. Zero means that nothing is required.
type Required struct {
	Millis    float64 // per operation
	MB        float64 // allocated per operation, in 10^6 bytes
	Gap       float64 // per cent that the cost may be above the bound; with seeds: the median's
	WorstGap  float64 // the same for every seed
	Unplaced  bool    // no pod may be left without a node
	Binds     bool    // a limit binds: some pods must be without a node
	Slower    float64 // per cent that it may be slower than without what is compared
	Over      float64 // of arrivals: per cent that the cost may be above the bound when all pods run
	Wait      float64 // seconds that a pod may wait for a decision, the median
	Wait95    float64 // the same, the 95th percentile
	Launches  float64 // per cent of the starting nodes that may be launched
	Evictions float64 // that a pod may see on average
	Scratch   float64 // nodes that may be there for each node of a plan from scratch
}

// Case is a Row about one Step: a setting, and demand for each seed.
type Case struct {
	Row

	Setting func() (Setting, error)
	Pods    func(seed uint64) ([]cluster.Pod, error)
	// Seeds is over how many inputs the gap is required; one more is drawn when
	// the benchmark starts.
	Seeds int
	// Limit is that of every pool: per cent of the CPUs that the pods request. 0 is none.
	Limit int64
}

// Cases are the rows about one Step.
func Cases() []Case {
	capped := func() (Setting, error) { return Published(32) }
	uncapped := func() (Setting, error) { return Published(0) }
	karpenters := func() (Setting, error) { return Fake(), nil }
	cases := []Case{
		{Row{"w1", "w1: 10,000 pods of 300 Deployments, types <= 32 vCPU", Required{Millis: 20, MB: 16, Gap: 1.5, Unplaced: true}}, capped, file("w1_300x10k.csv"), 1, 0},
		{Row{"w1-uncapped", "w1, types of any size", Required{Millis: 20, MB: 16, Gap: 1.5, Unplaced: true}}, uncapped, file("w1_300x10k.csv"), 1, 0},
		{Row{"w1-shaped", "demand of the shape of w1", Required{Millis: 50, Gap: 1.5, WorstGap: 4, Unplaced: true}}, capped, shaped(300, 10_000), 20, 0},
		{Row{"w1-50k-shaped", "50,000 pods of 800 Deployments", Required{Millis: 100, Gap: 2.5, WorstGap: 5, Unplaced: true}}, capped, shaped(800, 50_000), 20, 0},
		{Row{"w4", "w4: 10,000 pods of the sizes of Karpenter's benchmark", Required{Millis: 50, Gap: 3.5, Unplaced: true}}, capped, file("w4_kbench10k.csv"), 1, 0},
		{Row{"big", "30 Deployments of pods of 9-15 CPUs, types <= 32 vCPU", Required{Unplaced: true}}, capped, big(30), 20, 0},
		{Row{"few-large", "2,000 pods of 20-30 kinds of 4-96 CPUs, any type", Required{Millis: 150, Gap: 1.5, WorstGap: 5, Unplaced: true}}, AnyType, fewLarge(2_000), 20, 0},
		{Row{"few-large-16k", "16,000 of those pods", Required{Millis: 150, Gap: 1.5, WorstGap: 5, Unplaced: true}}, AnyType, fewLarge(16_000), 20, 0},
		{Row{"mix", "10,000 pods, a fifth of each kind, 400 types", Required{Millis: 250, Unplaced: true}}, karpenters, mixed(10_000, Kinds()...), 5, 0},
	}
	for _, k := range Kinds() {
		cases = append(cases, Case{
			Row{"mix-" + string(k), "2,000 of those pods: " + string(k), Required{Unplaced: true}}, karpenters, mixed(2_000, k), 5, 0,
		})
	}
	cases = append(cases, Case{
		Row{"preferences", "4,000 pods with preferences", Required{Millis: 100, Unplaced: true}}, karpenters, preferring(4_000), 5, 0,
	})
	return slices.Concat(cases, WithLimits(cases), further())
}

// further are rows that are like no other: sizes from distributions that no file has,
// prices that differ from zone to zone, GPUs, nodes that run already, and the policy
// that the daemon has.
func further() []Case {
	capped := func() (Setting, error) { return Published(32) }
	demand := func(draw ...func(uint64) []Deployment) func(uint64) ([]cluster.Pod, error) {
		return func(seed uint64) ([]cluster.Pod, error) {
			var all []Deployment
			for _, d := range draw {
				all = append(all, d(seed)...)
			}
			return Pods(seed, all), nil
		}
	}
	plain := func(seed uint64) []Deployment { return Shaped(seed, 100, 3_000) }
	return []Case{
		{Row{"pareto", "300 Deployments: Pareto CPUs, lognormal memory", Required{Unplaced: true}}, capped, demand(func(seed uint64) []Deployment { return Pareto(seed, 300) }), 20, 0},
		{Row{"uniform", "300 Deployments: uniform CPUs and memory", Required{Unplaced: true}}, capped, demand(func(seed uint64) []Deployment { return Uniform(seed, 300) }), 20, 0},
		{Row{"spot", "demand of the shape of w1, spot at a price of its own in each zone", Required{Unplaced: true}}, spot, shaped(300, 10_000), 5, 0},
		{Row{"gpus", "30 Deployments with GPUs beside 100 without, 3,000 pods", Required{Unplaced: true}}, gpus, demand(plain, func(seed uint64) []Deployment { return WithGPUs(seed, 30) }), 20, 0},
		{Row{"beside-fleet", "3,000 pods beside 2,000 nodes, pools of three weights, CoreDNS", Required{Unplaced: true}}, besideFleet(2_000), waited(demand(plain)), 5, 0},
		{Row{"w1-shipped", "w1, types of any size, the policy of the daemon", Required{Unplaced: true}}, shipped, file("w1_300x10k.csv"), 1, 0},
	}
}

// Compared are the cases that the peer decides on, too, smaller ones before
// those that take it a minute.
func Compared() []Case {
	var out []Case
	add := func(like, name, title string, pods func(uint64) ([]cluster.Pod, error)) {
		for _, c := range Cases() {
			if c.Name == like {
				c.Name, c.Title, c.Pods = name, title, pods
				out = append(out, c)
			}
		}
	}
	add("w1", "w1-1k", "1,000 pods of 300 Deployments, types <= 32 vCPU", shaped(300, 1_000))
	add("mix", "mix-1k", "1,000 pods, a fifth of each kind, 400 types", mixed(1_000, Kinds()...))
	add("preferences", "preferences-1k", "1,000 pods with preferences", preferring(1_000))
	for _, c := range Cases() {
		if slices.Contains([]string{"w1-uncapped", "w1", "mix", "preferences", "w4"}, c.Name) {
			out = append(out, c)
		}
	}
	return out
}

// Others are the rows about anything else than the Step of a Case.
func Others() []Row {
	rows := []Row{
		{"w4-polished", "w4 when what takes longer has been done, too", Required{Millis: 2_000, Gap: 0.5}},
		{"index", "cold index of 10,000 pods from raw objects", Required{Millis: 100}},
		{"event", "one pod more on an index of 50,000", Required{Millis: 0.2}},
		{"event-step", "the same, and the Step after it, where the pod needs a launch", Required{}},
		{"event-room", "the same, where the pod is small and a tenth of the pods have ended", Required{}},
		{"event-selects", "the same, where the small pod may run on no node that is there", Required{}},
		{"ordered", "one pod more beside 1,900 NodeClaims that are not launched yet", Required{Millis: 5}},
		{"ordered-launch", "the same, where the pod needs a launch", Required{}},
		{"stuck", "a pod that starts or ends on 2,000 nodes, beside 20 that can run nowhere", Required{Millis: 2}},
		{"audit", "cost, bound and the price of every constraint of a fleet of 10,000 pods", Required{Millis: 50}},
		{"unconstrained", "w1 beside pods of every kind of constraint", Required{Slower: 10}},
		{"constrained-1%", "the same, beside 1 % such pods", Required{}},
	}
	return append(rows, Disrupting()...)
}

// Disrupting are the rows about nodes that run and are not needed. What each plays under
// ends its title.
func Disrupting() []Row {
	p := Policy()
	under := func(title string, percent int) string {
		dollars := func(m quantity.Money) float64 { return float64(m) / quantity.NanoDollars }
		return fmt.Sprintf("%s; budget %d %%, least saving $%g/h, payback %s at most, at what an average pod, or a new node, costs in %s",
			title, percent, dollars(p.LeastSaving), p.PayBack, p.MoveTime)
	}
	scaled := Required{Gap: 2.5, WorstGap: 4, Launches: 20}
	return []Row{
		{"to=80", under("w1 scaled in to 80 % of its pods at random", mostPercent), scaled},
		{"to=50", under("the same, to 50 %", mostPercent), scaled},
		{"to=30", under("the same, to 30 %", mostPercent), scaled},
		{"sweep", under("a look at every node, alone, of a fleet of 2,200 nodes and 37,000 pods", 0), Required{Millis: 250}},
		{"target", under("the whole search of that fleet, sets of nodes and new nodes for them included", 0), Required{Millis: 1_000}},
		{"sweep-5k", under("the whole search of 5,000 nodes and 58,000 pods, 50 apps of which spread over zones", 0), Required{Millis: 2_000}},
		{"one-gone", under("one pod gone from the 2,200 nodes once swept: all Steps until what goes is decided of the nodes that this concerns, each alone; that of the pod also with new nodes", 100), Required{Millis: 5}},
		{"one-gone-search", under("the same, and the whole search that follows, sets of nodes included", 100), Required{}},
		{"wave-2m", under("600 pods, of which every second Deployment goes to 40 % and back every 2 minutes", mostPercent), Required{}},
		{"wave-10m", under("the same every 10 minutes", mostPercent), Required{}},
		{"wave-1h", under("the same every hour", mostPercent), Required{}},
		{"cron", under("300 pods beside 30 CronJobs, each with 8 pods every 10 minutes that take 2 to 6", mostPercent), Required{}},
		{"services-third", under("services with every kind of rule, scaled to a third", mostPercent), Required{Gap: 8, Scratch: 1.4}},
		{"day", under("a day of 10,000 pods: twice as many at noon, CronJobs, rollouts", mostPercent), Required{Gap: 10, Evictions: 1.2}},
	}
}

// Rows are all lines of the table, in its order.
func Rows() []Row {
	var rows []Row
	for _, c := range Cases() {
		rows = append(rows, c.Row)
	}
	return append(rows, Others()...)
}

func file(name string) func(uint64) ([]cluster.Pod, error) {
	return func(seed uint64) ([]cluster.Pod, error) {
		from, err := File(name)
		return Pods(seed, from), err
	}
}

func shaped(deployments int, pods int64) func(uint64) ([]cluster.Pod, error) {
	return func(seed uint64) ([]cluster.Pod, error) { return Pods(seed, Shaped(seed, deployments, pods)), nil }
}

func big(deployments int) func(uint64) ([]cluster.Pod, error) {
	return func(seed uint64) ([]cluster.Pod, error) { return Pods(seed, Big(seed, deployments)), nil }
}

func fewLarge(pods int64) func(uint64) ([]cluster.Pod, error) {
	return func(seed uint64) ([]cluster.Pod, error) { return Pods(seed, Large(seed, pods)), nil }
}

// waited are pods that have been there for a minute: no launch waits for more of them.
func waited(pods func(uint64) ([]cluster.Pod, error)) func(uint64) ([]cluster.Pod, error) {
	return func(seed uint64) ([]cluster.Pod, error) {
		all, err := pods(seed)
		for i := range all {
			all[i].Created = all[i].Created.Add(-time.Minute)
		}
		return all, err
	}
}

func mixed(pods int, kinds ...Kind) func(uint64) ([]cluster.Pod, error) {
	return func(seed uint64) ([]cluster.Pod, error) { return Mixed(seed, pods, kinds...), nil }
}

func preferring(pods int) func(uint64) ([]cluster.Pod, error) {
	return func(seed uint64) ([]cluster.Pod, error) { return Preferring(seed, pods), nil }
}

// String lists what is required, as in "<= 20 ms, <= 1.5 % over the bound".
func (r Required) String() string {
	var parts []string
	say := func(limit float64, format string) {
		if limit > 0 {
			parts = append(parts, fmt.Sprintf(format, limit))
		}
	}
	say(r.Millis, "<= %g ms")
	say(r.MB, "<= %g MB")
	say(r.Gap, "gap <= %g %%")
	say(r.WorstGap, "worst <= %g %%")
	say(r.Slower, "<= %g %% slower")
	say(r.Over, "<= %g %% over the bound")
	say(r.Wait, "wait <= %g s")
	say(r.Wait95, "95th <= %g s")
	say(r.Launches, "launches <= %g %%")
	say(r.Evictions, "evictions <= %g a pod")
	if r.Unplaced {
		parts = append(parts, "none unplaced")
	}
	if r.Binds {
		parts = append(parts, "some unplaced")
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}
