package forecast_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim/forecast"
)

func now() time.Time { return time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC) }

// typed is an instance type of so many vCPU, which costs a tenth of a dollar for each.
func typed(vcpu int64) catalog.InstanceType {
	name := fmt.Sprintf("m.%d", vcpu)
	has := quantity.Resources{MilliCPU: vcpu * 1000, MemoryBytes: vcpu << 32, PodSlots: 110}
	return catalog.InstanceType{
		Name: name, Capacity: has, Allocatable: has,
		Labels:    label.FromMap(map[string]string{label.InstanceType: name, label.Arch: "amd64", label.OS: "linux"}),
		Offerings: []catalog.Offering{{Zone: "a", CapacityType: label.OnDemand, Price: quantity.Money(vcpu * 100_000_000), Available: true}},
	}
}

// world has one pool and nodes of eight vCPU, each with so many pods of one vCPU.
func world(pods ...int) cluster.Objects {
	o := cluster.Objects{
		Classes: []cluster.Class{{Name: "default", Ready: true, Types: []catalog.InstanceType{typed(2), typed(4), typed(8)}}},
		Pools: []cluster.Pool{{
			Name: "general", UID: "pool", Class: "default", Ready: true, Requirements: label.All(label.Is(label.CapacityType, label.OnDemand)),
			Disruption: cluster.Disruption{Policy: cluster.WhenEmptyOrUnderutilized, Budgets: []cluster.Budget{{Most: 1}}},
		}},
		DaemonSets: []cluster.DaemonSet{{UID: "agent", Namespace: "kube-system", Name: "agent", Shape: cluster.Shape{
			Requests: quantity.Resources{MilliCPU: 100, MemoryBytes: 1 << 20, PodSlots: 1}, Tolerations: []cluster.Toleration{{Exists: true}},
		}}},
	}
	t := typed(8)
	for i, n := range pods {
		name := fmt.Sprint("n", i)
		labels := t.Labels.With(label.Zone, "a").With(label.CapacityType, label.OnDemand).With(label.NodePool, "general").With(label.Hostname, name)
		o.Nodes = append(o.Nodes, cluster.Node{Name: name, UID: name, Labels: labels, Allocatable: t.Allocatable, Ready: true, Claim: "c" + name, Created: now().Add(-time.Hour)})
		o.Claims = append(o.Claims, cluster.Claim{
			Name: "c" + name, UID: "c" + name, Pool: "general", Class: "default", Labels: labels, InstanceID: "i-" + name, InstanceType: t.Name, Zone: "a", CapacityType: label.OnDemand,
			Capacity: t.Capacity, Allocatable: t.Allocatable, Node: name, Launched: true, Registered: true, Initialized: true,
			Created: now().Add(-time.Hour), LaunchedAt: now().Add(-time.Hour), InitializedAt: now().Add(-time.Hour), LastPodEvent: now().Add(-time.Hour),
		})
		for k := range n {
			o.Pods = append(o.Pods, pod(fmt.Sprintf("p%d-%d", i, k), name))
		}
	}
	return o
}

func pod(name, node string) cluster.Pod {
	return cluster.Pod{
		UID: name, Namespace: "default", Name: name, Node: node, Created: now().Add(-time.Hour), Owner: cluster.Owner{Kind: "ReplicaSet", Name: "web", UID: "web"},
		Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: 1000, MemoryBytes: 1 << 30, PodSlots: 1}},
	}
}

func play(t *testing.T, o cluster.Objects, change func(*forecast.Question)) forecast.Answer {
	t.Helper()
	s, err := cluster.New(o)
	if err != nil {
		t.Fatal(err)
	}
	q := forecast.Question{Snapshot: s, Policy: engine.DefaultPolicy(), Now: now(), Seed: 1, For: time.Hour}
	if change != nil {
		change(&q)
	}
	a, err := forecast.Play(q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestPlay_WaitingPodsGetNodesAndRunThere(t *testing.T) {
	t.Parallel()
	o := world()
	for i := range 3 {
		o.Pods = append(o.Pods, pod(fmt.Sprint("w", i), ""))
	}
	a := play(t, o, nil)
	if len(a.Launches) != 1 || a.Launches[0].Type != "m.4" || a.Then.Pods != 3 || a.Then.Nodes != 1 || len(a.Waiting) > 0 || !a.Settled {
		t.Errorf("%+v", a)
	}
	if free := a.Then.Allocatable.MilliCPU - a.Then.Used.MilliCPU; free != 900 {
		t.Errorf("%d mCPU are free: the DaemonSet's pod has to count", free)
	}
}

func TestPlay_NodesGoOneByOneWhereTheBudgetSaysSoAndTheirPodsComeBack(t *testing.T) {
	t.Parallel()
	a := play(t, world(2, 2, 2), nil)
	if a.Now.Nodes != 3 || a.Then.Pods != 6 || a.Then.Audit.Cost >= a.Now.Audit.Cost || len(a.Removals) < 2 || a.Evicted < 4 {
		t.Fatalf("%+v", a)
	}
	if a.Removals[0].At == a.Removals[1].At || a.Removals[0].Why != plan.Underutilized || a.Removals[0].Price != 800_000_000 {
		t.Errorf("removals %+v", a.Removals)
	}
}

func TestPlay_APodWithoutAControllerIsLostAndNamed(t *testing.T) {
	t.Parallel()
	o := world(2, 1)
	for i := range o.Pods {
		o.Pods[i].Owner = cluster.Owner{}
	}
	a := play(t, o, nil)
	if len(a.Removals) == 0 || len(a.Lost) == 0 || a.Evicted != 0 || a.Then.Pods+int64(len(a.Lost)) != 3 {
		t.Errorf("%d pods run, %v are lost, %d come back; removals %+v", a.Then.Pods, a.Lost, a.Evicted, a.Removals)
	}
}

func TestPlay_WhatIsUnderWayIsDoneFirst(t *testing.T) {
	t.Parallel()
	o := world(2)
	o.Pods[0].Deleting, o.Pods[0].Returns = true, true
	o.Pods[1].Deleting = true
	o.Workloads = []cluster.Workload{{UID: "web", Kind: "ReplicaSet", Namespace: "default", Name: "web", Missing: 3, Shape: o.Pods[0].Shape}}
	gone := world(0, 0).Claims[1]
	gone.Deleting = true
	coming := cluster.Claim{Name: "coming", UID: "coming", Pool: "general", Class: "default", Created: now(), Requirements: label.All(label.Is(label.InstanceType, "m.2"))}
	o.Claims = append(o.Claims, gone, coming)
	o.Nodes = append(o.Nodes, world(0, 0).Nodes[1])
	a := play(t, o, nil)
	if a.Now.Nodes != 2 || a.Then.Pods != 4 {
		t.Errorf("%d nodes at first, %d pods in the end: want the node of m.8 and the one of m.2, and one pod that returns with three that are declared", a.Now.Nodes, a.Then.Pods)
	}
}

func TestPlay_FromScratchNoNodeOfAPoolIsThere(t *testing.T) {
	t.Parallel()
	a := play(t, world(3, 3), func(q *forecast.Question) { q.Scratch = true })
	if a.Now.Nodes != 2 || a.Now.Audit.Cost != 1_600_000_000 || a.Then.Pods != 6 || a.Then.Audit.Cost != 800_000_000 || len(a.Removals) > 0 {
		t.Errorf("%+v", a)
	}
}

func TestPlay_WhatHasNoPlaceIsNamed(t *testing.T) {
	t.Parallel()
	o := world(1)
	large := pod("large", "")
	large.Shape.Requests.MilliCPU = 50_000
	o.Pods = append(o.Pods, large)
	a := play(t, o, nil)
	if len(a.Waiting) != 1 || !slices.Equal(a.Waiting[0].Pods, []string{"default/large"}) || a.Waiting[0].Reasons[0].Cause != plan.TooLarge {
		t.Errorf("%+v", a.Waiting)
	}
}

func TestPlay_LeavesTheSnapshotAndGivesTheSameAnswer(t *testing.T) {
	t.Parallel()
	o := world(2, 3, 1, 1)
	s, err := cluster.New(o)
	if err != nil {
		t.Fatal(err)
	}
	before := s.Objects()
	q := forecast.Question{Snapshot: s, Policy: engine.DefaultPolicy(), Now: now(), Seed: 1, For: time.Hour}
	var answers [2]forecast.Answer
	for i := range answers {
		if answers[i], err = forecast.Play(q); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(answers[0], answers[1]) {
		t.Error("two answers differ")
	}
	if !reflect.DeepEqual(before, s.Objects()) {
		t.Error("the snapshot has changed")
	}
}

// A pod of another scheduler is placed by that one, and takes room as any other.
func TestPlay_PodsOfOtherSchedulersComeBackToo(t *testing.T) {
	t.Parallel()
	o := world(2, 1, 1)
	for i := range o.Pods {
		o.Pods[i].OtherScheduler = true
	}
	if a := play(t, o, nil); a.Then.Pods+int64(len(a.Waiting)) < 4 || len(a.Unsettled) > 0 || a.Then.Pods != 4 {
		t.Errorf("%d pods run, waiting %+v, unsettled %v", a.Then.Pods, a.Waiting, a.Unsettled)
	}
}

func TestPlay_ANodeThatHasJoinedGetsReady(t *testing.T) {
	t.Parallel()
	o := world(0)
	o.Nodes[0].Ready, o.Claims[0].Initialized = false, false
	o.Nodes[0].Taints = []cluster.Taint{{Key: "node.kubernetes.io/not-ready", Effect: cluster.NoSchedule}, engine.DefaultPolicy().StartupTaint}
	for i := range 6 {
		o.Pods = append(o.Pods, pod(fmt.Sprint("w", i), ""))
	}
	if a := play(t, o, nil); len(a.Launches) > 0 || a.Then.Pods != 6 {
		t.Errorf("%d launches, %d pods run", len(a.Launches), a.Then.Pods)
	}
}

func TestPlay_NodesOfStaticPoolsHaveTheirCost(t *testing.T) {
	t.Parallel()
	o := world(1, 0)
	o.Pools[0].Static, o.Pools[0].Replicas = true, 2
	if a := play(t, o, nil); a.Then.Nodes != 2 || a.Then.Static != 1_600_000_000 {
		t.Errorf("%+v", a.Then)
	}
}

func TestPlay_EndsWithItsTime(t *testing.T) {
	t.Parallel()
	a := play(t, world(1, 1, 1, 1, 1, 1), func(q *forecast.Question) { q.For = 2 * time.Second })
	if a.Settled || a.Played > 2*time.Second {
		t.Errorf("settled %v after %s", a.Settled, a.Played)
	}
}

// A node of eight vCPU whose pods need three is made anew as one of four, at half the price; pods
// that nothing creates anew get a place, too. Other nodes stay as they are, and other pods that wait
// do not count.
func TestRemade_GivesThePodsOfTheNamedNodesAPlaceAnew(t *testing.T) {
	t.Parallel()
	o := world(7, 2)
	lone := pod("lone", "n1")
	lone.Owner = cluster.Owner{}
	o.Pods = append(o.Pods, lone, pod("waits", ""))
	a := play(t, o, func(q *forecast.Question) { q.Remade, q.Policy.PauseDisruption = []string{"cn1"}, true })
	if a.Remade != 800_000_000 {
		t.Errorf("the node that was left out costs %s, want 0.8 dollars", a.Remade.Dollars())
	}
	if len(a.Launches) != 1 || a.Launches[0].Type != "m.4" || a.Launches[0].Price != 400_000_000 {
		t.Errorf("launches = %+v, want one m.4", a.Launches)
	}
	if len(a.Removals) > 0 || len(a.Waiting) > 0 || len(a.Lost) > 0 || a.Then.Pods != 10 {
		t.Errorf("removals %v, waiting %v, lost %v, %d pods run; want the 10 pods to run and nothing else", a.Removals, a.Waiting, a.Lost, a.Then.Pods)
	}
}

func TestPlay_IsAskedBeforeEachPlanWhetherItShallStop(t *testing.T) {
	t.Parallel()
	whole, plans := play(t, world(2, 2, 2), nil), 0
	counted := play(t, world(2, 2, 2), func(q *forecast.Question) { q.Stop = func() error { plans++; return nil } })
	if plans != whole.Steps || !reflect.DeepEqual(counted, whole) {
		t.Errorf("asked %d times, and %d plans", plans, whole.Steps)
	}
	s, err := cluster.New(world(2, 2, 2))
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	plans = 0
	_, err = forecast.Play(forecast.Question{Snapshot: s, Policy: engine.DefaultPolicy(), Now: now(), Seed: 1, For: time.Hour, Stop: func() error {
		if plans++; plans == 3 {
			return enough
		}
		return nil
	}})
	if !errors.Is(err, enough) || plans != 3 {
		t.Errorf("after %d plans: %v", plans, err)
	}
}

// A node on its way was launched for pods that wait: it is no room for others.
func TestRemade_ANodeOnItsWayIsNoRoom(t *testing.T) {
	t.Parallel()
	o := world(7, 2)
	o.Claims = append(o.Claims, cluster.Claim{
		Name: "coming", UID: "coming", Pool: "general", Class: "default", Labels: o.Claims[0].Labels, InstanceID: "i-coming", InstanceType: "m.8", Zone: "a", CapacityType: label.OnDemand,
		Capacity: typed(8).Capacity, Allocatable: typed(8).Allocatable, Launched: true, Created: now(), LaunchedAt: now(),
	})
	a := play(t, o, func(q *forecast.Question) { q.Remade, q.Policy.PauseDisruption = []string{"cn1"}, true })
	if len(a.Launches) != 1 || a.Launches[0].Type != "m.4" || a.Then.Nodes != 2 {
		t.Errorf("launches = %+v, %d nodes", a.Launches, a.Then.Nodes)
	}
}

func TestRunning_IsAboutThePodsThatRun(t *testing.T) {
	t.Parallel()
	o := world(7)
	o.Pods = append(o.Pods, pod("w1", ""), pod("w2", ""))
	a := play(t, o, func(q *forecast.Question) { q.Running = true })
	if len(a.Launches) > 0 || a.Then.Pods != 7 || len(a.Waiting) > 0 || a.Now.Audit.Proof.Bound > a.Now.Audit.Total() {
		t.Errorf("%+v", a)
	}
}

func TestPlay_ThatNodesExpireLaterIsNothingToWaitFor(t *testing.T) {
	t.Parallel()
	o := world(8)
	o.Claims[0].ExpiresAt = now().Add(720 * time.Hour)
	if a := play(t, o, nil); !a.Settled || len(a.Removals) > 0 {
		t.Errorf("settled %v, %d removals", a.Settled, len(a.Removals))
	}
}

// A pod that waits is no pod of the fleet that is there.
func TestPlay_TheBoundOfAFleetIsForThePodsThatRun(t *testing.T) {
	t.Parallel()
	o := world(3)
	alone := play(t, o, nil).Now
	for i := range 20 {
		o.Pods = append(o.Pods, pod(fmt.Sprint("w", i), ""))
	}
	a := play(t, o, nil)
	if a.Now.Audit.Proof.Bound != alone.Audit.Proof.Bound || a.Now.Waiting != 20 || a.Now.Pods != 3 {
		t.Errorf("%d pods run and %d wait, bound %s, without the ones that wait %s", a.Now.Pods, a.Now.Waiting, a.Now.Audit.Proof.Bound.Dollars(), alone.Audit.Proof.Bound.Dollars())
	}
	if a.Then.Audit.Proof.Bound <= a.Now.Audit.Proof.Bound || a.Then.Waiting != 0 || a.Then.Pods != 23 {
		t.Errorf("then %+v", a.Then)
	}
}
