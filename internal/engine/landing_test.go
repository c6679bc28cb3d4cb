package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// toClose plays on until a plan closes nodes for the pods that it evicts. The plan is not
// carried out yet.
func (w *world) toClose() engine.Output {
	w.t.Helper()
	for range 200 {
		out := w.step()
		if len(of[plan.Close](out)) > 0 {
			return out
		}
		w.obey(out)
		w.now = w.now.Add(100 * time.Millisecond)
	}
	w.t.Fatal("no node is closed")
	return engine.Output{}
}

// closed counts the nodes that are closed for evicted pods.
func (w *world) closed() (n int) {
	for _, x := range w.objects.Nodes {
		for _, t := range x.Taints {
			if t == kept {
				n++
			}
		}
	}
	return n
}

// opened plays on until no node is closed, and says how long that took.
func (w *world) opened(carry func(engine.Output)) time.Duration {
	w.t.Helper()
	since := w.now
	for w.closed() > 0 && w.now.Sub(since) < time.Minute {
		carry(w.step())
		w.now = w.now.Add(100 * time.Millisecond)
	}
	return w.now.Sub(since) - 100*time.Millisecond
}

func TestStep_NodesAreClosedInThePlanThatEvictsAndOpenWhenThePodsAreBound(t *testing.T) {
	w := halfEmpty(t)
	out := w.toClose()
	if d := of[plan.Delete](out); len(d) == 0 || d[0].Why != plan.Underutilized {
		t.Fatalf("%+v", out.Plan.Actions)
	}
	w.obey(out)
	back := len(w.pending())
	if back == 0 || w.closed() == 0 {
		t.Fatalf("%d pods are back, %d nodes closed", back, w.closed())
	}
	out = w.step()
	if b := of[plan.Bind](out); len(b) != back || len(of[plan.Release](out))+len(of[plan.Nominate](out))+len(of[plan.Launch](out)) > 0 {
		t.Errorf("%d pods are back, %d nodes closed: %+v", back, w.closed(), out.Plan.Actions)
	}
	w.obey(out)
	out = w.step()
	if r := of[plan.Release](out); len(r) != w.closed() || len(of[plan.Bind](out)) > 0 {
		t.Errorf("all pods have landed, %d nodes closed: %+v", w.closed(), out.Plan.Actions)
	}
	if w.obey(out); w.closed() > 0 || len(w.pending()) > 0 {
		t.Errorf("%d nodes closed, pods without a node: %v", w.closed(), w.pending())
	}
}

func TestStep_ClosedNodesOpenSoonWhateverBecomesOfThePods(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		within time.Duration
	}{
		"the memory is lost":       {func(w *world) { w.memory = engine.Memory{} }, 0},
		"a pod of others waits":    {func(w *world) { w.pods("other", 1, 100, func(p *cluster.Pod) { p.Created = w.now }) }, 0},
		"the deletion is declined": {func(*world) {}, 3 * time.Second},
		"pods do not come back":    {func(*world) {}, 3 * time.Second},
		"the daemon may not bind":  {func(w *world) { w.policy.CannotBind = true }, 3 * time.Second},
		"a reader of taints comes": {func(w *world) { w.policy.TaintReader = "descheduler kube-system/x" }, 3 * time.Second},
		"landing becomes prefer":   {func(w *world) { w.policy.Landing = plan.LandPrefer }, 3 * time.Second},
	} {
		w := halfEmpty(t)
		out := w.toClose()
		if name == "pods do not come back" {
			w.obey(out)
			w.drop(func(p cluster.Pod) bool { return p.Node == "" })
		} else { // the nodes are closed, and nothing is evicted
			w.open(out.Plan.Actions)
		}
		c.change(w)
		if took := w.opened(func(o engine.Output) { w.open(o.Plan.Actions) }); took > c.within {
			t.Errorf("%s: the nodes open after %s, want at most %s", name, took, c.within)
		}
	}
}

// A last look at the API server declines the deletion again and again.
func TestStep_ANodeWhoseDeletionIsDeclinedClosesNoOthersAndStaysInTheEnd(t *testing.T) {
	w := halfEmpty(t)
	w.open(w.toClose().Plan.Actions)
	began, closes := w.now, 0
	var restored []plan.Restore
	for w.now.Sub(began) < 6*time.Minute && len(restored) == 0 {
		w.now = w.now.Add(time.Second)
		out := w.step()
		closes += len(of[plan.Close](out))
		if restored = of[plan.Restore](out); len(restored) == 0 && len(of[plan.Delete](out)) == 0 && w.closed() == 0 {
			t.Fatalf("after %s the node neither goes nor stays: %+v", w.now.Sub(began), out.Plan.Actions)
		}
		w.open(out.Plan.Actions)
	}
	if closes > 0 || len(restored) == 0 || w.now.Sub(began) < 5*time.Minute {
		t.Errorf("closed %d times; restored after %s: %+v", closes, w.now.Sub(began), restored)
	}
}

// What is remembered of an eviction keeps successors where they are, and blames the move
// for launches. Of a declined deletion there is nothing to remember.
func TestStep_ADeletionThatIsDeclinedEvictsNobody(t *testing.T) {
	for _, declined := range []bool{true, false} {
		w := halfEmpty(t)
		out := w.toClose()
		if !declined {
			w.carry(out.Plan.Actions)
		}
		for range 2 {
			w.now = w.now.Add(time.Second)
			w.step()
			if evicted := len(w.memory.Evicted) > 0; evicted == declined {
				t.Errorf("declined %v: evicted %+v", declined, w.memory.Evicted)
			}
		}
	}
}

// Where others act on closed nodes, where there are too many of them, where the daemon may
// not bind and where the user says so, nothing is closed. The user decides for all but rights.
func TestStep_NodesAreClosedOnlyWhereThatDoesNoHarm(t *testing.T) {
	large := func(w *world) { w.policy.MostClosed = 2 }
	reader := func(w *world) { w.policy.TaintReader = "descheduler kube-system/x" }
	set := func(l plan.LandingWay) func(*world) { return func(w *world) { w.policy.Landing = l } }
	for name, c := range map[string]struct {
		changes []func(*world)
		want    plan.Landing
	}{
		"as it is":             {nil, plan.Landing{Binds: true, Reason: plan.LandsAutomatically}},
		"may not bind":         {[]func(*world){func(w *world) { w.policy.CannotBind = true }, set(plan.LandBind)}, plan.Landing{Reason: plan.LandsWithoutRight}},
		"large":                {[]func(*world){large}, plan.Landing{Reason: plan.LandsInLargeFleet, Detail: "2"}},
		"large, and as set":    {[]func(*world){large, set(plan.LandBind)}, plan.Landing{Binds: true, Reason: plan.LandsAsSet}},
		"a reader":             {[]func(*world){reader}, plan.Landing{Reason: plan.LandsBesideReader, Detail: "descheduler kube-system/x"}},
		"a reader, and as set": {[]func(*world){reader, set(plan.LandBind)}, plan.Landing{Binds: true, Reason: plan.LandsAsSet}},
		"as set":               {[]func(*world){set(plan.LandPrefer)}, plan.Landing{Reason: plan.LandsAsSet}},
	} {
		w := halfEmpty(t)
		for _, change := range c.changes {
			change(w)
		}
		if got := engine.Standings(w.looked()).Landing; got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		deleted, closed := 0, 0
		w.settle(60, func(o engine.Output) {
			deleted += len(of[plan.Delete](o))
			closed += len(of[plan.Close](o))
		})
		if deleted == 0 || closed > 0 != c.want.Binds {
			t.Errorf("%s: %d nodes went, %d were closed", name, deleted, closed)
		}
	}
}

// A drain evicts the second of two replicas when the first is ready elsewhere. By then the
// nodes are open again, so that pod lands where the scheduler likes.
func TestStep_NodesWhosePodsAreEvictedInTurnGoLastAndAlone(t *testing.T) {
	w := halfEmpty(t)
	first, empty := w.objects.Nodes[0].Name, w.objects.Nodes[1].Name
	w.drop(func(p cluster.Pod) bool { return p.Node == first || p.Node == empty })
	w.pods("pair", 2, 100, func(p *cluster.Pod) {
		p.Node, p.Unschedulable, p.Owner = first, false, cluster.Owner{Kind: "ReplicaSet", Name: "pair", UID: "pair"}
	})
	var order []string
	w.settle(200, func(out engine.Output) {
		var nodes []string
		for _, d := range of[plan.Disrupt](out) {
			nodes = append(nodes, d.Node)
		}
		if len(nodes) > 0 {
			slices.Sort(nodes)
			order = append(order, strings.Join(nodes, " "))
		}
	})
	if len(order) < 2 || order[len(order)-1] != first || strings.Contains(strings.Join(order[:len(order)-1], " "), first) {
		t.Errorf("nodes go in the order %q, want %s last and alone", order, first)
	}
}

// The scheduler prepares the volumes of a pod, so nobody else may choose its node.
func TestStep_PodsWithVolumesAreNominatedWhenTheirNodesOpen(t *testing.T) {
	w := halfEmpty(t)
	w.onPods(func(p *cluster.Pod) { p.Volumes = true })
	w.obey(w.toClose())
	back := len(w.pending())
	out := w.step()
	if n, r := of[plan.Nominate](out), of[plan.Release](out); back == 0 || len(n) != back || len(r) != w.closed() || len(of[plan.Bind](out)) > 0 {
		t.Errorf("%d pods are back, %d nodes closed: %+v", back, w.closed(), out.Plan.Actions)
	}
}

// While the nodes with room are closed, the scheduler would preempt pods elsewhere.
func TestStep_NodesAreClosedWhereAnEvictedPodWouldPreempt(t *testing.T) {
	for name, ours := range map[string]bool{"a full node of ours": true, "a full node of others": false} {
		w := halfEmpty(t)
		w.onPods(func(p *cluster.Pod) { p.Shape.Priority = 5 })
		full := w.objects.Nodes[0]
		full.Name, full.UID, full.Claim = "full", "full", ""
		if ours {
			c := w.objects.Claims[0]
			c.Name, c.UID, c.Node, full.Claim = "full", "full", "full", "full"
			w.objects.Claims = append(w.objects.Claims, c)
		}
		w.objects.Nodes = append(w.objects.Nodes, full)
		w.pods("low", 1, full.Allocatable.MilliCPU, func(p *cluster.Pod) { p.Node, p.Unschedulable = "full", false })
		went := false
		for range 200 {
			out := w.step()
			if d := of[plan.Delete](out); len(d) > 0 && d[0].Why == plan.Underutilized {
				went = true
				closes := slices.ContainsFunc(of[plan.Close](out), func(c plan.Close) bool { return c.Node == "full" })
				if ours != closes || !ours && len(of[plan.Close](out)) > 0 {
					t.Errorf("%s: closed %+v", name, of[plan.Close](out))
				}
				break
			}
			w.obey(out)
			w.now = w.now.Add(100 * time.Millisecond)
		}
		if !went {
			t.Errorf("%s: no node went", name)
		}
	}
}

// The room that is seen on a closed node is not free while a binding is not seen yet.
func TestStep_NothingIsBoundWhileBindingsMayBeOnTheirWay(t *testing.T) {
	for name, c := range map[string]struct {
		change func(closed time.Time, p *cluster.Pod)
		after  time.Duration // from when the plan that closes nodes is carried out; negative for never
	}{
		"pods that come after the nodes are closed":          {func(time.Time, *cluster.Pod) {}, 0},
		"the scheduler may have assigned one of them before": {func(closed time.Time, p *cluster.Pod) { p.Created = closed.Add(-time.Second) }, time.Second},
		"one came while the nodes were being closed":         {func(_ time.Time, p *cluster.Pod) { p.Unschedulable = false }, time.Second},
		"the scheduler may be making a volume for one":       {func(_ time.Time, p *cluster.Pod) { p.Unschedulable, p.Volumes = false, true }, -1},
		"one whose volume cannot be made waits for ever":     {func(closed time.Time, p *cluster.Pod) { p.Created, p.Volumes = closed.Add(-time.Hour), true }, time.Second},
	} {
		w := halfEmpty(t)
		out := w.toClose()
		closed := w.now
		w.now = w.now.Add(time.Millisecond)
		w.obey(out)
		first := true
		w.onPods(func(p *cluster.Pod) {
			if p.Node == "" {
				if p.Created, p.Unschedulable = w.now, true; first {
					c.change(closed, p)
				}
				first = false
			}
		})
		since, bound := w.now, time.Duration(-1)
		for w.now.Sub(since) < 2*time.Second && bound < 0 {
			if len(of[plan.Bind](w.step())) > 0 {
				bound = w.now.Sub(since)
			}
			w.now = w.now.Add(100 * time.Millisecond)
		}
		if bound != c.after {
			t.Errorf("%s: bound after %s, want %s", name, bound, c.after)
		}
		if bound >= 0 {
			if again := of[plan.Bind](w.step()); len(again) > 0 {
				t.Errorf("%s: bound again before the bindings are seen: %+v", name, again)
			}
		}
	}
}

// The scheduler and the kubelet hear of a binding before the daemon's watch does.
func TestStep_NothingIsBoundBeforeBindingsAreSeenThoughAnotherNodeIsDeletedMeanwhile(t *testing.T) {
	w := halfEmptyOf(t, 30)
	w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 5}}
	out := w.toClose()
	w.now = w.now.Add(time.Millisecond)
	w.obey(out)
	w.onPods(func(p *cluster.Pod) {
		if p.Node == "" {
			p.Created, p.Unschedulable = w.now, true
		}
	})
	bound := false
	for range 20 {
		if out = w.step(); len(of[plan.Bind](out)) > 0 { // it is carried out, and the watch is late
			bound = true
			break
		}
		w.now = w.now.Add(100 * time.Millisecond)
	}
	i := slices.IndexFunc(w.objects.Claims, func(c cluster.Claim) bool { return c.Disrupting == nil && !c.Deleting })
	if !bound || i < 0 {
		t.Fatalf("bound %v, node to announce %d", bound, i)
	}
	c := &w.objects.Claims[i]
	c.Disrupting = &cluster.Disrupting{Reason: string(plan.Underutilized), Since: w.now.Add(-time.Minute)}
	w.onNode(c.Node, func(n *cluster.Node) { n.Disrupted = true })
	w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 30}}
	deleted := false
	for range 40 {
		w.now = w.now.Add(100 * time.Millisecond)
		out = w.step()
		deleted = deleted || len(of[plan.Delete](out)) > 0
		if again := of[plan.Bind](out); len(again) > 0 {
			t.Fatalf("bound before the bindings of the last plan are seen: %+v", again)
		}
		w.obey(out)
	}
	if !deleted {
		t.Error("no other node is deleted: the test shows nothing")
	}
}

func TestStep_MoreDeletionsDoNotMakeTheTimeLongerForWhichNodesAreClosed(t *testing.T) {
	w := halfEmptyOf(t, 30)
	w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 1}}
	out := w.toClose()
	first := of[plan.Close](out)[0].Node
	isClosed := func() bool {
		n, _ := w.nodeNamed(first)
		return slices.Contains(n.Taints, kept)
	}
	w.obey(out)
	since, last := w.now, w.now
	for isClosed() && w.now.Sub(since) < time.Minute {
		if w.now.Sub(last) >= 2*time.Second { // another node is announced
			last = w.now
			i := slices.IndexFunc(w.objects.Claims, func(c cluster.Claim) bool { return c.Disrupting == nil && !c.Deleting && c.Node != first })
			c := &w.objects.Claims[i]
			c.Disrupting = &cluster.Disrupting{Reason: string(plan.Underutilized), Since: w.now.Add(-time.Minute)}
			w.onNode(c.Node, func(n *cluster.Node) { n.Disrupted = true })
		}
		w.drop(func(p cluster.Pod) bool { return p.Node == "" }) // the controller is slow
		w.obey(w.step())
		w.now = w.now.Add(100 * time.Millisecond)
	}
	if took := w.now.Sub(since); took > 31*time.Second {
		t.Errorf("node %s is closed for %s", first, took)
	}
}

// A controller may take long, or somebody may scale while nodes are closed.
func TestStep_NodesAreClosedForHalfAMinuteAtMostThoughPodsComeAndGo(t *testing.T) {
	w := halfEmpty(t)
	w.obey(w.toClose())
	since, all := w.now, slices.Clone(w.objects.Pods)
	for w.now.Sub(since) < time.Minute && w.closed() > 0 {
		var releases []plan.Action
		for _, r := range of[plan.Release](w.step()) {
			releases = append(releases, r)
		}
		w.open(releases) // bindings come to nothing
		w.now = w.now.Add(time.Second)
		w.objects.Pods = slices.Clone(all)
		if w.now.Sub(since)/time.Second%2 == 0 {
			w.drop(func(p cluster.Pod) bool { return p.Node == "" })
		}
	}
	if took := w.now.Sub(since); took < 30*time.Second || took > 32*time.Second {
		t.Errorf("the nodes open after %s, want half a minute", took)
	}
}

// It takes a second to write to a hundred nodes, and only then the first pod is evicted.
func TestStep_TheWaitForEvictedPodsBeginsWhenThePlanIsCarriedOut(t *testing.T) {
	w := halfEmpty(t)
	out := w.toClose()
	w.now = w.now.Add(2 * time.Second)
	w.open(out.Plan.Actions)
	if took := w.opened(func(o engine.Output) { w.open(o.Plan.Actions) }); took != 3*time.Second {
		t.Errorf("the nodes open after %s, want 3s", took)
	}
}
