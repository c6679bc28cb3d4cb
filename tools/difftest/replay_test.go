package difftest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

const (
	replays = 150
	orders  = 30
)

// TestReplay_PlansWhatTheKubeSchedulerAccepts carries plans out: launches become
// nodes, each of one of the types and zones that it may become, and the pods are
// bound where the plan wants them. As the scheduler does, pods that are refused
// are tried again after others: in the end all must have been accepted.
func TestReplay_PlansWhatTheKubeSchedulerAccepts(t *testing.T) {
	worlds := make([]*world, replays)
	for i := range worlds {
		worlds[i] = randomDemand(uint64(30_000 + i))
	}
	s := newScheduler(t, worlds, filters()...)
	var pods, onNodes, onLaunches int
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
				case plan.Unplaceable, plan.Waiting, plan.AwaitsNodes:
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
			t.Errorf("world %d: the scheduler never accepts %v", i, left)
		}
	}
	t.Logf("%d pods: %d placed on nodes, %d on launches, %d nowhere", pods, onNodes, onLaunches, pods-onNodes-onLaunches)
	if min(onNodes, onLaunches) < pods/5 {
		t.Errorf("%d pods: %d placed on nodes, %d on launches: each should be a fifth at least", pods, onNodes, onLaunches)
	}
}

// carryOut binds the pods where they are wanted: first to nodes that are there,
// then to those to come. It tries several orders of the pods, and returns why
// the scheduler refuses the rest in the best.
func (s *scheduler) carryOut(t *testing.T, d dice, w *world, coming []*corev1.Node, wanted map[string]string) []string {
	t.Helper()
	var best []string
	for try := range orders {
		x := w.copied()
		if try > 0 {
			d.Shuffle(len(x.pods), func(i, j int) { x.pods[i], x.pods[j] = x.pods[j], x.pods[i] })
		}
		s.bindAll(t, x, wanted)
		x.nodes = append(slices.Clone(x.nodes), coming...)
		left := s.bindAll(t, x, wanted)
		if try == 0 || len(left) < len(best) {
			best = left
		}
		if len(best) == 0 {
			break
		}
	}
	return best
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
