package engine_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func TestStep_LaunchesTheCheapestTypeThatHoldsThePods(t *testing.T) {
	launches := of[plan.Launch](newWorld(t).pods("web", 3, 1000).step())
	if len(launches) != 1 || launches[0].Types[0].Type != "c5.xlarge" || len(launches[0].Pods) != 3 {
		t.Fatalf("launches = %+v, want one c5.xlarge for three pods", launches)
	}
	if got := launches[0].Content.MilliCPU; got != 3000 {
		t.Errorf("content = %dm cpu, want 3000", got)
	}
}

func TestStep_NeverLaunchesTwiceForTheSamePods(t *testing.T) {
	w := newWorld(t).pods("web", 7, 1000)
	launches := of[plan.Launch](w.step())
	if len(launches) == 0 {
		t.Fatal("nothing was launched")
	}
	w.order(launches)
	if again := of[plan.Launch](w.step()); len(again) != 0 {
		t.Errorf("ordered NodeClaims are launched for again: %+v", again)
	}
	w.bringUp(launches)
	out := w.step()
	if again := of[plan.Launch](out); len(again) != 0 {
		t.Errorf("nodes that are up are launched for again: %+v", again)
	}
	w.open(out.Plan.Actions)
	if rest := w.step().Plan; len(of[plan.Launch](engine.Output{Plan: rest})) != 0 {
		t.Errorf("a settled cluster wants %+v", rest.Actions)
	}
}

func TestStep_DeclaredReplicasAreDemandUntilTheirControllerStalls(t *testing.T) {
	shape := cluster.Shape{Requests: quantity.Resources{MilliCPU: 1000, PodSlots: 1}}
	w := newWorld(t).pods("web", 1, 1000)
	w.objects.Workloads = []cluster.Workload{{Kind: "ReplicaSet", Namespace: "default", Name: "web", UID: "rs", Missing: 5, Shape: shape}}
	launches := of[plan.Launch](w.step())
	var pods, declared int64
	for _, l := range launches {
		pods, declared = pods+int64(len(l.Pods)), declared+l.Declared
	}
	if pods != 1 || declared != 5 {
		t.Fatalf("launched for %d pods and %d declared, want 1 and 5", pods, declared)
	}
	w.order(launches)
	// The controller creates the rest: the total is what it was.
	w.objects.Workloads = nil
	w.pods("late", 5, 1000)
	if again := of[plan.Launch](w.step()); len(again) != 0 {
		t.Errorf("declared pods that arrive are launched for again: %+v", again)
	}

	stalled := newWorld(t)
	stalled.objects.Workloads = []cluster.Workload{{Kind: "ReplicaSet", Namespace: "default", Name: "web", UID: "rs", Missing: 5, Shape: shape}}
	stalled.step()
	stalled.now = stalled.now.Add(engine.DefaultPolicy().DeclaredPatience)
	if got := of[plan.Launch](stalled.step()); len(got) != 0 {
		t.Errorf("a controller that makes no progress is still launched for: %+v", got)
	}
}

func TestStep_NominatesJustBeforeTheTaintGoes(t *testing.T) {
	w := newWorld(t).pods("web", 3, 1000)
	launches := of[plan.Launch](w.step())
	out := w.order(launches).bringUp(launches).step()
	var order []string
	for _, a := range out.Plan.Actions {
		switch a := a.(type) {
		case plan.Nominate:
			order = append(order, "nominate "+a.Pod)
		case plan.Release:
			order = append(order, "release")
		}
	}
	if want := []string{"nominate default/web-00", "nominate default/web-01", "nominate default/web-02", "release"}; !slices.Equal(order, want) {
		t.Errorf("order = %v, want %v", order, want)
	}
}

func TestStep_KeepsANodeForDeclaredPodsOnlySoLong(t *testing.T) {
	w := newWorld(t).pods("web", 1, 1000)
	w.objects.Workloads = []cluster.Workload{{
		Kind: "ReplicaSet", Namespace: "default", Name: "web", UID: "rs", Missing: 2,
		Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: 1000, PodSlots: 1}},
	}}
	launches := of[plan.Launch](w.step())
	out := w.order(launches).bringUp(launches).step()
	if got := of[plan.Release](out); len(got) != 0 {
		t.Fatalf("released before its pods exist: %+v", got)
	}
	wait := of[plan.Wait](out)
	if len(wait) != 1 || !wait[0].Until.Equal(w.now.Add(engine.DefaultPolicy().ReleaseWait)) {
		t.Fatalf("wait = %+v", wait)
	}
	w.now = wait[0].Until
	if got := of[plan.Release](w.step()); len(got) != 1 || got[0].GivenUp != 2 || got[0].Planned != 1 {
		t.Errorf("release = %+v, want one that gives up 2", got)
	}
}

func TestStep_WritesAClearedNominationAgainAndLeavesAForeignOneAlone(t *testing.T) {
	w := newWorld(t).pods("web", 3, 1000).running()
	w.objects.Pods[0].Node, w.objects.Pods[0].Unschedulable = "", true
	if got := of[plan.Nominate](w.step()); len(got) != 1 || got[0].Pod != "default/web-00" {
		t.Errorf("nominations = %+v, want web-00 again", got)
	}
	w.objects.Pods[0].Nominated = "some-other-node"
	out := w.step()
	if len(of[plan.Nominate](out)) != 0 || len(of[plan.Launch](out)) != 0 {
		t.Errorf("a pod nominated by the scheduler itself is acted for: %+v", out.Plan.Actions)
	}
}

func TestStep_RemovesAnEmptyNodeAfterConsolidateAfterAndNotBefore(t *testing.T) {
	w := newWorld(t).pods("web", 3, 1000).running()
	w.objects.Pods = nil
	if out := w.step(); len(of[plan.Delete](out)) != 0 || len(of[plan.Wait](out)) != 1 {
		t.Fatalf("actions = %+v, want a wait", out.Plan.Actions)
	}
	w.now = w.now.Add(30*time.Second - 1)
	if got := of[plan.Disrupt](w.step()); len(got) != 0 {
		t.Fatalf("disrupted too early: %+v", got)
	}
	w.now = w.now.Add(1)
	out := w.step()
	got := of[plan.Disrupt](out)
	if len(got) != 1 || got[0].Why != plan.Empty || got[0].Saves != 170_000_000 || len(of[plan.Delete](out)) != 0 {
		t.Fatalf("actions = %+v", out.Plan.Actions)
	}
	w.objects.Pools[0].Disruption.Never = true
	if got := of[plan.Disrupt](w.step()); len(got) != 0 {
		t.Errorf("consolidateAfter Never: %+v", got)
	}
	w.objects.Pools[0].Disruption.Never = false
	w.carry(out.Plan.Actions)
	w.now = w.now.Add(time.Second - 1)
	if got := of[plan.Delete](w.step()); len(got) != 0 {
		t.Fatalf("removed while pods may still be bound: %+v", got)
	}
	w.now = w.now.Add(1)
	if got := of[plan.Delete](w.step()); len(got) != 1 || got[0].Why != plan.Empty || !got[0].Checked || len(got[0].Pods) != 0 {
		t.Errorf("deletes = %+v", got)
	}
}

func TestStep_ReplacesAnInterruptedNodeBeforeItGoes(t *testing.T) {
	w := newWorld(t).pods("web", 3, 1000, ownedBy("web")).running()
	first := w.objects.Claims[0].Name
	deadline := w.now.Add(2 * time.Minute)
	w.objects.Claims[0].Interruption = &cluster.Interruption{Reason: "spot_interrupted", Noticed: w.now, Deadline: deadline}
	out := w.step()
	launches := of[plan.Launch](out)
	if len(launches) != 1 || launches[0].Why.Replaces != first || len(of[plan.Disrupt](out)) != 1 || len(of[plan.Delete](out)) != 0 {
		t.Fatalf("actions = %+v, want a replacement, a cordon and no deletion yet", out.Plan.Actions)
	}
	w.order(launches)
	if got := of[plan.Delete](w.step()); len(got) != 0 {
		t.Fatalf("drained before the replacement is up: %+v", got)
	}
	w.objects.Nodes[0].Disrupted = true
	w.bringUp(launches).open(w.step().Plan.Actions)
	if got := of[plan.Delete](w.step()); len(got) != 1 || got[0].Claim != first || got[0].Why != plan.Interrupted {
		t.Errorf("deletes = %+v, want the interrupted node once its replacement is up", got)
	}
}

func TestStep_KeepsAReplacementWhileItsPodsAreBetweenTwoLives(t *testing.T) {
	w := newWorld(t)
	w.objects.Pools[0].Disruption.After = time.Nanosecond
	launches := of[plan.Launch](w.pods("web", 3, 1000).step())
	w.order(launches).bringUp(launches)
	// What the node was launched for no longer exists before it could be nominated, as
	// when an eviction has removed pods and nothing has created them anew.
	evicted := w.objects.Pods
	w.objects.Pods = nil
	w.open(w.step().Plan.Actions)
	w.now = w.now.Add(time.Second)
	w.step()
	w.now = w.now.Add(5 * time.Second)
	if gone := of[plan.Disrupt](w.step()); len(gone) > 0 {
		t.Fatalf("the node is removed before its pods are back: %+v", gone)
	}
	w.objects.Pods = evicted
	out := w.step()
	if again := of[plan.Launch](out); len(again) > 0 {
		t.Errorf("launched again for %+v", again)
	}
	for i := range w.objects.Pods {
		w.objects.Pods[i].Node = w.objects.Nodes[0].Name
	}
	w.step()
	w.objects.Pods = nil
	w.step()
	w.now = w.now.Add(time.Second)
	if gone := of[plan.Disrupt](w.step()); len(gone) != 1 {
		t.Errorf("a node that had its pods and lost them is kept: %+v", gone)
	}
}

func TestStep_DrainsAnInterruptedNodeInTimeEvenWithoutReplacement(t *testing.T) {
	w := newWorld(t).pods("web", 3, 1000).running()
	w.objects.Claims[0].Interruption = &cluster.Interruption{Noticed: w.now, Deadline: w.now.Add(2 * time.Minute)}
	w.order(of[plan.Launch](w.step()))
	w.now = w.now.Add(time.Minute)
	if got := of[plan.Delete](w.step()); len(got) != 1 {
		t.Errorf("deletes = %+v, want the node to be drained with a minute left", got)
	}
}

func TestStep_NeverOvershootsALimit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		limit := rapid.Int64Range(0, 20).Draw(rt, "limit")
		name := rapid.SampledFrom([]string{"nodes", quantity.CPU}).Draw(rt, "resource")
		count := limit
		if name == quantity.CPU {
			count *= 1000
		}
		w.objects.Pools[0].Limits = []quantity.Amount{{Name: name, Count: count}}
		w.pods("web", rapid.IntRange(0, 40).Draw(rt, "pods"), rapid.Int64Range(1, 3900).Draw(rt, "cpu"))
		var used int64
		for range 3 {
			launches := of[plan.Launch](w.step())
			for _, l := range launches {
				largest := int64(1)
				if name == quantity.CPU {
					for _, c := range l.Types {
						for _, x := range w.objects.Classes[0].Types {
							if x.Name == c.Type {
								largest = max(largest, x.Capacity.MilliCPU)
							}
						}
					}
				}
				used += largest
			}
			w.order(launches)
		}
		if used > count {
			rt.Fatalf("limit %s %d: launched up to %d", name, count, used)
		}
	})
}

func TestStep_TriesTheNextOfferingWhenOneHasNoCapacity(t *testing.T) {
	w := newWorld(t).pods("web", 3, 1000)
	out := func(types ...string) {
		for _, n := range types {
			for _, z := range []string{"a", "b"} {
				w.memory = unavailable(w.memory, w.now.Add(time.Minute), catalog.OfferingKey{CapacityType: label.OnDemand, InstanceType: n, Zone: z})
			}
		}
	}
	out("c5.xlarge")
	launches := of[plan.Launch](w.step())
	if len(launches) == 0 || slices.ContainsFunc(launches, func(l plan.Launch) bool { return l.Types[0].Type == "c5.xlarge" }) {
		t.Fatalf("launches = %+v, want other types", launches)
	}
	out("c5.large", "m5.xlarge")
	none := w.step()
	if len(of[plan.Launch](none)) != 0 || len(of[plan.Wait](none)) != 1 || none.Plan.Outcomes[0].Reasons[0].Cause != plan.NoCapacity {
		t.Fatalf("with no capacity anywhere: %+v", none.Plan)
	}
	w.now = of[plan.Wait](none)[0].Until
	if got := of[plan.Launch](w.step()); len(got) == 0 {
		t.Error("capacity that may have returned is not tried")
	}
}

func TestStep_HigherWeightFirstOverflowToTheNext(t *testing.T) {
	w := newWorld(t).pool(cluster.Pool{Name: "preferred", Weight: 10, Limits: []quantity.Amount{{Name: "nodes", Count: 1}}})
	byPool := map[string]int{}
	for _, l := range of[plan.Launch](w.pods("web", 6, 1000).step()) {
		byPool[l.Pool]++
	}
	if byPool["preferred"] != 1 || byPool["general"] == 0 {
		t.Errorf("launches by pool = %v", byPool)
	}
}

// Every launch holds its content on each type that it carries; every pod is in
// one place at most; the order of the input does not matter.
func TestStep_IsSoundAndIndependentOfOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		for i := range rapid.IntRange(0, 5).Draw(rt, "groups") {
			memory := rapid.Int64Range(0, 12<<30).Draw(rt, "memory")
			w.pods(string(rune('a'+i)), rapid.IntRange(1, 12).Draw(rt, "n"), rapid.Int64Range(0, 5000).Draw(rt, "cpu"),
				func(p *cluster.Pod) { p.Shape.Requests.MemoryBytes = memory })
		}
		if rapid.Bool().Draw(rt, "up") {
			w.running()
			w.pods("more", 5, 700)
		}
		memory, seed := w.memory, w.seed
		out := w.step()
		seen := map[string]bool{}
		for _, o := range out.Plan.Outcomes {
			for _, id := range o.Pods {
				if seen[id] {
					rt.Fatalf("pod %s has two outcomes", id)
				}
				seen[id] = true
			}
		}
		for _, l := range of[plan.Launch](out) {
			for _, c := range l.Types {
				for _, x := range w.objects.Classes[0].Types {
					if x.Name == c.Type && !l.Content.Fits(x.Allocatable) {
						rt.Fatalf("launch carries %s, which lacks %v", c.Type, l.Content.Lacking(x.Allocatable))
					}
				}
			}
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "shuffle"), 1))
		r.Shuffle(len(w.objects.Pods), func(i, j int) {
			w.objects.Pods[i], w.objects.Pods[j] = w.objects.Pods[j], w.objects.Pods[i]
		})
		slices.Reverse(w.objects.Nodes)
		slices.Reverse(w.objects.Claims)
		w.memory, w.seed = memory, seed
		if again := w.step(); !reflect.DeepEqual(out.Plan, again.Plan) {
			rt.Fatalf("the order of the input changed the plan:\n%+v\n%+v", out.Plan, again.Plan)
		}
	})
}

func TestStep_NeverLaunchesTwiceForPodsOfATaintedAndLabelledPool(t *testing.T) {
	taint := cluster.Taint{Key: "spot", Value: "only", Effect: cluster.NoSchedule}
	w := newWorld(t).pool(cluster.Pool{
		Name: "spot", Taints: []cluster.Taint{taint}, Labels: label.FromMap(map[string]string{"node-group-type": "spot"}),
		Requirements: label.All(label.Is(label.CapacityType, label.Spot)),
	})
	w.pods("web", 5, 1000, func(p *cluster.Pod) {
		p.Shape.Selector = label.All(label.Is("node-group-type", "spot"))
		p.Shape.Tolerations = []cluster.Toleration{{Key: "spot", Value: "only", Effect: cluster.NoSchedule}}
	})
	launches := of[plan.Launch](w.step())
	if len(launches) == 0 || launches[0].Pool != "spot" {
		t.Fatalf("launches = %+v", launches)
	}
	if again := of[plan.Launch](w.order(launches).step()); len(again) != 0 {
		t.Fatalf("ordered NodeClaims are launched for again: %+v", again)
	}
	out := w.bringUp(launches).step()
	if again := of[plan.Launch](out); len(again) != 0 {
		t.Fatalf("nodes that are up are launched for again: %+v", again)
	}
	if n := len(of[plan.Nominate](out)); n != 5 {
		t.Errorf("%d nominations, want 5", n)
	}
}

func TestStep_LetsPodsOfAnInterruptedNodeRunWhileThereIsNoOtherPlace(t *testing.T) {
	w := newWorld(t)
	w.objects.Pools[0].Limits = []quantity.Amount{{Name: "nodes", Count: 1}}
	w.pods("web", 3, 1000).running()
	w.objects.Claims[0].Interruption = &cluster.Interruption{Noticed: w.now, Deadline: w.now.Add(2 * time.Minute)}
	if gone := of[plan.Delete](w.step()); len(gone) != 0 {
		t.Fatalf("drained with nowhere to go: %+v", gone)
	}
	w.now = w.now.Add(time.Minute)
	if gone := of[plan.Delete](w.step()); len(gone) != 1 {
		t.Errorf("not drained in time: %+v", gone)
	}
}

func TestStep_KeepsAnEmptyNodeThatMustNotBeDisrupted(t *testing.T) {
	for name, keep := range map[string]func(*world){
		"the node":   func(w *world) { w.objects.Nodes[0].DoNotDisrupt = true },
		"the pool":   func(w *world) { w.objects.Pools[0].Disruption.Paused = true },
		"the daemon": func(w *world) { w.policy.PauseDisruption = true },
	} {
		w := newWorld(t).pods("web", 3, 1000).running()
		w.step()
		w.objects.Pods = nil
		keep(w)
		w.step()
		w.now = w.now.Add(time.Hour)
		if out := w.step(); len(of[plan.Disrupt](out))+len(of[plan.Delete](out)) != 0 {
			t.Errorf("%s forbids it, and the node goes: %+v", name, out.Plan.Actions)
		}
	}
}

func TestStep_ANodeThatMustNotBeDisruptedForAWhileGoesThen(t *testing.T) {
	w := newWorld(t).pods("web", 3, 1000).running()
	w.step()
	until := w.now.Add(4 * time.Hour)
	w.objects.Pods, w.objects.Nodes[0].ProtectedUntil = nil, until
	out := w.step()
	if waits := of[plan.Wait](out); len(waits) != 1 || !waits[0].Until.Equal(until) {
		t.Errorf("waits %+v, want until %s", waits, until)
	}
	w.now = until.Add(-time.Second)
	if out := w.step(); len(of[plan.Disrupt](out)) != 0 {
		t.Errorf("disrupted too early: %+v", out.Plan.Actions)
	}
	for range 2 { // an empty node is deleted if it is empty still after a while
		w.now = w.now.Add(time.Minute)
		out = w.step()
	}
	if len(of[plan.Disrupt](out)) != 1 {
		t.Errorf("not disrupted: %+v", out.Plan.Actions)
	}
}

// What would restore the node keeps it from being announced: else it would be tainted and
// restored again and again.
func TestStep_AnEmptyNodeThatWouldBeRestoredIsNotAnnounced(t *testing.T) {
	for name, change := range map[string]func(*world){
		"a pool that is not ready": func(w *world) { w.objects.Pools[0].Ready = false },
		"a pod of a DaemonSet that is protected for a while": func(w *world) {
			w.pods("agent", 1, 10, func(p *cluster.Pod) {
				p.Node, p.Pinned, p.ProtectedUntil = w.objects.Nodes[0].Name, true, w.now.Add(time.Hour)
			})
		},
	} {
		w := newWorld(t).pods("web", 3, 1000).running()
		w.step()
		w.objects.Pods = nil
		change(w)
		for range 3 {
			w.now = w.now.Add(time.Minute)
			if out := w.step(); len(of[plan.Disrupt](out)) > 0 {
				t.Errorf("%s: %+v", name, out.Plan.Actions)
			}
		}
	}
}

func TestStep_LimitsCountNodesOfAClassThatIsNotReady(t *testing.T) {
	w := newWorld(t).pods("web", 3, 1000).running()
	w.objects.Pools[0].Limits = []quantity.Amount{{Name: quantity.CPU, Count: 4000}}
	ready := w.objects.Classes[0]
	ready.Name = "next"
	w.objects.Classes[0].Types, w.objects.Classes[0].Ready = nil, false
	w.objects.Classes = append(w.objects.Classes, ready)
	w.objects.Pools[0].Class = "next"
	if got := of[plan.Launch](w.pods("more", 3, 1000).step()); len(got) != 0 {
		t.Errorf("the limit is overshot: %+v", got)
	}
}
