package engine_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// typed returns the names of all types that the plan's launches may become.
func typed(launches []plan.Launch) []string {
	var out []string
	for _, l := range launches {
		for _, c := range l.Types {
			out = append(out, c.Type)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sized gives the types a label that counts their vCPUs; m5.xlarge has none.
func sized(w *world) *world {
	for i := range w.objects.Classes[0].Types {
		x := &w.objects.Classes[0].Types[i]
		if x.Name != "m5.xlarge" {
			x.Labels = x.Labels.With("karpenter.k8s.aws/instance-cpu", fmt.Sprint(x.Capacity.MilliCPU/1000))
		}
	}
	w.policy.OnDemandTolerance = 10_000
	return w
}

// Whether the pool asks or the pod, an operator leaves the same types.
func TestStep_EveryOperatorLeavesTheTypesThatItAdmits(t *testing.T) {
	const cpus = "karpenter.k8s.aws/instance-cpu"
	for _, c := range []struct {
		op     label.Operator
		values []string
		want   []string
	}{
		{label.In, []string{"4", "8"}, []string{"c5.xlarge"}},
		{label.NotIn, []string{"4"}, []string{"c5.large", "m5.xlarge"}},
		{label.Exists, nil, []string{"c5.large", "c5.xlarge"}},
		{label.DoesNotExist, nil, []string{"m5.xlarge"}},
		{label.Gt, []string{"2"}, []string{"c5.xlarge"}},
		{label.Gte, []string{"2"}, []string{"c5.large", "c5.xlarge"}},
		{label.Lt, []string{"4"}, []string{"c5.large"}},
		{label.Lte, []string{"4"}, []string{"c5.large", "c5.xlarge"}},
	} {
		asks := require(t, cpus, c.op, c.values...)
		pool := sized(newWorld(t)).pods("web", 1, 500)
		pool.objects.Pools[0].Requirements = pool.objects.Pools[0].Requirements.And(asks)
		if got := typed(of[plan.Launch](pool.step())); !slices.Equal(got, c.want) {
			t.Errorf("a pool that asks for %s launches %q, want %q", asks, got, c.want)
		}
		pod := sized(newWorld(t)).pods("web", 1, 500, func(p *cluster.Pod) { p.Shape.NodeAffinity = []label.Requirements{asks} })
		if got := typed(of[plan.Launch](pod.step())); !slices.Equal(got, c.want) {
			t.Errorf("for a pod that asks for %s are launched %q, want %q", asks, got, c.want)
		}
	}
}

func TestStep_ALaunchCarriesEveryTypeWithinThePriceTolerance(t *testing.T) {
	for capacity, want := range map[string][]string{label.OnDemand: {"near", "same"}, label.Spot: {"above", "far", "near", "same"}} {
		w := newWorld(t).pods("web", 1, 500)
		w.objects.Pools[0].Requirements = require(t, label.CapacityType, label.In, capacity)
		types := &w.objects.Classes[0].Types
		*types = nil
		for name, price := range map[string]quantity.Money{"same": 300_000_000, "near": 315_000_000, "above": 315_300_000, "far": 360_000_000, "too far": 360_300_000} {
			*types = append(*types, instanceType(name, 2, 4, price))
		}
		slices.SortFunc(*types, func(a, b catalog.InstanceType) int { return strings.Compare(a.Name, b.Name) })
		if got := typed(of[plan.Launch](w.step())); !slices.Equal(got, want) {
			t.Errorf("%s: carries %q, want %q", capacity, got, want)
		}
	}
}

// Limits are charged with the largest type that a launch may become; a type that
// would overshoot is dropped, not the launch.
func TestStep_ATypeThatWouldOvershootALimitIsNotCarried(t *testing.T) {
	w := newWorld(t).pods("web", 1, 500)
	w.objects.Classes[0].Types = w.objects.Classes[0].Types[:0]
	w.objects.Classes[0].Types = append(w.objects.Classes[0].Types, instanceType("a.small", 2, 4, 100_000_000), instanceType("b.large", 4, 8, 101_000_000))
	w.objects.Pools[0].Limits = []quantity.Amount{{Name: quantity.CPU, Count: 5_000}}
	first := of[plan.Launch](w.step())
	if got := typed(first); !slices.Equal(got, []string{"a.small", "b.large"}) {
		t.Fatalf("the first launch carries %q, want both", got)
	}
	w.order(first).pods("more", 1, 1900)
	if more := of[plan.Launch](w.step()); len(more) != 0 {
		t.Errorf("beside a launch that may become 4 CPUs, of 5: %+v", more)
	}
	w.now = w.now.Add(2 * time.Second)
	w.objects.Pools[0].Limits[0].Count = 6_000
	if got := typed(of[plan.Launch](w.step())); !slices.Equal(got, []string{"a.small"}) {
		t.Errorf("with 2 CPUs left: carries %q, want only what has no more", got)
	}
}

// It is the same among the launches of one plan.
func TestStep_EveryLaunchOfAPlanCountsForTheNextAsTheLargestThatItMayBecome(t *testing.T) {
	w := newWorld(t).pods("web", 2, 500, func(p *cluster.Pod) { p.Shape.Ports = []cluster.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: 80}} })
	w.objects.Classes[0].Types = append(w.objects.Classes[0].Types[:0], instanceType("a.small", 2, 4, 100_000_000), instanceType("b.large", 4, 8, 101_000_000))
	w.objects.Pools[0].Limits = []quantity.Amount{{Name: quantity.CPU, Count: 7_000}}
	var carried []string
	for _, l := range of[plan.Launch](w.step()) {
		carried = append(carried, strings.Join(typed([]plan.Launch{l}), " or "))
	}
	if want := []string{"a.small or b.large", "a.small"}; !slices.Equal(carried, want) {
		t.Errorf("with 7 CPUs: %q, want %q", carried, want)
	}
}

func TestStep_AnOfferingWithoutAPriceIsNeverLaunched(t *testing.T) {
	w := newWorld(t).pods("web", 2, 500)
	w.policy.OnDemandTolerance = 10_000
	for i := range w.objects.Classes[0].Types[:2] {
		for j := range w.objects.Classes[0].Types[i].Offerings {
			w.objects.Classes[0].Types[i].Offerings[j].Price = 0
		}
	}
	if got := typed(of[plan.Launch](w.step())); !slices.Equal(got, []string{"m5.xlarge"}) {
		t.Errorf("launches %q, want the one type whose price is known", got)
	}
}

// Pods need not tolerate startup taints, for somebody takes them off; until then
// the node is not given to anybody.
func TestStep_StartupTaintsKeepNobodyFromANodeToComeAndHoldItUntilTheyAreGone(t *testing.T) {
	agent := cluster.Taint{Key: "example.com/agent-not-ready", Effect: cluster.NoExecute}
	w := newWorld(t).pods("web", 2, 500)
	w.objects.Pools[0].StartupTaints = []cluster.Taint{agent}
	launches := of[plan.Launch](w.step())
	if len(launches) != 1 || !slices.Contains(launches[0].StartupTaints, agent) {
		t.Fatalf("launches = %+v, want one with the startup taint", launches)
	}
	w.order(launches).bringUp(launches)
	node := &w.objects.Nodes[0]
	node.Taints = append(node.Taints, agent)
	out := w.step()
	if len(of[plan.Release](out))+len(of[plan.Nominate](out))+len(of[plan.Launch](out)) != 0 {
		t.Fatalf("with the startup taint: %+v", out.Plan.Actions)
	}
	node.Taints = node.Taints[:1]
	if out = w.step(); len(of[plan.Release](out)) != 1 || len(of[plan.Nominate](out)) != 2 {
		t.Errorf("without it: %+v", out.Plan.Actions)
	}
}

// What DaemonSets take depends on the pool and the type: of its labels and taints
// only those count that run there.
func TestStep_DaemonSetsTakeTheirShareByPoolAndType(t *testing.T) {
	daemon := func(name string, milliCPU int64, where label.Requirements) cluster.DaemonSet {
		return cluster.DaemonSet{Namespace: "kube-system", Name: name, UID: name, Shape: cluster.Shape{
			Requests: quantity.Resources{MilliCPU: milliCPU, PodSlots: 1}, Selector: where,
		}}
	}
	w := newWorld(t).pool(cluster.Pool{Name: "quiet"})
	w.objects.DaemonSets = []cluster.DaemonSet{
		daemon("general", 200, require(t, label.NodePool, label.In, "general")),
		daemon("large", 300, require(t, label.InstanceType, label.In, "c5.xlarge", "m5.xlarge")),
	}
	on := func(pool string) func(*cluster.Pod) {
		return func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(label.NodePool, pool)) }
	}
	// A c5.large has 1900m: with 200m for the daemon of its pool it holds no 1750m.
	w.pods("a", 1, 1750, on("general")).pods("b", 1, 1750, on("quiet"))
	content := map[string]string{}
	for _, l := range of[plan.Launch](w.step()) {
		content[l.Pool] = fmt.Sprint(l.Types[0].Type, " ", l.Content.MilliCPU)
	}
	if want := map[string]string{"general": "c5.xlarge 2250", "quiet": "c5.large 1750"}; !reflect.DeepEqual(content, want) {
		t.Errorf("launched %v, want %v", content, want)
	}
}

// GPUs, accelerators, network interfaces of pods and EFA are resources like any
// other: a node is launched that has them, and as many as pods ask for.
func TestStep_ExtendedResourcesAreHadOnTypesThatHaveThem(t *testing.T) {
	for _, name := range []string{
		"nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore",
		"vpc.amazonaws.com/pod-eni", "vpc.amazonaws.com/efa", "example.com/fpga",
	} {
		w := newWorld(t)
		device := &w.objects.Classes[0].Types[2]
		device.Capacity, device.Allocatable = device.Capacity.Extend(name, 4), device.Allocatable.Extend(name, 4)
		w.pods("web", 1, 100).pods("uses", 3, 100, func(p *cluster.Pod) { p.Shape.Requests = p.Shape.Requests.Extend(name, 2) })
		out := w.step()
		checkSound(t, w.objects, out)
		if launches := of[plan.Launch](out); launchedFor(out) != 4 || len(launches) != 2 || !slices.Equal(typed(launches), []string{"m5.xlarge"}) {
			t.Errorf("%s: %d launches for %d pods as %q, want 2 for 4 as the type that has it", name, len(launches), launchedFor(out), typed(launches))
		}
	}
}

// A node has no more pods than its type may have, DaemonSets' ones included.
func TestStep_NoNodeGetsMorePodsThanItsTypeMayHave(t *testing.T) {
	w := newWorld(t).pods("web", 9, 10)
	for i := range w.objects.Classes[0].Types {
		w.objects.Classes[0].Types[i].Capacity.PodSlots, w.objects.Classes[0].Types[i].Allocatable.PodSlots = 4, 4
	}
	w.objects.DaemonSets = []cluster.DaemonSet{{Namespace: "n", Name: "d", UID: "d", Shape: cluster.Shape{Requests: quantity.Resources{PodSlots: 1}}}}
	launches := of[plan.Launch](w.step())
	for _, l := range launches {
		if len(l.Pods) != 3 {
			t.Errorf("%s is for %d pods, want 3 beside the DaemonSet's", l.Name, len(l.Pods))
		}
	}
	if len(launches) != 3 {
		t.Errorf("%d launches, want 3", len(launches))
	}
}

// Too few domains count as an empty one: with two zones and three asked for, no
// zone gets more than the skew.
func TestStep_MinDomainsHoldPodsBackUntilThereAreEnoughZones(t *testing.T) {
	for zones, want := range map[int64]int{0: 4, 2: 4, 3: 2} {
		w := newWorld(t).pods("x", 4, 500, overZones, func(p *cluster.Pod) { p.Shape.Spread[0].MinDomains = zones })
		if n := launchedFor(w.step()); n != want {
			t.Errorf("minDomains %d: launched for %d pods, want %d", zones, n, want)
		}
	}
}

// A zone counts for the skew only where the policies let its nodes count: with an
// empty one that does not, the next pod may run where others are.
func TestStep_SpreadPoliciesDecideWhichNodesCount(t *testing.T) {
	notB := func(p *cluster.Pod) {
		p.Shape.NodeAffinity = []label.Requirements{label.All(label.Is(label.Zone, "a"))}
	}
	for name, c := range map[string]struct {
		with  func(*cluster.Pod)
		taint bool // on the nodes of zone b
		want  int  // of three more pods
	}{
		"affinity honoured":   {notB, false, 3},
		"affinity ignored":    {func(p *cluster.Pod) { notB(p); p.Shape.Spread[0].IgnoreAffinity = true }, false, 1},
		"taints are ignored":  {func(*cluster.Pod) {}, true, 1},
		"taints are honoured": {func(p *cluster.Pod) { p.Shape.Spread[0].HonorTaints = true }, true, 3},
	} {
		w := newWorld(t).pods("seed", 1, 1000, func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(label.Zone, "b")) }).running()
		w.objects.Pools[0].Requirements = w.objects.Pools[0].Requirements.And(label.All(label.Is(label.Zone, "a")))
		if c.taint {
			w.objects.Nodes[0].Taints = []cluster.Taint{{Key: "closed", Effect: cluster.NoSchedule}}
		} else {
			w.objects.Nodes[0].Allocatable.MilliCPU = 1000
		}
		w.pods("x", 3, 500, overZones, c.with).after(time.Second)
		if n := launchedFor(w.step()); n != c.want {
			t.Errorf("%s: launched for %d pods, want %d", name, n, c.want)
		}
	}
}

// A pod that has no place, however important, and one whose volume or pool is
// broken, delay no other.
func TestStep_APodWithoutAPlaceDelaysNoOther(t *testing.T) {
	w := newWorld(t).pool(cluster.Pool{Name: "broken", Weight: 50})
	w.objects.Pools[1].Ready, w.objects.Pools[1].NotReady = false, "its class is gone"
	w.pods("huge", 2, 900_000, func(p *cluster.Pod) { p.Shape.Priority = 1_000_000 })
	w.pods("lost", 2, 500, func(p *cluster.Pod) {
		p.Shape.Priority, p.Shape.Unsupported = 1000, []string{"the volume data/db is gone"}
	})
	w.pods("gang", 2, 500, func(p *cluster.Pod) { p.Shape.Gang = cluster.Gang{Name: "g", Size: 3} })
	w.pods("web", 4, 500)
	out := w.step()
	if n := launchedFor(out); n != 4 {
		t.Errorf("launched for %d pods, want 4", n)
	}
	if out.Trace.Refused != 6 {
		t.Errorf("%d refused, want 6", out.Trace.Refused)
	}
	for _, o := range out.Plan.Outcomes {
		if o.Verdict == plan.Unplaceable && len(o.Reasons) == 0 {
			t.Errorf("%v have no reason", o.Pods)
		}
	}
}

// Every pool says for itself why it does not take a pod, with its numbers.
func TestStep_EveryPoolHasItsOwnReasonWithNumbers(t *testing.T) {
	w := newWorld(t)
	w.objects.Pools = nil
	w.pool(cluster.Pool{Name: "full", Limits: []quantity.Amount{{Name: "nodes", Count: 0}}})
	w.pool(cluster.Pool{Name: "small", Requirements: require(t, label.InstanceType, label.In, "c5.large")})
	w.pool(cluster.Pool{Name: "kept", Taints: []cluster.Taint{{Key: "team", Value: "a", Effect: cluster.NoSchedule}}})
	w.pool(cluster.Pool{Name: "arm", Requirements: require(t, label.Arch, label.In, "arm64")})
	out := w.pods("web", 2, 3000).step()
	if len(out.Plan.Outcomes) != 1 {
		t.Fatalf("outcomes = %+v", out.Plan.Outcomes)
	}
	got := map[string]plan.Cause{}
	for _, r := range out.Plan.Outcomes[0].Reasons {
		got[r.Pool] = r.Cause
		switch {
		case r.Cause == plan.LimitReached && (r.Limit == nil || *r.Limit != (plan.Limit{Name: "nodes", Adds: r.Limit.Adds})),
			r.Cause == plan.TooLarge && (r.Types != 1 || r.Shortage == nil || *r.Shortage != (quantity.Shortage{Resource: quantity.CPU, Need: 3000, Free: 1900})),
			r.Cause == plan.UntoleratedTaint && (r.Taint == nil || r.Taint.Key != "team"):
			t.Errorf("without its numbers: %+v", r)
		}
	}
	want := map[string]plan.Cause{"full": plan.LimitReached, "small": plan.TooLarge, "kept": plan.UntoleratedTaint, "arm": plan.NoType}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("reasons %v, want %v", got, want)
	}
	w.objects.Pools = nil
	if r := w.step().Plan.Outcomes[0].Reasons; len(r) != 1 || r[0].Cause != plan.NoPool {
		t.Errorf("without a pool: %+v", r)
	}
}

// Room that is on its way is filled before anything is launched: what a bigger
// type than the cheapest leaves, too. Where a node has less room than was
// planned, what it lacks is planned again.
func TestStep_RoomOnItsWayIsFilledBeforeAnythingIsLaunched(t *testing.T) {
	w := newWorld(t).pods("web", 1, 1500)
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches)
	w.objects.Nodes = nil
	w.objects.Claims[0].Registered, w.objects.Claims[0].Node = false, ""
	big := w.objects.Classes[0].Types[1]
	w.objects.Claims[0].InstanceType, w.objects.Claims[0].Allocatable = big.Name, big.Allocatable
	if more := of[plan.Launch](w.pods("more", 2, 1000).step()); len(more) != 0 {
		t.Errorf("launched beside room that is coming: %+v", more)
	}
	w.objects.Claims[0].Allocatable.MilliCPU = 2500
	w.now = w.now.Add(2 * time.Second)
	if out := w.step(); launchedFor(out) != 1 {
		t.Errorf("launched for %d pods, want the one that has no room any more", launchedFor(out))
	}
}

// Memory may come from another clock, which changes nothing of what is decided
// for pods.
func TestStep_AClockThatGoesBackLosesNothing(t *testing.T) {
	w := newWorld(t).pods("web", 5, 900)
	w.objects.Workloads = []cluster.Workload{{
		UID: "u", Kind: "ReplicaSet", Namespace: "default", Name: "d", Missing: 2, Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: 900, PodSlots: 1}},
	}}
	w.running()
	w.now = w.now.Add(-1000 * time.Hour)
	w.pods("more", 5, 900)
	out := w.step()
	checkSound(t, w.objects, out)
	for _, o := range out.Plan.Outcomes {
		if o.On == "" {
			t.Errorf("after the clock went back: %s", o.Explain())
		}
	}
	if gone := of[plan.Delete](out); len(gone) != 0 {
		t.Errorf("after the clock went back: deletes %+v", gone)
	}
}

// Labels by the thousand slow nothing down to a stop, and select as few do.
func TestStep_TenThousandLabelsSelectLikeOne(t *testing.T) {
	many := map[string]string{}
	for i := range 10_000 {
		many[fmt.Sprint("example.com/k", i)] = "v"
	}
	w := newWorld(t).pool(cluster.Pool{Name: "labelled", Labels: label.FromMap(many)})
	w.pods("web", 3, 500, func(p *cluster.Pod) {
		p.Labels = label.FromMap(many)
		p.Shape.Selector = label.All(label.Is("example.com/k7777", "v"))
		p.Shape.PodAntiAffinity = []cluster.PodTerm{term(label.Hostname, 0, "web")}
		p.Shape.PodAntiAffinity[0].Selector = cluster.PodSelector{Match: label.All(label.Is("example.com/k9999", "v"))}
	})
	launches := of[plan.Launch](w.step())
	if len(launches) != 3 || launches[0].Pool != "labelled" {
		t.Errorf("%d launches, want one from the labelled pool for each pod", len(launches))
	}
}

func TestStep_AVolumeChoosesAmongTheValuesThatAPoolLeavesOpen(t *testing.T) {
	const rack = "example.com/rack"
	w := newWorld(t).pods("db", 1, 500, func(p *cluster.Pod) {
		p.Shape.Volumes = [][]label.Requirements{{require(t, rack, label.In, "two")}}
	})
	w.objects.Pools[0].Requirements = w.objects.Pools[0].Requirements.And(require(t, rack, label.In, "one", "two"))
	if out := w.step(); len(of[plan.Launch](out)) != 1 {
		t.Errorf("no node for the rack of the volume: %+v", out.Plan.Outcomes)
	}
}

// The scheduler knows a rule that keeps pods apart only on nodes that have its label.
func TestStep_NodesWithoutTheLabelOfAnAntiAffinityAreOutsideOfItsRule(t *testing.T) {
	const rack = "example.com/rack"
	apart := func(app string) func(*cluster.Pod) {
		return func(p *cluster.Pod) {
			p.Labels = label.FromMap(map[string]string{"app": app})
			p.Shape.PodAntiAffinity = []cluster.PodTerm{term(rack, 0, app)}
		}
	}
	in := func(w *world, values ...string) *world {
		w.objects.Pools[0].Requirements = w.objects.Pools[0].Requirements.And(require(t, rack, label.In, values...))
		return w
	}
	dear := cluster.Pool{Name: "dear", Requirements: label.All(label.Is(label.InstanceType, "c5.xlarge"))}
	for name, c := range map[string]struct {
		world       *world
		pods, racks int // that get a node, and that are on nodes with the label
	}{
		"no pool has it":                   {newWorld(t).pods("web", 3, 500, apart("web")), 3, 0},
		"the only pool has two":            {in(newWorld(t).pods("web", 3, 500, apart("web")), "one", "two"), 2, 2},
		"a dear pool lacks it, one pod":    {in(newWorld(t).pool(dear).pods("web", 1, 500, apart("web")), "one"), 1, 1},
		"a dear pool lacks it, three pods": {in(newWorld(t).pool(dear).pods("web", 3, 500, apart("web")), "one"), 3, 0},
	} {
		pods, racks := 0, 0
		for _, l := range of[plan.Launch](c.world.step()) {
			pods += len(l.Pods)
			if l.Pool != "dear" && name != "no pool has it" {
				racks += len(l.Pods)
			}
		}
		if pods != c.pods || racks != c.racks {
			t.Errorf("%s: %d pods get nodes, %d of them with the label, want %d and %d", name, pods, racks, c.pods, c.racks)
		}
	}
}
