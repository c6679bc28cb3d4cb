package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/share"
)

// standing is a run with ten NodeClaims c0 to c9 of the type m.large, $0.096 an hour
// each, all up, with one pod each. c1 has drifted. change may change the objects before.
func standing(change func(*Config)) *run {
	cfg := config()
	cfg.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 20, Percent: true}}
	w := Workload{Namespace: "default", Name: "w", Shape: shape(100, 100), Replicas: 10}
	cfg.Workloads = []Workload{w}
	for i := range 10 {
		name := string(rune('0' + i))
		cfg.Running.Nodes = append(cfg.Running.Nodes, cluster.Node{
			Name: "n" + name, UID: "n" + name, Ready: true, Claim: "c" + name, Allocatable: shape(1900, 7000).Requests.Max(quantity.Resources{PodSlots: 110}),
		})
		cfg.Running.Claims = append(cfg.Running.Claims, cluster.Claim{
			Name: "c" + name, UID: "u" + name, Pool: "general", Class: "default", InstanceID: "i" + name, InstanceType: "m.large", Zone: "a", CapacityType: "on-demand",
			Node: "n" + name, Launched: true, Registered: true, Initialized: true, Capacity: quantity.Resources{MilliCPU: 2000},
		})
		cfg.Running.Pods = append(cfg.Running.Pods, cluster.Pod{
			UID: "p" + name, Namespace: "default", Name: "p" + name, Shape: w.Shape, Node: "n" + name, Owner: cluster.Owner{Kind: "ReplicaSet", Name: "w", UID: "uid-w"},
		})
	}
	cfg.Running.Claims[1].Drift = &cluster.Drift{Reason: "NodePoolDrifted", Since: date(0)}
	if change != nil {
		change(&cfg)
	}
	return newRun(cfg)
}

// plans lets the checker see a plan.
func (r *run) plans(actions ...plan.Action) {
	r.checker.plan(r.daemon.input(), plan.Plan{Actions: actions})
}

func disrupting(name string, why plan.DeleteReason) plan.Action {
	return plan.Disrupt{Claim: "c" + name, Node: "n" + name, Why: why}
}

func deleting(name string, why plan.DeleteReason) plan.Action {
	return plan.Delete{Claim: "c" + name, Node: "n" + name, Why: why}
}

// closes closes the node for evicted pods.
func (r *run) closes(node string) {
	r.carryOut(plan.Close{Node: node, NodeUID: node, Taint: engine.DefaultPolicy().StartupTaint})
}

// binds lets the checker see that a pod which requests so much CPU is bound to the node.
func (r *run) binds(node string, milliCPU int64) {
	k := newKind("other", shape(milliCPU, 100), nil)
	r.checker.binds(&pod{kind: k, Pod: cluster.Pod{UID: "other", Namespace: "default", Name: "other", Shape: k.shape}}, r.scheduler.byName[node])
}

// replacing is the launch of a replacement for c0 and c1, of one type in one zone.
func replacing(index int, instanceType string) plan.Launch {
	return plan.Launch{
		Name: "r", Pool: "general", Class: "default", CapacityType: "on-demand", Zones: []string{"a"}, Types: []plan.Choice{{Type: instanceType}},
		Move: &cluster.Move{ID: "m", Index: index, Count: 1, Reason: "Underutilized", Sources: []cluster.Source{{Claim: "c0", UID: "u0"}, {Claim: "c1", UID: "u1"}}},
	}
}

func TestChecker_FindsEveryBrokenRule(t *testing.T) {
	minute := func(m int) uint64 { return 1 << m }
	for _, c := range []struct {
		name, want string // want is "" where no rule is broken
		change     func(*Config)
		do         func(*run)
	}{
		{"a pod is bound to a closed node", "", nil, func(r *run) { r.closes("n0"); r.binds("n0", 100) }},
		{"a pod is bound to an open node", "is open, has no room", nil, func(r *run) { r.binds("n0", 100) }},
		{"a pod is bound to a node without room", "is open, has no room", nil, func(r *run) { r.closes("n0"); r.binds("n0", 1850) }},
		{"a pod is bound to a node that goes", "is open, has no room", nil, func(r *run) {
			r.closes("n0")
			r.disrupt("c0", &cluster.Disrupting{Reason: "Empty", Since: date(0)})
			r.binds("n0", 100)
		}},
		{"two of ten nodes may go", "", nil, func(r *run) { r.plans(disrupting("0", plan.Underutilized), disrupting("1", plan.Drifted)) }},
		{"a third goes", "3 nodes are disrupted", nil, func(r *run) {
			r.plans(disrupting("0", plan.Underutilized), disrupting("1", plan.Drifted), deleting("2", plan.Underutilized))
		}},
		{"nodes that are tainted and not ready count", "3 nodes are disrupted", func(c *Config) { c.Running.Nodes[5].Ready = false }, func(r *run) {
			r.disrupt("c0", &cluster.Disrupting{Reason: "Empty"})
			r.plans(disrupting("1", plan.Underutilized))
		}},
		{"sources of a move count", "3 nodes are disrupted", nil, func(r *run) { r.plans(replacing(0, "c.large"), disrupting("2", plan.Underutilized)) }},
		{"an instance that ends is not charged", "", nil, func(r *run) {
			r.claims[5].Deleting, r.claims[5].Ending = true, true
			r.plans(disrupting("0", plan.Underutilized), disrupting("1", plan.Underutilized))
		}},
		{"what was charged before is not charged again", "", nil, func(r *run) {
			r.disrupt("c0", &cluster.Disrupting{Reason: "Empty", Since: date(0)})
			r.disrupt("c1", &cluster.Disrupting{Reason: "Empty", Since: date(0)})
			r.plans(deleting("0", plan.Underutilized), deleting("1", plan.Underutilized))
		}},
		{"budgets are for other reasons", "", func(c *Config) { c.Pools[0].Disruption.Budgets[0].Reasons = []string{"Drifted"} }, func(r *run) {
			r.plans(disrupting("0", plan.Underutilized), disrupting("1", plan.Underutilized), disrupting("2", plan.Underutilized))
		}},
		{"interruptions ask no budget", "", nil, func(r *run) {
			r.plans(disrupting("0", plan.Interrupted), disrupting("1", plan.Interrupted), disrupting("2", plan.Interrupted))
		}},
		{"a deleted pool keeps to its budgets", "3 nodes are disrupted", deleted, func(r *run) {
			r.plans(disrupting("0", plan.PoolDeleted), disrupting("1", plan.PoolDeleted), disrupting("2", plan.PoolDeleted))
		}},
		{"a deleted pool that is terminated does not", "", func(c *Config) { deleted(c); c.Pools[0].Terminate = true }, func(r *run) {
			r.plans(deleting("0", plan.PoolDeleted), deleting("1", plan.PoolDeleted), deleting("2", plan.PoolDeleted))
		}},
		{"a node of a deleted pool opted out", "node n1 opted out", func(c *Config) { deleted(c); c.Running.Nodes[1].DoNotDisrupt = true }, func(r *run) { r.plans(disrupting("1", plan.PoolDeleted)) }},
		{"a pod of a deleted pool opted out", "pod default/p0 opted out", func(c *Config) { deleted(c); c.Running.Pods[0].DoNotDisrupt = true }, func(r *run) { r.plans(disrupting("0", plan.PoolDeleted)) }},
		{"a deleted pool that is paused", "is disrupted (PoolDeleted) while", func(c *Config) { deleted(c); c.Pools[0].Disruption.Paused = true }, func(r *run) { r.plans(disrupting("0", plan.PoolDeleted)) }},
		{"a pool that is not deleted", "nodepool general is not deleted", nil, func(r *run) { r.plans(disrupting("0", plan.PoolDeleted)) }},
		{"surplus nodes ask no budget", "", func(c *Config) { c.Pools[0].Static, c.Pools[0].Replicas = true, 7 }, func(r *run) {
			r.plans(disrupting("0", plan.Surplus), disrupting("1", plan.Surplus), disrupting("2", plan.Surplus))
		}},
		{"a node that is not surplus", "nodeclaim c2 is not surplus", func(c *Config) { c.Pools[0].Static, c.Pools[0].Replicas = true, 8 }, func(r *run) {
			r.plans(disrupting("0", plan.Surplus), disrupting("1", plan.Surplus), disrupting("2", plan.Surplus))
		}},
		{"a replacement that runs pods", "no replacement that runs nothing", nil, func(r *run) { r.plans(deleting("0", plan.ReplacementUnused)) }},
		{"an end of life that is forced", "", func(c *Config) {
			expiring(c)
			c.Running.Claims[0].Grace, c.Running.Pods[0].DoNotDisrupt = time.Minute, true
			c.Pools[0].Disruption.Budgets[0].Most = 0
		}, func(r *run) {
			r.clock.now = 100 * time.Minute
			r.plans(deleting("0", plan.Expired))
		}},
		{"an end of life that is forced too soon", "0 allows 0", func(c *Config) {
			expiring(c)
			c.Running.Claims[0].Grace = time.Minute
			c.Pools[0].Disruption.Budgets[0].Most = 0
		}, func(r *run) {
			r.clock.now = 99 * time.Minute
			r.plans(deleting("0", plan.Expired))
		}},
		{"a budget that cannot be read", "allows 5", func(c *Config) { c.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 5, Invalid: "cron"}} }, func(r *run) { r.plans(disrupting("0", plan.Underutilized)) }},
		{"a budget's window is open", "allows 0", func(c *Config) { c.Pools[0].Disruption.Budgets = []cluster.Budget{window(minute(50))} }, func(r *run) { r.plans(disrupting("0", plan.Underutilized)) }},
		{"a budget's window is closed", "", func(c *Config) { c.Pools[0].Disruption.Budgets = []cluster.Budget{window(minute(40))} }, func(r *run) { r.plans(disrupting("0", plan.Underutilized)) }},
		{"a node that opted out", "node n1 opted out", func(c *Config) { c.Running.Nodes[1].DoNotDisrupt = true }, func(r *run) { r.plans(disrupting("1", plan.Drifted)) }},
		{"a node that stays may drift", "", func(c *Config) { c.Running.Nodes[1].Stays = true }, func(r *run) { r.plans(disrupting("1", plan.Drifted)) }},
		{"a node that stays", "node n0 opted out", func(c *Config) { c.Running.Nodes[0].Stays = true }, func(r *run) { r.plans(disrupting("0", plan.Underutilized)) }},
		{"a pod that opted out", "pod default/p0 opted out", func(c *Config) { c.Running.Pods[0].DoNotDisrupt = true }, func(r *run) { r.plans(disrupting("0", plan.Underutilized)) }},
		{"a pod that opted out for now", "pod default/p0 opted out", func(c *Config) { c.Running.Pods[0].ProtectedUntil = date(time.Minute) }, func(r *run) { r.plans(disrupting("0", plan.Underutilized)) }},
		{"a pod that opted out until now", "", func(c *Config) { c.Running.Pods[0].ProtectedUntil = date(0) }, func(r *run) { r.plans(disrupting("0", plan.Underutilized)) }},
		{"a drain that stands still at once", "keeps pod default/p1", func(c *Config) { c.PodBudgets = []PodBudget{{"default", "b", cluster.PodSelector{}, 1}} }, func(r *run) {
			r.evict(r.pods["default/p0"], true)
			r.plans(disrupting("1", plan.Underutilized))
		}},
		{"a drain that waits", "", func(c *Config) { c.PodBudgets = []PodBudget{{"default", "b", cluster.PodSelector{}, 1}} }, func(r *run) {
			r.disrupt("c1", &cluster.Disrupting{Reason: "Empty", Since: date(0)})
			r.evict(r.pods["default/p0"], true)
			r.plans(deleting("1", plan.Underutilized))
		}},
		{"an eviction against a budget of pods", "against the poddisruptionbudget b", func(c *Config) { c.PodBudgets = []PodBudget{{"default", "b", cluster.PodSelector{}, 1}} }, func(r *run) {
			r.evict(r.pods["default/p0"], false)
			r.evict(r.pods["default/p1"], false)
		}},
		{"a replica evicted twice", "after the pod before it was", nil, func(r *run) {
			r.evict(r.pods["default/p0"], true)
			r.clock.run(r.cfg.React, func() bool { return false })
			r.evict(r.controllers.all[0].pods[9], true)
		}},
		{"the same by nodes that die", "", nil, func(r *run) {
			r.evict(r.pods["default/p0"], false)
			r.clock.run(r.cfg.React, func() bool { return false })
			r.evict(r.controllers.all[0].pods[9], false)
		}},
		{"an evicted pod that is not replaced, as it was too many", "", nil, func(r *run) {
			r.evict(r.pods["default/p0"], true)
			r.scale(Scale{Workload: "w", Replicas: 9})
			r.clock.run(time.Minute, func() bool { return false })
			r.scale(Scale{Workload: "w", Replicas: 10})
			r.clock.run(2*time.Minute, func() bool { return false })
			r.evict(r.controllers.all[0].pods[9], true)
		}},
		{"an evicted pod that opted out", "must not be disrupted, and is evicted", func(c *Config) { c.Running.Pods[0].DoNotDisrupt = true }, func(r *run) { r.evict(r.pods["default/p0"], true) }},
		{"a limit", "above its limit of cpu", func(c *Config) { c.Pools[0].Limits = []quantity.Amount{{Name: quantity.CPU, Count: 19_999}} }, func(r *run) { r.checker.state() }},
		{"a limit of nodes", "above its limit of nodes", func(c *Config) { c.Pools[0].Limits = []quantity.Amount{{Name: "nodes", Count: 9}} }, func(r *run) { r.checker.state() }},
		{"limits that are just met", "", func(c *Config) {
			c.Pools[0].Limits = []quantity.Amount{{Name: "nodes", Count: 10}, {Name: quantity.CPU, Count: 20_000}}
		}, func(r *run) { r.checker.state() }},
		{"a second instance", "gets a second instance", nil, func(r *run) { r.launch(r.claims[3]) }},
		{"a replacement that is there twice", "are both replacement 0 of move m", nil, func(r *run) {
			for _, i := range []int{2, 3} {
				r.claims[i].Move = replacing(0, "c.large").Move
			}
			r.checker.state()
		}},
		{"a taint without a reason", "does not say why", nil, func(r *run) {
			r.claims[0].node.Disrupted = true
			r.checker.state()
		}},
		{"a taint that nobody takes back", "is about to go (Empty) for more than", nil, func(r *run) {
			r.disrupt("c0", &cluster.Disrupting{Reason: "Empty", Since: date(0)})
			r.clock.now = undecided + time.Second
			r.checker.state()
		}},
		{"a dearer fleet", "and cost $0.9600 at its start", nil, func(r *run) {
			l := replacing(0, "c.large")
			l.Move = nil
			r.order(l)
			r.claims[10].price = 1
			r.checker.state()
		}},
		{"the overlap of a replacement", "", nil, func(r *run) {
			r.order(replacing(0, "c.large"))
			r.claims[10].price = 85_000_000
			r.checker.state()
		}},
		{"the daemon is paused", "nodeclaim c0 is disrupted (Empty) while disruption is paused", nil, func(r *run) {
			r.pause(Pause{}, true)
			r.plans(disrupting("0", plan.Empty))
		}},
		{"the pool is paused", "nodeclaim c0 is disrupted (Underutilized) while nodepool general is paused", nil, func(r *run) {
			r.pause(Pause{Pool: "general"}, true)
			r.plans(disrupting("0", plan.Underutilized))
		}},
		{"a move begins in a pause", "is disrupted (Underutilized) while disruption is paused", nil, func(r *run) {
			r.pause(Pause{}, true)
			r.plans(replacing(0, "c.large"))
		}},
		{"what was tainted before a pause is deleted in it", "nodeclaim c0 is disrupted (Drifted) while nodepool general is paused", func(c *Config) { c.Running.Claims[0].Drift = &cluster.Drift{} }, func(r *run) {
			r.disrupt("c0", &cluster.Disrupting{Reason: "Drifted", Since: date(0)})
			r.pause(Pause{Pool: "general"}, true)
			r.plans(deleting("0", plan.Drifted))
		}},
		{"a move goes on in a pause", "", nil, func(r *run) {
			r.claims[2].Move = replacing(0, "c.large").Move
			r.pause(Pause{}, true)
			r.plans(replacing(1, "c.large"))
		}},
		{"a pause is over", "", nil, func(r *run) {
			for _, begins := range []bool{true, false} {
				r.pause(Pause{}, begins)
				r.pause(Pause{Pool: "general"}, begins)
			}
			r.plans(disrupting("0", plan.Underutilized))
		}},
		{"an interruption in a pause", "", nil, func(r *run) {
			r.pause(Pause{}, true)
			r.plans(disrupting("0", plan.Interrupted))
		}},
		{"a node that has not drifted", "nodeclaim c0 has not drifted", nil, func(r *run) { r.plans(disrupting("0", plan.Drifted)) }},
		{"a node that never expires", "nodeclaim c0 does not expire yet", nil, func(r *run) { r.plans(disrupting("0", plan.Expired)) }},
		{"a node that expires too soon", "nodeclaim c0 does not expire yet", expiring, func(r *run) {
			r.clock.now = 89 * time.Minute
			r.plans(disrupting("0", plan.Expired))
		}},
		{"a node that expires", "", expiring, func(r *run) {
			r.clock.now = 90 * time.Minute
			r.plans(disrupting("0", plan.Expired))
		}},
		{"an empty node that has pods", "nodeclaim c0 has pods", nil, func(r *run) { r.plans(disrupting("0", plan.Empty)) }},
		{"an empty node", "", func(c *Config) { c.Running.Pods[0].Node = "n1" }, func(r *run) { r.plans(disrupting("0", plan.Empty)) }},
		{"a pool of which only empty nodes go", "nodepool general lets no node go that has pods", func(c *Config) { c.Pools[0].Disruption.Policy = cluster.WhenEmpty }, func(r *run) { r.plans(disrupting("0", plan.Underutilized)) }},
		{"a node that is not quiet for long enough", "5s after its last pod event, before 30s have passed", func(c *Config) {
			c.Pools[0].Disruption.After, c.Running.Claims[0].LastPodEvent = 30*time.Second, date(-5*time.Second)
		}, func(r *run) { r.plans(disrupting("0", plan.Underutilized)) }},
		{"a move that saves nothing", "frees $0.1920 an hour and launches for $0.1920", nil, func(r *run) { r.plans(replacing(0, "m.xlarge")) }},
		{"a move that saves", "", nil, func(r *run) { r.plans(replacing(0, "c.xlarge")) }},
	} {
		r := standing(c.change)
		c.do(r)
		if got := r.report.Violation; (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: the checker says %q, want %q", c.name, got, c.want)
		}
	}
}

// What is deleted at once is so without an announcement, and a daemon that starts knows of
// it from the pool's status all the same.
func TestRun_ADaemonThatStartsKnowsWhenPodsLeftNodesThatWereNotAnnounced(t *testing.T) {
	announced := func(why plan.DeleteReason) func(*claim) {
		return func(c *claim) { c.Disrupting = &cluster.Disrupting{Reason: string(why)} }
	}
	for name, c := range map[string]struct {
		goes  func(*claim)
		knows bool
	}{
		"at the end of its life, with a bound on the drain": {func(c *claim) { c.Deleting = true }, true},
		"announced, to save money":                          {announced(plan.Underutilized), true},
		"empty, so that nobody expects pods there":          {announced(plan.Empty), false},
		"deleted before it was up":                          {func(c *claim) { c.Deleting, c.Registered = true, false }, false},
	} {
		r := standing(nil)
		r.clock.now = time.Hour
		c.goes(r.claims[0])
		r.evict(r.pods["default/p0"], false)
		r.claims[0].Deleting, r.claims[0].Disrupting = false, nil // it is deleted
		r.clock.now += time.Minute
		r.daemon.restart()
		if got := r.daemon.memory.EvictedUntil; got.Equal(date(time.Hour)) != c.knows {
			t.Errorf("%s: the daemon knows of evictions until %s", name, got)
		}
	}
}

// deleted deletes the pool.
func deleted(c *Config) { c.Pools[0].Deleting = true }

// expiring lets c0 expire after 100 minutes.
func expiring(c *Config) {
	k := &c.Running.Claims[0]
	k.Created, k.ExpiresAt = date(0), date(100*time.Minute)
}

// window allows nothing for 15 minutes from some minutes of every hour on.
func window(minutes uint64) cluster.Budget {
	const every = ^uint64(0)
	return cluster.Budget{
		Duration: 15 * time.Minute,
		Schedule: &cluster.Schedule{Minutes: minutes, Hours: every, Days: every, Months: every, Weekdays: every, AnyDay: true, AnyWeekday: true, Zone: time.UTC},
	}
}

// Worlds in which everything happens at once. The decider is the core's own.
func TestRun_NoRuleIsEverBroken(t *testing.T) {
	seen := map[plan.DeleteReason]int{}
	for _, seed := range share.Of(t.Name(), 3, seeds(12)) {
		cfg := drawn(seed)
		cfg.Seen = func(o engine.Output) {
			for _, a := range o.Plan.Actions {
				if d, is := a.(plan.Delete); is {
					seen[d.Why]++
				}
			}
		}
		lives(t, seed, cfg)
	}
	for _, why := range []plan.DeleteReason{plan.Empty, plan.Underutilized, plan.Drifted, plan.Expired, plan.PoolDeleted, plan.Surplus} {
		if seen[why] == 0 && share.Whole() {
			t.Errorf("no node went because of %s: the worlds show nothing about it", why)
		}
	}
}

// lives plays the world, and fails if it breaks a rule or leaves a pod that can run.
func lives(tb testing.TB, seed uint64, cfg Config) Report {
	tb.Helper()
	r := Run(cfg)
	// At the end, pods may wait for nodes that were launched a moment ago, or whose
	// instance never joins: the daemon waits for that until the RegistrationTimeout.
	if r.Violations > 0 || r.Left > r.Coming && r.LastLaunch < cfg.Limit-5*time.Minute {
		tb.Errorf("seed %d: %d violations, first %q; %d pods left over, %d planned on nodes to come", seed, r.Violations, r.Violation, r.Left, r.Coming)
	}
	return r
}

// An iteration is a drawn world that the tests do not play. `make bench-worlds` plays as many as
// it is told.
func BenchmarkWorlds(b *testing.B) {
	const played = 1000 // the seeds below are those of the tests
	var ended time.Duration
	for i := range b.N {
		seed := played + uint64(i)
		ended += lives(b, seed, drawn(seed)).Ended
	}
	b.ReportMetric(ended.Hours(), "simulated-hours")
}

func TestRun_ADrawnWorldRepeatsItself(t *testing.T) {
	for _, seed := range share.Of(t.Name(), 3, seeds(3)) {
		for _, decide := range []func(engine.Input) engine.Output{nil, emptier} {
			cfg := drawn(seed)
			cfg.Decide = decide
			if one, other := Run(cfg), Run(cfg); one != other {
				t.Errorf("seed %d: two runs differ:\n%+v\n%+v", seed, one, other)
			}
		}
	}
}

// seeds are those of the first n worlds.
func seeds(n uint64) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(i)
	}
	return all
}

// drawn is a world of 60 workloads that draws all that may happen in 40 minutes.
func drawn(seed uint64) Config {
	cfg := lively(seed)
	c := &chance{seed: seed ^ 0xd15}
	some := func(percent int64) bool { return c.below(100) < percent }
	within := func(from, to time.Duration) time.Duration { return from + time.Duration(c.below(int64(to-from))) }
	cfg.PodStart, cfg.Grace = within(0, 20*time.Second), within(0, 30*time.Second)
	cfg.Bind = within(0, 500*time.Millisecond)
	cfg.Stillborn = 20 * c.below(3)
	cfg.Quiet, cfg.Limit = 20*time.Minute, 3*time.Hour
	pool := &cfg.Pools[0].Disruption
	pool.Policy, pool.After = cluster.WhenEmptyOrUnderutilized, within(0, 2*time.Minute)
	pool.Budgets = []cluster.Budget{{Most: 10 + c.below(40), Percent: true}}
	for i := range cfg.Workloads {
		w := &cfg.Workloads[i]
		w.DoNotDisrupt = some(3)
		at := within(4*time.Minute, 40*time.Minute)
		switch {
		case some(60):
			cfg.Scales = append(cfg.Scales, Scale{At: at, Workload: w.Name, Replicas: c.below(w.Replicas + 3)})
		case some(40):
			cfg.Rollouts = append(cfg.Rollouts, Rollout{At: at, Workload: w.Name})
		}
		if some(20) {
			cfg.PodBudgets = append(cfg.PodBudgets, PodBudget{
				Namespace: w.Namespace, Name: w.Name, Selector: selecting(w.Name), MaxUnavailable: c.below(3),
			})
		}
	}
	for range c.below(5) {
		cfg.Restarts = append(cfg.Restarts, within(time.Second, 40*time.Minute))
		from := within(4*time.Minute, 40*time.Minute)
		cfg.Outages = append(cfg.Outages, Outage{From: from, To: from + within(0, 5*time.Minute)})
	}
	if some(50) {
		cfg.Deaths = []time.Duration{within(time.Minute, 40*time.Minute)}
	}
	for i := range c.below(3) {
		name := fmt.Sprintf("report%d", i)
		cfg.CronJobs = append(cfg.CronJobs, CronJob{
			Workload: Workload{Namespace: "default", Name: name, Labels: labelled(name), Shape: shape(250, 500), Replicas: 1 + c.below(20)},
			First:    within(0, 5*time.Minute), Every: within(2*time.Minute, 15*time.Minute), Takes: within(10*time.Second, 3*time.Minute),
		})
	}
	for range c.below(3) {
		pause := Pause{From: within(4*time.Minute, 40*time.Minute), Pool: []string{"", "general"}[c.below(2)]}
		pause.To = pause.From + within(0, 10*time.Minute)
		cfg.Pauses = append(cfg.Pauses, pause)
		cfg.Drifts = append(cfg.Drifts, Drift{At: within(4*time.Minute, 40*time.Minute), Share: c.below(1000)})
	}
	if some(30) {
		cfg.ExpireAfter = within(20*time.Minute, time.Hour)
	}
	if some(35) {
		cfg.TerminationGracePeriod = within(time.Minute, 10*time.Minute)
	}
	if len(cfg.CronJobs) > 0 || cfg.ExpireAfter > 0 { // something is always to come
		cfg.Limit = 80 * time.Minute
	}
	cfg.Detach = within(0, 10*time.Second)
	drawPools(&cfg, some, c.below, within)
	return cfg
}

// drawPools adds a pool that is deleted on the way, and a static pool that grows and
// shrinks.
func drawPools(cfg *Config, some func(int64) bool, below func(int64) int64, within func(from, to time.Duration) time.Duration) {
	like := func(name string) cluster.Pool {
		p := cfg.Pools[0]
		p.Name, p.UID = name, "uid-"+name
		return p
	}
	if some(50) {
		old := like("old")
		old.Weight = 10 // nodes are launched there first
		old.Disruption.Budgets = []cluster.Budget{{Most: 1 + below(4)}}
		cfg.Pools = append(cfg.Pools, old)
		cfg.Deletions = []PoolDeletion{{At: within(4*time.Minute, 40*time.Minute), Pool: "old", Terminate: some(20)}}
	}
	if some(50) {
		static := like("static")
		static.Static, static.Replicas = true, 1+below(5)
		cfg.Pools = append(cfg.Pools, static)
		for range 3 {
			cfg.Resizes = append(cfg.Resizes, Resize{At: within(4*time.Minute, 40*time.Minute), Pool: "static", Replicas: below(6)})
		}
	}
}

func selecting(app string) cluster.PodSelector {
	return cluster.PodSelector{Match: label.All(label.Is("app", app))}
}
