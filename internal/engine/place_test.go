package engine_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// launchedFor counts the pods that launches of the plan are for.
func launchedFor(out engine.Output) int {
	n := 0
	for _, l := range of[plan.Launch](out) {
		n += len(l.Pods)
	}
	return n
}

func require(t *testing.T, key string, op label.Operator, values ...string) label.Requirements {
	t.Helper()
	r, err := label.NewRequirement(key, op, values...)
	if err != nil {
		t.Fatal(err)
	}
	return label.All(r)
}

func overZones(p *cluster.Pod) {
	p.Labels = label.FromMap(map[string]string{"app": "x"})
	p.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: pods("x")}}
}

func TestStep_AZoneWithoutRoomInOnePoolIsOpenInTheNext(t *testing.T) {
	w := newWorld(t).pool(cluster.Pool{Name: "small", Weight: 10, Requirements: require(t, label.InstanceType, label.In, "c5.large")})
	if n := launchedFor(w.pods("x", 2, 3000, overZones).step()); n != 2 {
		t.Errorf("%d of 2 pods launched for", n)
	}
}

func TestStep_AZoneWithoutRoomForAPreferenceIsOpenWithoutIt(t *testing.T) {
	small := require(t, label.InstanceType, label.In, "c5.large")
	w := newWorld(t).pods("x", 2, 3000, overZones, func(p *cluster.Pod) {
		p.Shape.Preferred = []cluster.Preference{{Weight: 1, Node: small}}
	})
	if n := launchedFor(w.step()); n != 2 {
		t.Errorf("%d of 2 pods launched for", n)
	}
}

func TestStep_NeverLaunchesTwiceWhereADaemonSetKeepsOffSomeZones(t *testing.T) {
	w := newWorld(t)
	w.objects.DaemonSets = []cluster.DaemonSet{{UID: "d", Namespace: "kube-system", Name: "d", Shape: cluster.Shape{
		Requests: quantity.Resources{MilliCPU: 500, PodSlots: 1}, NodeAffinity: []label.Requirements{require(t, label.Zone, label.NotIn, "a", "b")},
	}}}
	launches := of[plan.Launch](w.pods("a", 1, 1900).step())
	if more := of[plan.Launch](w.order(launches).step()); len(launches) != 1 || len(more) != 0 {
		t.Errorf("%d launches, then %d", len(launches), len(more))
	}
}

// Device plugins report some time after the kubelet has. They are pods themselves: many
// tolerate the taint of their device and not the daemon's, so the node has to open first.
func TestStep_ANodeThatLacksNothingButDevicesOpensAndItsPodsWait(t *testing.T) {
	for _, ready := range []bool{false, true} {
		w := newWorld(t)
		for i := range w.objects.Classes[0].Types {
			x := &w.objects.Classes[0].Types[i]
			x.Capacity, x.Allocatable = x.Capacity.Extend("nvidia.com/gpu", 1), x.Allocatable.Extend("nvidia.com/gpu", 1)
		}
		w.pods("gpu", 1, 1000, func(p *cluster.Pod) { p.Shape.Requests = p.Shape.Requests.Extend("nvidia.com/gpu", 1) })
		launches := of[plan.Launch](w.step())
		w.order(launches).bringUp(launches)
		n := &w.objects.Nodes[0]
		whole := n.Allocatable
		n.Ready, n.Allocatable.Extended = ready, nil
		for i, opens := range []bool{ready, false} {
			out := w.step()
			if released := of[plan.Release](out); len(of[plan.Launch](out))+len(of[plan.Nominate](out)) != 0 || len(released) > 0 != opens {
				t.Errorf("ready %t, without devices, step %d: %+v", ready, i, out.Plan.Actions)
			}
			w.open(out.Plan.Actions)
			w.objects.Claims[0].Initialized = false
		}
		n.Ready, n.Allocatable, w.objects.Claims[0].Initialized = true, whole, ready
		if out := w.step(); len(of[plan.Launch](out)) != 0 || len(of[plan.Nominate](out)) != 1 {
			t.Errorf("with devices: %+v", out.Plan.Actions)
		}
	}
}

// A node whose devices never come is given up as any other that does not become ready.
func TestStep_ANodeThatOpenedForItsDevicesIsGivenUpWithoutThem(t *testing.T) {
	w := newWorld(t)
	for i := range w.objects.Classes[0].Types {
		w.objects.Classes[0].Types[i] = withGPUs(w.objects.Classes[0].Types[i], 1)
	}
	w.pods("gpu", 1, 1000, askGPUs(1))
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches)
	w.objects.Nodes[0].Allocatable.Extended = nil
	w.open(w.step().Plan.Actions)
	w.objects.Claims[0].Initialized = false
	w.now = w.now.Add(2 * w.policy.RegistrationTimeout)
	if gone := of[plan.Delete](w.step()); len(gone) != 1 || gone[0].Why != plan.InitializationTimeout {
		t.Errorf("deletes %+v", gone)
	}
}

func TestStep_PacksOnlyAsFullAsMinValuesAllows(t *testing.T) {
	w := newWorld(t)
	var types []catalog.InstanceType
	for i := int64(1); i <= 40; i++ {
		types = append(types, instanceType(fmt.Sprintf("t%02d.x", i), i, 2*i, quantity.Money(42_500_000*i-i*i*1000)))
	}
	w.objects.Classes[0].Types, w.objects.Pools = types, nil
	w.pool(cluster.Pool{Name: "varied", MinValues: []cluster.MinValues{{Key: label.InstanceType, Count: 30}}})
	out := w.pods("a", 200, 500).step()
	if n := launchedFor(out); n != 200 {
		t.Errorf("%d of 200 pods launched for", n)
	}
	for _, l := range of[plan.Launch](out) {
		if len(l.Types) < 30 {
			t.Errorf("%s carries %d types", l.Name, len(l.Types))
		}
	}
}

func TestStep_HoldsNothingBackThatALimitMayLeaveToOthers(t *testing.T) {
	w := newWorld(t)
	w.objects.Pools = nil
	w.pool(cluster.Pool{Name: "limited", Limits: []quantity.Amount{{Name: "cpu", Count: 4000}}})
	w.memory.Growth = memory.Growth{Demand: 0, Last: w.now}
	w.now = start.Add(10 * time.Millisecond)
	w.pods("high", 1, 1000, func(p *cluster.Pod) { p.Shape.Priority, p.Created = 100, w.now })
	w.pods("low", 1, 3900, func(p *cluster.Pod) { p.Created, p.Shape.Requests.MemoryBytes = w.now, 7680<<20 })
	for _, l := range of[plan.Launch](w.step()) {
		if l.Pods[0] == "default/high-00" {
			return
		}
	}
	t.Error("the important pod has no node")
}

func TestStep_LooksAgainWhenDeclaredReplicasAreGivenUp(t *testing.T) {
	w := newWorld(t)
	w.objects.Workloads = []cluster.Workload{{UID: "u", Kind: "ReplicaSet", Namespace: "default", Name: "d", Missing: 1, Shape: cluster.Shape{
		Requests: quantity.Resources{MilliCPU: 1000, PodSlots: 1},
	}}}
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches)
	w.now = w.now.Add(10 * time.Second)
	end := start.Add(w.policy.DeclaredPatience)
	if waits := of[plan.Wait](w.step()); len(waits) != 1 || waits[0].Until.After(end) {
		t.Errorf("waits %+v, want one until %v at the latest", waits, end)
	}
}

func TestStep_LeavesTheRoomThatTheSchedulerIsMakingToThePodItIsFor(t *testing.T) {
	w := newWorld(t).pods("a", 1, 1000).running()
	w.pods("preemptor", 1, 800, func(p *cluster.Pod) { p.Nominated = w.objects.Nodes[0].Name })
	w.pods("b", 1, 800)
	if n := launchedFor(w.step()); n != 1 {
		t.Errorf("launched for %d pods, want a node for b", n)
	}
}

// A limit, or the room on a node, is given to a pod that exists, whatever the
// priority of one that is only declared.
func TestStep_RealPodsComeBeforeDeclaredOnesWhereLimitsAreShort(t *testing.T) {
	declare := func(w *world, namespace string, milliCPU int64, priority int32) {
		w.objects.Workloads = []cluster.Workload{{UID: "u", Kind: "ReplicaSet", Namespace: namespace, Name: "d", Missing: 1, Shape: cluster.Shape{
			Priority: priority, Requests: quantity.Resources{MilliCPU: milliCPU, PodSlots: 1},
		}}}
	}
	for name, c := range map[string]struct {
		namespace string
		milliCPU  int64
		priority  int32
	}{
		"declared first by name":     {"a", 3800, 0},
		"declared larger":            {"z", 3900, 0},
		"declared more important":    {"z", 3800, 10},
		"declared as large as a pod": {"default", 3800, 0},
	} {
		w := newWorld(t).pods("real", 1, 3800)
		w.objects.Pools[0].Limits = []quantity.Amount{{Name: "nodes", Count: 1}}
		declare(w, c.namespace, c.milliCPU, c.priority)
		out := w.step()
		if launches := of[plan.Launch](out); len(launches) != 1 || len(launches[0].Pods) != 1 || launches[0].Declared != 0 {
			t.Errorf("%s: launches = %+v, want one for the pod that exists", name, launches)
		}

		w = newWorld(t).pods("one", 1, 2000)
		w.objects.Pools[0].Limits = []quantity.Amount{{Name: "nodes", Count: 1}}
		w.objects.Pools[0].Requirements = require(t, label.InstanceType, label.In, "c5.xlarge")
		w.running().pods("real", 1, 1800)
		declare(w, c.namespace, c.milliCPU-2000, c.priority)
		if out := w.step(); len(of[plan.Nominate](out)) != 1 {
			t.Errorf("%s: %+v, want the pod that exists on the node", name, out.Plan)
		}
	}
}

// A reserved node, too: which of them get it costs the same, but the pods that
// are declared may never come. Each of these pods needs a node of its own.
func TestStep_RealPodsComeBeforeDeclaredOnesWhereReservationsAreShort(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		number := func(what string, least, most int) int { return rapid.IntRange(least, most).Draw(rt, what) }
		left, there := number("left", 1, 3), number("real", 1, 4)
		s := &scenario{world: newWorld(t).pods("real", there, 3000)}
		s.reserve("m5.xlarge", int64(left))
		for i := range number("workloads", 1, 3) {
			s.objects.Workloads = append(s.objects.Workloads, cluster.Workload{
				UID: fmt.Sprint(i), Kind: "ReplicaSet", Namespace: rapid.SampledFrom([]string{"a", "default", "default", "z"}).Draw(rt, "namespace"), Name: fmt.Sprint(i),
				Missing: int64(number("missing", 1, 4)), Shape: cluster.Shape{
					Priority: int32(number("priority", 0, 3) / 3),
					Requests: quantity.Resources{MilliCPU: rapid.SampledFrom([]int64{2900, 3000, 3000, 3100}).Draw(rt, "size"), PodSlots: 1},
				},
			})
		}
		reserved := 0
		for _, l := range of[plan.Launch](s.step()) {
			if l.Reservation != "" {
				reserved += len(l.Pods)
			}
		}
		if want := min(left, there); reserved != want {
			rt.Errorf("%d of %d pods that exist are on %d reserved nodes, want %d", reserved, there, left, want)
		}
	})
}

// Where no limit is short, what is declared is packed together with what exists.
func TestStep_DeclaredPodsShareNodesWithRealOnesWithinLimits(t *testing.T) {
	w := newWorld(t).pods("real", 1, 1800)
	w.objects.Pools[0].Limits = []quantity.Amount{{Name: "nodes", Count: 5}}
	w.objects.Workloads = []cluster.Workload{{UID: "u", Kind: "ReplicaSet", Namespace: "a", Name: "d", Missing: 1, Shape: cluster.Shape{
		Requests: quantity.Resources{MilliCPU: 2000, PodSlots: 1},
	}}}
	if launches := of[plan.Launch](w.step()); len(launches) != 1 || launches[0].Declared != 1 || len(launches[0].Pods) != 1 {
		t.Errorf("launches = %+v, want one for both", launches)
	}
}

// The scheduler may choose a node for a pod as the node is deleted, because its pool is deleted
// or a static pool has too many. The pod has no place there.
func TestStep_ANodeThatGoesIsNoPlaceForAPodWhoeverChoseIt(t *testing.T) {
	for name, goes := range map[string]func(*world){
		"its pool is deleted":          func(w *world) { w.objects.Pools[0].Deleting = true },
		"its pool is to be terminated": func(w *world) { w.objects.Pools[0].Deleting, w.objects.Pools[0].Terminate = true, true },
		"its static pool is scaled in": func(w *world) { w.objects.Pools[0].Static, w.objects.Pools[0].Replicas = true, 0 },
	} {
		for _, tried := range []bool{true, false} {
			w := newWorld(t).pods("old", 1, 1000)
			launches := of[plan.Launch](w.step())
			w.order(launches).bringUp(launches)
			w.objects.Pods[0].Nominated, w.objects.Pods[0].Unschedulable = w.objects.Nodes[0].Name, tried
			w.pool(cluster.Pool{Name: "other"})
			goes(w)
			out := w.step()
			if gone := of[plan.Delete](out); len(gone) != 1 || launchedFor(out) != 1 {
				t.Errorf("%s, tried %t: %d nodes go, launched for %d pods: %v", name, tried, len(gone), launchedFor(out), out.Plan.Outcomes)
			}
		}
	}
}
