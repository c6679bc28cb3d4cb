package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// draining is a run with the nodes n0 and n1, on the first of which all pods of the
// workloads run. Nobody decides anything.
func draining(change func(*Config), workloads ...Workload) *run {
	cfg := config(workloads...)
	cfg.Decide = func(engine.Input) engine.Output { return engine.Output{} }
	for _, name := range []string{"0", "1"} {
		cfg.Running.Nodes = append(cfg.Running.Nodes, cluster.Node{
			Name: "n" + name, UID: "n" + name, Ready: true, Claim: "c" + name, Allocatable: shape(100, 100).Requests.Times(100),
		})
		cfg.Running.Claims = append(cfg.Running.Claims, cluster.Claim{
			Name: "c" + name, UID: "u" + name, Pool: "general", Class: "default", InstanceID: "i" + name, InstanceType: "m.large", Zone: "a", CapacityType: "on-demand",
			Node: "n" + name, Launched: true, Registered: true, Initialized: true,
		})
	}
	for _, w := range workloads {
		for i := range w.Replicas {
			cfg.Running.Pods = append(cfg.Running.Pods, cluster.Pod{
				UID: fmt.Sprintf("%s-%d", w.Name, i), Namespace: w.Namespace, Name: fmt.Sprintf("%s-%d", w.Name, i), Shape: w.Shape, Labels: w.Labels, Node: "n0",
				Owner: cluster.Owner{Kind: "ReplicaSet", Name: w.Name, UID: "uid-" + w.Name},
			})
		}
	}
	if change != nil {
		change(&cfg)
	}
	return newRun(cfg)
}

func replicated(name string, n int64) Workload {
	return Workload{Namespace: "default", Name: name, Labels: labelled(name), Shape: shape(100, 100), Replicas: n}
}

// until plays the run up to a time.
func (r *run) until(at time.Duration) { r.clock.run(at, func() bool { return false }) }

// left counts the pods of a workload that are on n0 and are not being deleted.
func (r *run) left(workload string) (n int) {
	for _, p := range r.controllers.named(workload).pods {
		if p.Node == "n0" {
			n++
		}
	}
	return n
}

func TestDrain_EvictsAQuarterOfAControllersReplicasAtATime(t *testing.T) {
	slow := func(c *Config) { c.PodStart = 10 * time.Second }
	for _, c := range []struct {
		why      plan.DeleteReason
		replicas int64
		left     []int // of them on the node after 1, 12, 24 and 36 seconds
	}{
		{plan.Underutilized, 8, []int{6, 4, 2, 0}},
		{plan.PoolDeleted, 11, []int{9, 7, 5, 3}},
		{plan.Drifted, 3, []int{2, 1, 0, 0}},
		{plan.Interrupted, 8, []int{0, 0, 0, 0}},
	} {
		r := draining(slow, replicated("w", c.replicas))
		r.delete(plan.Delete{Claim: "c0", Why: c.why})
		for i, at := range []time.Duration{time.Second, 12 * time.Second, 24 * time.Second, 36 * time.Second} {
			r.until(at)
			if got := r.left("w"); got != c.left[i] {
				t.Errorf("%s, %d replicas: %d are left after %s, want %d", c.why, c.replicas, got, at, c.left[i])
			}
		}
	}
}

// Two nodes that drain at once share what may be evicted of a controller.
func TestDrain_PacesAllNodesTogether(t *testing.T) {
	r := draining(func(c *Config) {
		c.PodStart = 10 * time.Second
		for i := range 4 {
			c.Running.Pods[i].Node = "n1"
		}
	}, replicated("w", 8))
	r.delete(plan.Delete{Claim: "c0", Why: plan.Underutilized})
	r.delete(plan.Delete{Claim: "c1", Why: plan.Underutilized})
	r.until(time.Second)
	if w := r.controllers.named("w"); w.ready != 6 {
		t.Errorf("%d of 8 replicas are ready, want 6", w.ready)
	}
}

func TestDrain_WaitsWithoutEndForReplicasThatDoNotGetReady(t *testing.T) {
	for _, why := range []plan.DeleteReason{plan.Empty, plan.Underutilized, plan.Drifted, plan.Expired} {
		r := draining(func(c *Config) { c.PodStart = time.Hour }, replicated("w", 8))
		r.delete(plan.Delete{Claim: "c0", Why: why})
		r.until(time.Hour - time.Second)
		if got := r.left("w"); got != 6 {
			t.Errorf("%s: %d are left, want 6", why, got)
		}
		r.until(time.Hour + 5*time.Second) // the successors are ready
		if got := r.left("w"); got != 4 {
			t.Errorf("%s: %d are left, want 4", why, got)
		}
	}
}

func TestDrain_StopsPacingAControllerWhosePodsNeverGetReadyWhereAUserAskedForTheEnd(t *testing.T) {
	r := draining(func(c *Config) { c.PodStart = time.Hour }, replicated("w", 8))
	r.delete(plan.Delete{Claim: "c0", Why: plan.PoolDeleted})
	r.until(patience - time.Second)
	if got := r.left("w"); got != 6 {
		t.Errorf("%d are left before %s, want 6", got, patience)
	}
	r.until(patience + 2*time.Second)
	if got := r.left("w"); got != 4 {
		t.Errorf("%d are left after %s, want 4", got, patience)
	}
}

func TestDrain_APodThatIsRefusedDoesNotHoldTheOthers(t *testing.T) {
	r := draining(func(c *Config) {
		c.PodBudgets = []PodBudget{{Namespace: "default", Name: "b", Selector: selecting("kept")}}
	}, replicated("kept", 3), replicated("free", 3))
	r.delete(plan.Delete{Claim: "c0", Why: plan.Interrupted})
	r.until(time.Second)
	if kept, free := r.left("kept"), r.left("free"); kept != 3 || free != 0 {
		t.Errorf("%d pods with a budget and %d without are left, want 3 and 0", kept, free)
	}
}

// Each pod is tried again after 100 ms, 200 ms and so on, up to 10 s, also if another pod
// of the node ends meanwhile.
func TestDrain_ARefusedPodHasABackOffOfItsOwn(t *testing.T) {
	r := draining(func(c *Config) {
		c.Grace = 450 * time.Millisecond
		c.PodBudgets = []PodBudget{{Namespace: "default", Name: "b", Selector: selecting("w")}}
	}, replicated("w", 1), replicated("free", 1))
	r.delete(plan.Delete{Claim: "c0", Why: plan.Interrupted})
	c, p := r.claimOf("c0"), r.pods["default/w-0"]
	var tries []time.Duration
	for at := time.Duration(0); at < 40*time.Second; at += 50 * time.Millisecond {
		r.until(at)
		if next := c.stops[p].next; !slices.Contains(tries, next) {
			tries = append(tries, next)
		}
	}
	var want []time.Duration
	for _, ms := range []int64{100, 300, 700, 1500, 3100, 6300, 12700, 22700, 32700, 42700} {
		want = append(want, time.Duration(ms)*time.Millisecond)
	}
	if !slices.Equal(tries, want) {
		t.Errorf("the pod is tried at %v, want %v", tries, want)
	}
}

func TestDrain_ThePodOfTwoBudgetsStays(t *testing.T) {
	r := draining(func(c *Config) {
		for _, name := range []string{"a", "b"} {
			c.PodBudgets = append(c.PodBudgets, PodBudget{Namespace: "default", Name: name, Selector: selecting("w"), MaxUnavailable: 1})
		}
	}, replicated("w", 1))
	r.delete(plan.Delete{Claim: "c0", Why: plan.Interrupted})
	r.until(time.Minute)
	if r.left("w") != 1 {
		t.Error("the eviction API evicts a pod that two budgets select")
	}
}

func TestDrain_EvictsCriticalPodsLast(t *testing.T) {
	important := replicated("important", 1)
	important.Shape.Priority = 2_000_000_000
	r := draining(func(c *Config) {
		c.Grace = 10 * time.Second
		c.DaemonSets = append(c.DaemonSets, cluster.DaemonSet{UID: "uid-proxy", Namespace: "kube-system", Name: "proxy", Shape: shape(10, 10)})
	}, replicated("w", 1), important)
	proxy := r.claimOf("c0").node.pods[1]
	r.delete(plan.Delete{Claim: "c0", Why: plan.Interrupted})
	for _, c := range []struct {
		at                     time.Duration
		left, importantLeft    int
		proxyGoes, agentRemain bool
	}{
		{time.Second, 0, 1, false, true},
		{11 * time.Second, 0, 1, true, true},
		{21 * time.Second, 0, 0, true, true},
	} {
		r.until(c.at)
		agent := slices.ContainsFunc(r.claimOf("c0").node.pods, func(p *pod) bool { return p.kind.name == "agent" && !p.Deleting })
		if r.left("w") != c.left || r.left("important") != c.importantLeft || proxy.Deleting != c.proxyGoes || agent != c.agentRemain {
			t.Errorf("after %s: %d, %d important left; proxy goes: %t; agent stays: %t; want %+v", c.at, r.left("w"), r.left("important"), proxy.Deleting, agent, c)
		}
	}
	if r.until(40 * time.Second); r.claimOf("c0") != nil {
		t.Error("the instance does not end when all pods but those that tolerate the taint are gone")
	}
}

func TestDrain_InstanceEndsWhenVolumesAreDetached(t *testing.T) {
	for _, c := range []struct {
		name      string
		deadline  time.Duration
		gone, not time.Duration // when the instance is terminated, and is not yet
	}{
		{"without a deadline", 0, 37 * time.Second, 35 * time.Second},
		{"at the deadline", 20 * time.Second, 22 * time.Second, 20 * time.Second},
	} {
		r := draining(func(x *Config) {
			x.Grace, x.Detach = 5*time.Second, 30*time.Second
			x.Running.Claims[0].Grace = c.deadline
		}, replicated("w", 1))
		r.delete(plan.Delete{Claim: "c0", Why: plan.Interrupted})
		if r.until(c.not); r.claimOf("c0") == nil {
			t.Errorf("%s: the instance is gone by %s", c.name, c.not)
		}
		if r.until(c.gone); r.claimOf("c0") != nil {
			t.Errorf("%s: the instance is there after %s", c.name, c.gone)
		}
	}
	r := draining(func(c *Config) { c.Detach = time.Hour })
	r.delete(plan.Delete{Claim: "c0", Why: plan.Empty})
	if r.until(2 * time.Second); r.claimOf("c0") != nil {
		t.Error("a node that no pod ran on waits for volumes")
	}
}

func TestDrain_DeletesWhateverIsLeftInTimeForTheDeadline(t *testing.T) {
	kept := replicated("kept", 2)
	kept.DoNotDisrupt = true
	r := draining(func(c *Config) {
		c.Grace = 10 * time.Second
		c.Running.Claims[0].Grace = time.Minute
		c.PodBudgets = []PodBudget{{Namespace: "default", Name: "b", Selector: selecting("budgeted")}}
		for i := range c.Running.Pods {
			c.Running.Pods[i].DoNotDisrupt = c.Running.Pods[i].Owner.Name == "kept"
		}
	}, kept, replicated("budgeted", 2))
	r.delete(plan.Delete{Claim: "c0", Why: plan.Drifted})
	if r.until(49 * time.Second); r.left("kept") != 2 || r.left("budgeted") != 2 {
		t.Errorf("%d and %d pods are left before their grace period, want 2 and 2", r.left("kept"), r.left("budgeted"))
	}
	if r.until(51 * time.Second); r.left("kept") != 0 || r.left("budgeted") != 0 {
		t.Errorf("%d and %d pods are left within their grace period, want none", r.left("kept"), r.left("budgeted"))
	}
	if r.until(62 * time.Second); r.claimOf("c0") != nil {
		t.Error("the instance is there after the deadline")
	}
	if r.report.Violations > 0 {
		t.Error(r.report.Violation)
	}
}

// The daemon's workers drain. What they evicted a short time ago is not written down. A
// careful drain counts what is ready, and forgets nothing.
func TestDrain_StandsStillWhileTheDaemonIsDownAndForgetsItsPace(t *testing.T) {
	for why, left := range map[plan.DeleteReason]int{plan.PoolDeleted: 4, plan.Underutilized: 6} {
		r := draining(func(c *Config) { c.PodStart = time.Hour }, replicated("w", 8))
		r.delete(plan.Delete{Claim: "c0", Why: why})
		r.until(time.Second)
		r.daemon.restart()
		if r.until(time.Second + r.cfg.Down - time.Millisecond); r.left("w") != 6 {
			t.Errorf("%s: %d are left while the daemon is down, want 6", why, r.left("w"))
		}
		if r.until(2*time.Second + r.cfg.Down); r.left("w") != left {
			t.Errorf("%s: %d are left when the daemon is up, want %d", why, r.left("w"), left)
		}
	}
}
