package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// static adds a static pool of so many nodes to a world that has a pool for pods, too.
func (w *world) static(replicas int64, with ...func(*cluster.Pool)) *world {
	p := cluster.Pool{Name: "static", Static: true, Replicas: replicas}
	for _, f := range with {
		f(&p)
	}
	return w.pool(p)
}

// staticWorld is one whose static pool has its nodes.
func staticWorld(t testing.TB, replicas int64) *world {
	t.Helper()
	w := newWorld(t).static(replicas)
	w.settle(20, nil)
	if n := len(w.claimsOf("static")); int64(n) != replicas {
		t.Fatalf("%d nodes", n)
	}
	w.now = w.now.Add(time.Hour)
	return w
}

func (w *world) claimsOf(pool string) (out []cluster.Claim) {
	for _, c := range w.objects.Claims {
		if c.Pool == pool {
			out = append(out, c)
		}
	}
	return out
}

func (w *world) scale(replicas int64) *world {
	w.objects.Pools[1].Replicas = replicas
	return w
}

func TestStep_AStaticPoolKeepsItsNodesWhateverThePodsNeed(t *testing.T) {
	w := staticWorld(t, 3)
	for _, c := range w.claimsOf("static") {
		if !c.Initialized || c.InstanceType != "c5.large" {
			t.Errorf("%+v", c)
		}
	}
	w.settle(50, func(o engine.Output) {
		if len(of[plan.Delete](o))+len(of[plan.Disrupt](o))+len(of[plan.Launch](o)) > 0 {
			t.Errorf("%+v", o.Plan.Actions)
		}
	})
}

func TestStep_NodesOfAStaticPoolAreRoomAndPodsLaunchNoMoreOfThem(t *testing.T) {
	w := staticWorld(t, 2).pods("web", 4, 900).pods("rest", 1, 1500)
	w.settle(50, nil)
	if s, g := len(w.claimsOf("static")), len(w.claimsOf("general")); s != 2 || g != 1 || len(w.pending()) > 0 {
		t.Errorf("%d static nodes, %d others, pending %v", s, g, w.pending())
	}
}

func TestStep_PodsWaitForTheNodesThatAStaticPoolLacks(t *testing.T) {
	w := newWorld(t).static(2).pods("web", 4, 900)
	out := w.step()
	if l := of[plan.Launch](out); len(l) != 2 || l[0].Pool != "static" || l[1].Pool != "static" || out.Trace.Complete {
		t.Fatalf("%+v", out.Plan.Actions)
	}
	if o := out.Plan.Outcomes; len(o) != 1 || o[0].Verdict != plan.Waiting || len(o[0].Pods) != 4 {
		t.Errorf("%+v", o)
	}
	launches := of[plan.Launch](out)
	w.order(launches).bringUp(launches).settle(50, nil)
	if g := len(w.claimsOf("general")); g != 0 || len(w.pending()) > 0 {
		t.Errorf("%d other nodes, pending %v", g, w.pending())
	}
}

// NodeClaims that cannot be created must not keep the demand waiting.
func TestStep_StaticNodesThatDoNotComeKeepNoDemandWaiting(t *testing.T) {
	w := newWorld(t).static(1).pods("web", 1, 900)
	w.step()
	out := w.step()
	if l := of[plan.Launch](out); len(l) != 1 || l[0].Pool != "general" {
		t.Errorf("%+v", out.Plan.Actions)
	}
	if x := of[plan.Wait](out); len(x) != 1 || x[0].Why != plan.StaticNodes {
		t.Errorf("%+v", x)
	}
	if l := of[plan.Launch](w.step()); len(l) != 1 || l[0].Pool != "static" {
		t.Errorf("%+v", l)
	}
}

func TestStep_StaticNodesAreSpreadOverZonesOfTheSamePrice(t *testing.T) {
	w := staticWorld(t, 4)
	zones := map[string]int{}
	for _, c := range w.claimsOf("static") {
		zones[c.Zone]++
	}
	if zones["a"] != 2 || zones["b"] != 2 {
		t.Errorf("%v", zones)
	}
	w.objects.Claims = slices.DeleteFunc(w.objects.Claims, func(c cluster.Claim) bool { return c.Zone == "b" })
	if l := of[plan.Launch](w.step()); len(l) != 2 || l[0].Zones[0] != "b" || l[1].Zones[0] != "b" {
		t.Errorf("%+v", l)
	}
}

func TestStep_AStaticPoolKeepsWithinItsLimitAndSaysSo(t *testing.T) {
	w := newWorld(t).static(3, func(p *cluster.Pool) { p.Limits = []quantity.Amount{{Name: "nodes", Count: 2}} })
	w.settle(20, nil)
	out := w.step()
	if n := len(w.claimsOf("static")); n != 2 || len(out.Plan.Lacking) != 1 {
		t.Fatalf("%d nodes, %+v", n, out.Plan.Lacking)
	}
	x := out.Plan.Lacking[0]
	if x.Why.Cause != plan.LimitReached || x.Nodes != 2 || !strings.Contains(x.Explain(), `spec.replicas of static NodePool "static" is 3, and it has 2 nodes: the limit is 2 nodes`) {
		t.Errorf("%s: %+v", x.Explain(), x)
	}
}

func TestStep_AStaticPoolTriesAgainWhenCapacityReturns(t *testing.T) {
	w := newWorld(t).static(1)
	var gone []catalog.OfferingKey
	for _, name := range []string{"c5.large", "c5.xlarge", "m5.xlarge"} {
		for _, zone := range []string{"a", "b"} {
			gone = append(gone, catalog.OfferingKey{CapacityType: label.OnDemand, InstanceType: name, Zone: zone})
		}
	}
	until := w.now.Add(3 * time.Minute)
	w.memory = unavailable(w.memory, until, gone...)
	out := w.step()
	if waits := of[plan.Wait](out); len(out.Plan.Lacking) != 1 || out.Plan.Lacking[0].Why.Cause != plan.NoCapacity || len(waits) != 1 || !waits[0].Until.Equal(until) {
		t.Errorf("%+v", out.Plan)
	}
	w.now = until
	if l := of[plan.Launch](w.step()); len(l) != 1 {
		t.Errorf("%+v", l)
	}
}

func TestStep_AStaticPoolReplacesANodeThatGoesByItself(t *testing.T) {
	for name, change := range map[string]func(*world){
		"deleted by hand": func(w *world) { w.objects.Claims[0].Deleting = true },
		"interrupted": func(w *world) {
			w.objects.Claims[0].Interruption = &cluster.Interruption{Reason: "spot_interrupted", Noticed: w.now, Deadline: w.now.Add(2 * time.Minute)}
		},
		"never up": func(w *world) {
			c := &w.objects.Claims[0]
			c.Launched, c.Registered, c.Initialized, c.Node = false, false, false, ""
		},
	} {
		w := staticWorld(t, 2)
		change(w)
		if name == "never up" {
			w.step()
			w.end(plan.Delete{Claim: w.objects.Claims[0].Name})
		}
		if l := of[plan.Launch](w.step()); len(l) != 1 || l[0].Pool != "static" {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

func TestStep_WhatAStaticPoolHasTooManyOfGoesEmptyNodesFirst(t *testing.T) {
	w := staticWorld(t, 4).pods("web", 3, 900)
	w.objects.Pods[2].Shape.Requests.MilliCPU = 1800
	w.settle(30, nil)
	run := map[string]int{}
	for _, p := range w.objects.Pods {
		run[p.Node]++
	}
	budget := cluster.Disruption{Budgets: []cluster.Budget{{Most: 0}}}
	w.objects.Pools[1].Disruption = budget // the user asked for it, so no budget is asked
	for _, replicas := range []int64{2, 1} {
		gone := w.scale(replicas).surplus(nil)
		for _, d := range gone {
			if replicas == 2 && run[d.Node] > 0 || replicas == 1 && run[d.Node] != 1 {
				t.Errorf("%d replicas: %+v, runs %v", replicas, d, run)
			}
		}
		if want := map[int64]int{2: 2, 1: 1}[replicas]; len(gone) != want || len(w.claimsOf("static")) != int(replicas) || len(w.pending()) > 0 {
			t.Fatalf("%d replicas: %+v, pending %v", replicas, gone, w.pending())
		}
	}
}

func TestStep_NothingIsPlacedOnANodeThatAStaticPoolGivesUp(t *testing.T) {
	w := staticWorld(t, 2).scale(1).pods("web", 1, 900)
	out := w.step()
	gone, placed := of[plan.Disrupt](out), of[plan.Nominate](out)
	if len(gone) != 1 || len(placed) != 1 || placed[0].Node == gone[0].Node {
		t.Errorf("%+v", out.Plan.Actions)
	}
}

func TestStep_ProtectedNodesOfAStaticPoolGoLast(t *testing.T) {
	for name, protect := range map[string]func(*cluster.Node, time.Time){
		"for ever":    func(n *cluster.Node, _ time.Time) { n.DoNotDisrupt = true },
		"for a while": func(n *cluster.Node, now time.Time) { n.ProtectedUntil = now.Add(time.Minute) },
	} {
		w := staticWorld(t, 3).scale(1)
		protect(&w.objects.Nodes[0], w.now)
		gone := of[plan.Disrupt](w.step())
		if len(gone) != 2 {
			t.Errorf("%s: %+v", name, gone)
		}
		for _, d := range gone {
			if d.Node == w.objects.Nodes[0].Name {
				t.Errorf("%s: %+v", name, d)
			}
		}
	}
}

// A node that has begun to expire is replaced soon in any case.
func TestStep_OfTheSurplusOfAStaticPoolNodesThatExpireOrHaveDriftedGoFirst(t *testing.T) {
	for name, due := range map[string]func(*cluster.Claim, time.Time){
		"expires": func(c *cluster.Claim, now time.Time) { c.ExpiresAt = c.Created.Add(now.Sub(c.Created) * 100 / 96) },
		"drifted": func(c *cluster.Claim, now time.Time) { c.Drift = &cluster.Drift{Reason: "NodePoolDrifted", Since: now} },
	} {
		w := staticWorld(t, 3).scale(2)
		last := &w.objects.Claims[len(w.objects.Claims)-1]
		due(last, w.now)
		if gone := of[plan.Disrupt](w.step()); len(gone) != 1 || gone[0].Claim != last.Name {
			t.Errorf("%s: %+v, want %s", name, gone, last.Name)
		}
	}
}

func TestStep_APausedStaticPoolGivesUpNoNode(t *testing.T) {
	w := staticWorld(t, 3).scale(1)
	w.objects.Pools[1].Disruption.Paused = true
	if gone := of[plan.Disrupt](w.step()); len(gone) > 0 {
		t.Errorf("%+v", gone)
	}
	w.objects.Pools[1].Disruption.Paused = false
	w.carry(w.step().Plan.Actions)
	w.objects.Pools[1].Disruption.Paused = true
	if back := of[plan.Restore](w.step()); len(back) != 2 {
		t.Errorf("%+v", back)
	}
}

// surplus returns what is deleted as surplus when the world settles.
func (w *world) surplus(seen func(engine.Output)) (gone []plan.Delete) {
	w.t.Helper()
	w.settle(200, func(o engine.Output) {
		for _, d := range of[plan.Delete](o) {
			if gone = append(gone, d); d.Why != plan.Surplus {
				w.t.Errorf("%+v", d)
			}
		}
		if seen != nil {
			seen(o)
		}
	})
	return gone
}

func TestStep_PodsOfASurplusNodeHavePlacesBeforeTheNodeIsDeleted(t *testing.T) {
	w := staticWorld(t, 3).pods("web", 3, 900)
	w.settle(50, nil)
	w.objects.Pods[0].Node, w.objects.Pods[1].Node, w.objects.Pods[2].Node = w.objects.Nodes[0].Name, w.objects.Nodes[1].Name, w.objects.Nodes[2].Name
	var announced time.Time
	gone := w.scale(2).surplus(func(o engine.Output) {
		if len(of[plan.Disrupt](o)) > 0 {
			announced = w.now
		}
		if d := of[plan.Delete](o); len(d) > 0 && w.now.Sub(announced) < time.Second {
			t.Errorf("deleted %s after it was announced at %s", w.now, announced)
		}
		if l := of[plan.Launch](o); len(l) > 0 {
			t.Errorf("%+v", l)
		}
	})
	if len(gone) != 1 || !gone[0].Checked || len(gone[0].Pods) != 1 || announced.IsZero() || len(w.pending()) > 0 {
		t.Errorf("%+v, pending %v", gone, w.pending())
	}
}

func TestStep_ASurplusNodeIsReplacedFirstIfItsPodsHaveNoOtherPlace(t *testing.T) {
	w := staticWorld(t, 2).pods("web", 4, 900)
	w.settle(50, nil)
	launched := 0
	gone := w.scale(1).surplus(func(o engine.Output) {
		for _, l := range of[plan.Launch](o) {
			if launched++; l.Pool != "general" || l.Move == nil || l.Move.Reason != string(plan.Surplus) {
				t.Errorf("%+v", l)
			}
		}
		if d := of[plan.Delete](o); len(d) > 0 && len(w.claimsOf("general")) == 0 {
			t.Errorf("deleted first: %+v", d)
		}
	})
	if s, g := len(w.claimsOf("static")), len(w.claimsOf("general")); len(gone) != 1 || !gone[0].Checked || launched != 1 || s != 1 || g != 1 || len(w.pending()) > 0 {
		t.Errorf("%+v, %d launched, %d static, %d others, pending %v", gone, launched, s, g, w.pending())
	}
}

func TestStep_ASurplusNodeThatIsNotUpGoesAtOnce(t *testing.T) {
	for name, change := range map[string]func(*world, *cluster.Claim){
		"not launched": func(_ *world, c *cluster.Claim) {
			c.Launched, c.Registered, c.Initialized, c.Node = false, false, false, ""
		},
		"not initialized":    func(_ *world, c *cluster.Claim) { c.Initialized = false },
		"its Node is gone":   func(w *world, _ *cluster.Claim) { w.objects.Nodes = w.objects.Nodes[1:] },
		"and the pool's all": func(w *world, c *cluster.Claim) { c.Initialized = false; w.scale(0) },
	} {
		w := staticWorld(t, 2).scale(1)
		first := &w.objects.Claims[0]
		change(w, first)
		if gone := of[plan.Delete](w.step()); len(gone) != 1 || gone[0].Claim != first.Name || gone[0].Why != plan.Surplus {
			t.Errorf("%s: %+v", name, gone)
		}
	}
}

// The user asked for fewer nodes. The drain waits for what protects pods.
func TestStep_ASurplusNodeGoesWhateverProtectsItsPods(t *testing.T) {
	for name, change := range map[string]func(*world){
		"no other pool": func(w *world) { w.objects.Pools[0].Ready = false },
		"a pod budget": func(w *world) {
			w.objects.PodBudgets = []cluster.PodBudget{{UID: "b", Namespace: "default", Name: "all"}}
		},
		"do-not-disrupt":     func(w *world) { w.onPods(func(p *cluster.Pod) { p.DoNotDisrupt = true }) },
		"a protected node":   func(w *world) { w.objects.Nodes[0].DoNotDisrupt, w.objects.Nodes[1].DoNotDisrupt = true, true },
		"a full budget":      func(w *world) { w.objects.Pools[1].Disruption.Budgets = []cluster.Budget{{Most: 0}} },
		"a paused daemon":    func(w *world) { w.policy.PauseDisruption = true },
		"pods of a gang":     func(w *world) { w.onPods(func(p *cluster.Pod) { p.Shape.Gang = cluster.Gang{Name: "g", Size: 1} }) },
		"restored before":    func(w *world) { w.carry(w.step().Plan.Actions).scale(2).settle(20, nil).scale(1) },
		"the memory is lost": func(w *world) { w.settle(2, nil).memory = engine.Memory{} },
	} {
		w := staticWorld(t, 2).pods("web", 4, 900)
		w.settle(50, nil)
		w.scale(1)
		change(w)
		if gone := w.surplus(nil); len(gone) != 1 || len(w.claimsOf("static")) != 1 {
			t.Errorf("%s: %+v", name, gone)
		}
	}
}

// From any point until the deletion, a node that the pool needs again is kept, and none is
// launched in its place.
func TestStep_ASurplusNodeThatItsPoolNeedsAgainStays(t *testing.T) {
	for _, pods := range []int{2, 4} { // with a place beside the others, and without
		for after := range 3 {
			w := staticWorld(t, 2).pods("web", pods, 900)
			w.settle(50, nil)
			w.scale(1).settle(after, func(o engine.Output) {
				if d := of[plan.Delete](o); len(d) > 0 {
					t.Fatalf("%d pods, after %d Steps: %+v", pods, after, d)
				}
			})
			w.scale(2).settle(100, func(o engine.Output) {
				if l, d := of[plan.Launch](o), of[plan.Delete](o); len(l) > 0 || len(d) > 0 && d[0].Why == plan.Surplus {
					t.Errorf("%d pods, after %d Steps: %+v", pods, after, o.Plan.Actions)
				}
			})
			for _, c := range w.claimsOf("static") {
				if c.Disrupting != nil {
					t.Errorf("%d pods, after %d Steps: %+v", pods, after, c)
				}
			}
			for _, c := range w.objects.Claims {
				if c.Move != nil {
					t.Errorf("%d pods, after %d Steps: %+v", pods, after, c)
				}
			}
			if n := len(w.claimsOf("static")); n != 2 {
				t.Errorf("%d pods, after %d Steps: %d nodes", pods, after, n)
			}
		}
	}
}

func TestStep_ADriftedNodeOfAStaticPoolIsReplacedByOneOfItsOwnFirst(t *testing.T) {
	for name, pods := range map[string]int{"runs pods": 4, "empty": 0} {
		w := staticWorld(t, 2).pods("web", pods, 900)
		w.settle(50, nil)
		old := w.claimsOf("static")[0].Name
		w.onClaim(old, func(c *cluster.Claim) { c.Drift = &cluster.Drift{Reason: "NodePoolDrifted", Since: w.now} })
		w.settle(100, func(o engine.Output) {
			if n := len(w.claimsOf("static")); n < 2 || n > 3 {
				t.Errorf("%s: %d nodes", name, n)
			}
			for _, l := range of[plan.Launch](o) {
				if l.Pool != "static" {
					t.Errorf("%s: %+v", name, l)
				}
			}
			for _, d := range of[plan.Delete](o) {
				if all := w.claimsOf("static"); d.Claim != old || d.Why != plan.Drifted || len(all) != 3 || !all[2].Registered {
					t.Errorf("%s: %+v of %+v", name, d, all)
				}
			}
		})
		left := w.claimsOf("static")
		if len(left) != 2 || left[0].Name == old || left[1].Name == old || len(w.pending()) > 0 || len(w.claimsOf("general")) > 0 {
			t.Errorf("%s: %+v, pending %v", name, left, w.pending())
		}
		for _, c := range left {
			if !c.Initialized || c.Disrupting != nil {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
}

func TestStep_DriftedNodesOfAStaticPoolGoWithinItsBudget(t *testing.T) {
	w := staticWorld(t, 4)
	w.objects.Pools[1].Disruption.Budgets = []cluster.Budget{{Most: 2}}
	for i := range w.objects.Claims {
		w.objects.Claims[i].Drift = &cluster.Drift{Reason: "NodePoolDrifted", Since: w.now}
	}
	gone := 0
	w.settle(300, func(o engine.Output) {
		gone += len(of[plan.Delete](o))
		if n := len(w.claimsOf("static")); n < 4 || n > 6 {
			t.Errorf("%d nodes", n)
		}
	})
	if n := len(w.claimsOf("static")); n != 4 || gone != 4 {
		t.Errorf("%d nodes, %d gone", n, gone)
	}
}

func TestStep_AnExpiredNodeOfAStaticPoolIsReplacedWithoutEverBeingOneShort(t *testing.T) {
	w := staticWorld(t, 2)
	old := w.claimsOf("static")[1].Name
	w.onClaim(old, func(c *cluster.Claim) { c.ExpiresAt = w.now.Add(time.Second) })
	w.settle(100, func(engine.Output) {
		if n := len(w.claimsOf("static")); n < 2 {
			t.Errorf("%d nodes", n)
		}
	})
	if left := w.claimsOf("static"); len(left) != 2 || left[0].Name == old || left[1].Name == old {
		t.Errorf("%+v", left)
	}
}

func TestStep_AFullLimitKeepsADriftedNodeOfAStaticPoolAndSaysSo(t *testing.T) {
	w := staticWorld(t, 2)
	w.objects.Pools[1].Limits = []quantity.Amount{{Name: "nodes", Count: 2}}
	name := w.claimsOf("static")[0].Name
	w.onClaim(name, func(c *cluster.Claim) { c.Drift = &cluster.Drift{Reason: "NodePoolDrifted", Since: w.now} })
	w.settle(50, func(o engine.Output) {
		if len(of[plan.Launch](o))+len(of[plan.Delete](o))+len(of[plan.Disrupt](o)) > 0 {
			t.Errorf("%+v", o.Plan.Actions)
		}
	})
	s := w.standings()[name]
	if s.Stay.Reason != plan.LimitFull || !strings.Contains(s.Explain(), `limits.nodes of static NodePool "static"`) {
		t.Errorf("%s: %+v", s.Explain(), s)
	}
}

// A pod that fits no node of the pool any more keeps its node.
func TestStep_ADriftedNodeOfAStaticPoolStaysIfAPodHasNoOtherPlace(t *testing.T) {
	w := staticWorld(t, 2).pods("web", 1, 900)
	w.settle(50, nil)
	w.objects.Pods[0].Shape.Unsupported = []string{"something that no plan understands"}
	var name string
	for _, c := range w.claimsOf("static") {
		if c.Node == w.objects.Pods[0].Node {
			name = c.Name
		}
	}
	w.onClaim(name, func(c *cluster.Claim) { c.Drift = &cluster.Drift{Reason: "NodePoolDrifted", Since: w.now} })
	w.settle(50, func(o engine.Output) {
		if len(of[plan.Launch](o))+len(of[plan.Delete](o)) > 0 {
			t.Errorf("%+v", o.Plan.Actions)
		}
	})
}

func TestStandings_SayThatAStaticPoolKeepsItsNodes(t *testing.T) {
	w := staticWorld(t, 2).pods("web", 1, 900)
	w.settle(50, nil)
	for _, s := range w.standings() {
		if s.Pool == "static" && (s.Stay.Reason != plan.StaticPool || !strings.Contains(s.Explain(), "static NodePool static (spec.replicas: 2) has no node to spare")) {
			t.Errorf("%s: %+v", s.Explain(), s)
		}
	}
	w.scale(1)
	goes := 0
	for _, s := range w.standings() {
		if s.Stay.Reason == plan.NextToGo {
			goes++
		}
	}
	if goes != 1 {
		t.Errorf("%+v", w.standings())
	}
}

func TestStep_APodLearnsThatAStaticPoolLaunchesNothingForIt(t *testing.T) {
	w := staticWorld(t, 1).pods("web", 1, 900)
	w.objects.Pools[0].Ready = false
	w.objects.Pods[0].Shape.Requests.MilliCPU = 3500
	out := w.step()
	if r := out.Plan.Outcomes[0].Reasons; len(r) != 2 || r[1].Cause != plan.IsStatic && r[0].Cause != plan.IsStatic {
		t.Errorf("%+v", out.Plan.Outcomes)
	}
}

func TestStep_AnEmptyStaticNodeThatDriftedWaitsForItsSuccessor(t *testing.T) {
	w := staticWorld(t, 2)
	old := w.claimsOf("static")[0].Name
	w.onClaim(old, func(c *cluster.Claim) { c.Drift = &cluster.Drift{Reason: "NodePoolDrifted", Since: w.now} })
	launches := of[plan.Launch](w.step())
	if len(launches) != 1 {
		t.Fatalf("%+v", launches)
	}
	w.order(launches).onClaim(launches[0].Name, func(c *cluster.Claim) { c.Move = launches[0].Move })
	for range 5 {
		w.now = w.now.Add(2 * time.Second)
		out := w.step()
		if len(of[plan.Launch](out))+len(of[plan.Disrupt](out))+len(of[plan.Delete](out)) > 0 {
			t.Fatalf("%+v", out.Plan.Actions)
		}
	}
	if gone := of[plan.Disrupt](w.bringUp(launches).step()); len(gone) != 1 || gone[0].Claim != old {
		t.Errorf("%+v", gone)
	}
}

// Pods that never find room keep no node of a static pool from opening.
func TestStep_ANodeOfAStaticPoolOpensAtOnceWhateverElseWaits(t *testing.T) {
	w := newWorld(t).static(1)
	w.objects.Workloads = []cluster.Workload{{Kind: "ReplicaSet", Namespace: "default", Name: "web", Missing: 3, Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: 3000, PodSlots: 1}}}}
	launches := of[plan.Launch](w.step())
	w.order(launches)
	more := of[plan.Launch](w.step())
	if len(more) == 0 {
		t.Fatal("nothing is on its way for the declared pods")
	}
	w.order(more).bringUp(launches)
	released := map[string]bool{}
	for _, r := range of[plan.Release](w.step()) {
		released[r.Node] = true
	}
	if !released["node-"+launches[0].Name] {
		t.Errorf("released %v of %+v", released, launches)
	}
}

func TestAudit_LeavesStaticPoolsOut(t *testing.T) {
	w := staticWorld(t, 2).pods("web", 1, 900)
	w.settle(50, nil)
	snap, err := cluster.New(w.objects)
	if err != nil {
		t.Fatal(err)
	}
	a := engine.Audit(engine.Input{Snapshot: snap, Memory: w.memory, Policy: w.policy, Now: w.now})
	if a.Claims != 0 || a.Cost != 0 || a.Pods != 0 || a.Homeless != 0 {
		t.Errorf("%+v", a)
	}
}
