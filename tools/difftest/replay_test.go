package difftest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

const (
	replays, sharedReplays = 150, 600
	// stuck is in how many worlds with shared spreads the scheduler refuses a pod for
	// good: a gap that is known, and must not grow. Pods of several classes that must
	// share a node each start one; pods that a spread counts go to nodes which run
	// where they keep off others that are planned there at the same time; and spread
	// pods that are in several classes, by their volumes or by the nodes that count
	// for them, go round in circles. Without the default node cost, which makes nodes
	// fewer, it is one less.
	stuck = 15
)

// TestReplay_PlansWhatTheKubeSchedulerAccepts carries plans out: launches become
// nodes, each of one of the types and zones that it may become, and the pods are
// bound where the plan wants them, in a random order. As the scheduler does, pods
// that are refused are tried again after others: in the end all must have been
// accepted.
func TestReplay_PlansWhatTheKubeSchedulerAccepts(t *testing.T) {
	replay(t, replays, false, 0)
}

// Spreads of several Deployments may count each other's pods.
func TestReplay_SharedSpreadsAreRefusedInFewWorlds(t *testing.T) {
	replay(t, sharedReplays, true, stuck)
}

// replay carries out the plans of so many worlds. In no more than so many of them the
// scheduler may refuse a pod for good.
func replay(t *testing.T, replays int, shared bool, stuck int) {
	t.Helper()
	worlds := make([]*world, replays)
	for i := range worlds {
		worlds[i] = randomDemand(uint64(30_000+i), shared)
	}
	s := newScheduler(t, worlds, filters()...)
	var pods, onNodes, onLaunches int
	var refused []string
	for i, w := range worlds {
		o := w.objects(t)
		supply(&o)
		snapshot, err := cluster.New(o)
		if err != nil {
			t.Fatal(err)
		}
		out := engine.Step(engine.Input{Snapshot: snapshot, Policy: engine.DefaultPolicy(), Now: time.Unix(1_800_000_000, 0), Seed: uint64(i)})
		wanted := map[string]string{}
		for _, x := range out.Plan.Outcomes {
			for _, id := range x.Pods {
				pods++
				switch x.Verdict {
				case plan.OnNode:
					onNodes++
					wanted[id] = x.On
				case plan.OnLaunch:
					onLaunches++
					wanted[id] = x.On
				case plan.OnClaim:
					t.Fatalf("world %d: pod %s is on a NodeClaim, and there is none", i, id)
				case plan.Unplaceable, plan.Waiting, plan.AwaitsNodes, plan.Preempting:
				}
			}
		}
		d := newDice(uint64(i))
		var coming []*corev1.Node
		for _, a := range out.Plan.Actions {
			if l, ok := a.(plan.Launch); ok {
				coming = append(coming, launchedNode(t, d, l, o.Classes[0]))
			}
		}
		if left := s.carryOut(t, d, w, coming, wanted); len(left) > 0 {
			refused = append(refused, fmt.Sprintf("world %d: the scheduler never accepts %v", i, left))
		}
	}
	if len(refused) > stuck {
		t.Errorf("pods are refused in %d of %d worlds:\n%s", len(refused), replays, strings.Join(refused, "\n"))
	}
	t.Logf("%d pods: %d placed on nodes, %d on launches, %d nowhere", pods, onNodes, onLaunches, pods-onNodes-onLaunches)
	if min(onNodes, onLaunches) < pods/5 {
		t.Errorf("%d pods: %d placed on nodes, %d on launches: each should be a fifth at least", pods, onNodes, onLaunches)
	}
}

// carryOut binds the pods where they are wanted, in a random order: first to nodes
// that are there, then to those to come. It returns why the scheduler refuses the
// rest.
func (s *scheduler) carryOut(t *testing.T, d dice, w *world, coming []*corev1.Node, wanted map[string]string) []string {
	t.Helper()
	x := w.copied()
	d.Shuffle(len(x.pods), func(i, j int) { x.pods[i], x.pods[j] = x.pods[j], x.pods[i] })
	x.runAgents(x.nodes)
	s.bindAll(t, x, wanted)
	x.nodes = append(slices.Clone(x.nodes), coming...)
	x.runAgents(coming)
	return s.bindAll(t, x, wanted)
}

// agent is a DaemonSet that runs on every node.
func agent() cluster.DaemonSet {
	return cluster.DaemonSet{Namespace: "one", Name: "agent", UID: "agent", Shape: cluster.Shape{
		Requests: quantity.Resources{MilliCPU: 50, MemoryBytes: 64 << 20, PodSlots: 1}, Tolerations: []cluster.Toleration{{Exists: true}},
	}}
}

// runAgents starts the DaemonSet's pods on the nodes.
func (w *world) runAgents(nodes []*corev1.Node) {
	for _, n := range nodes {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "agent-" + n.Name, UID: types.UID("agent-" + n.Name)}}
		p.Spec.NodeName = n.Name
		p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
		}}}}
		w.pods = append(w.pods, p)
	}
}

// bindAll binds pods where they are wanted for as long as the scheduler accepts
// any, and returns why it refuses the rest.
func (s *scheduler) bindAll(t *testing.T, w *world, wanted map[string]string) []string {
	t.Helper()
	for {
		var refused []string
		progress := false
		for _, p := range w.pending() {
			node, ok := wanted[p.Namespace+"/"+p.Name]
			if !ok {
				continue
			}
			k := slices.IndexFunc(w.nodes, func(n *corev1.Node) bool { return n.Name == node })
			if k < 0 {
				refused = append(refused, p.Name+": no node "+node)
				continue
			}
			s.see(w)
			if why := s.verdicts(t, w, p)[k]; why != "" {
				refused = append(refused, fmt.Sprintf("%s on %s: %s", p.Name, node, why))
				continue
			}
			p.Spec.NodeName = node
			progress = true
		}
		if !progress {
			return refused
		}
	}
}

// supply adds what nodes can be made of: two pools of one class.
func supply(o *cluster.Objects) {
	var list []catalog.InstanceType
	for _, arch := range []string{"amd64", "arm64"} {
		for _, size := range []int64{2, 4, 8, 16} {
			name := fmt.Sprintf("%s.%d", arch, size)
			t := catalog.InstanceType{
				Name: name,
				Labels: label.FromMap(map[string]string{
					label.InstanceType: name, label.Arch: arch, label.OS: "linux", cores: fmt.Sprint(size),
				}),
				Capacity: quantity.Resources{MilliCPU: size * 1000, MemoryBytes: size << 31, EphemeralBytes: 20 << 30, PodSlots: 4 + size},
			}
			if size == 8 {
				t.Capacity = t.Capacity.Extend(gpu, 4)
			}
			t.Allocatable = t.Capacity.Sub(quantity.Resources{MilliCPU: 100, MemoryBytes: 300 << 20})
			for _, zone := range []string{"a", "b", "c"} {
				t.Offerings = append(t.Offerings, catalog.Offering{
					Zone: zone, CapacityType: label.OnDemand, Price: quantity.Money(size * 40_000_000), Available: zone != "c" || size < 16,
				})
			}
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b catalog.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	o.DaemonSets = []cluster.DaemonSet{agent()}
	o.Classes = []cluster.Class{{Name: "default", Ready: true, Types: list}}
	o.Pools = []cluster.Pool{
		{Name: "general", UID: "g", Class: "default", Ready: true, Labels: label.FromMap(map[string]string{rack: "r1"})},
		{
			Name: "dedicated", UID: "d", Class: "default", Ready: true, Weight: 5, Labels: label.FromMap(map[string]string{rack: "r2"}),
			Taints: []cluster.Taint{{Key: "dedicated", Value: "a", Effect: cluster.NoSchedule}},
		},
	}
}

// launchedNode is one of the nodes that the launch may become.
func launchedNode(t *testing.T, d dice, l plan.Launch, class cluster.Class) *corev1.Node {
	t.Helper()
	var choices []cluster.Node
	for _, c := range l.Types {
		i := slices.IndexFunc(class.Types, func(x catalog.InstanceType) bool { return x.Name == c.Type })
		for _, o := range class.Types[i].Offerings {
			if o.Available && o.CapacityType == l.CapacityType && slices.Contains(l.Zones, o.Zone) {
				choices = append(choices, cluster.Node{
					Labels:      l.Labels.Merge(class.Types[i].Labels).With(label.Zone, o.Zone).With(legacyZone, o.Zone),
					Allocatable: class.Types[i].Allocatable,
				})
			}
		}
	}
	if len(choices) == 0 {
		t.Fatalf("launch %s can become nothing: %+v", l.Name, l)
	}
	chosen := one(d, choices...)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: l.Name, Labels: chosen.Labels.With(label.Hostname, l.Name).Map()}}
	n.Spec.Taints = translate.APITaints(l.Taints)
	n.Status.Allocatable = translate.ResourceList(chosen.Allocatable)
	return n
}
