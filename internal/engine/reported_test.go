package engine_test

import (
	"fmt"
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

// smaller is a world whose nodes have less for pods than the catalogue says.
type smaller struct {
	*world
	less    quantity.Resources
	listed  []catalog.InstanceType
	reports catalog.Reports
	deaf    bool // nothing is learned of what nodes report
}

// report lets all nodes say what they have, and plans count on it.
func (s *smaller) report() {
	for i := range s.objects.Nodes {
		n := &s.objects.Nodes[i]
		name, _ := n.Labels.Get(label.InstanceType)
		for _, x := range s.listed {
			if x.Name == name {
				n.Allocatable = x.Allocatable.Sub(s.less)
				of := catalog.Origin{Class: "default"}
				s.reports, _ = s.reports.With(of, name, n.Name, n.Allocatable, s.now)
				s.reports, _ = s.reports.WithDevices(of, name, catalog.Machine{Node: n.Name, Joined: n.Created, Has: n.Allocatable, Listed: x.Allocatable}, s.now)
			}
		}
	}
	if !s.deaf {
		s.objects.Classes[0].Types = catalog.AsReported(s.listed, s.reports.Of("default", "", []string{""}, s.now))
	}
}

// play lets time go by, in steps of 10 s; new nodes come up after so many steps. It returns
// what was launched, and how many nodes there were at most.
func (s *smaller) play(steps, boot int) (launched []string, most int) {
	s.t.Helper()
	var ordered []plan.Launch
	for i := range steps {
		out := s.step()
		for _, a := range of[plan.Nominate](out) {
			for _, p := range s.objects.Pods {
				if n, _ := s.nodeNamed(a.Node); p.ID() == a.Pod && !p.Shape.Requests.Fits(n.Allocatable) {
					s.t.Errorf("pod %s is nominated for node %s, which has %s", a.Pod, a.Node, n.Allocatable)
				}
			}
		}
		l := of[plan.Launch](out)
		launched = append(launched, typed(l)...)
		s.order(l).carry(out.Plan.Actions).open(out.Plan.Actions)
		if ordered = append(ordered, l...); i%boot == boot-1 {
			s.bringUp(ordered)
			ordered = nil
		}
		s.report()
		for i := range s.objects.Claims { // the daemon initializes no node without its devices
			c := &s.objects.Claims[i]
			n, up := s.nodeNamed(c.Node)
			c.Initialized = c.Initialized && !(up && slices.ContainsFunc(c.Requests.Extended, func(a quantity.Amount) bool { return n.Allocatable.Get(a.Name) == 0 }))
		}
		most = max(most, len(s.objects.Claims))
		s.now = s.now.Add(10 * time.Second)
	}
	return launched, most
}

// almostAll makes one pod that needs all that the catalogue says of c5.large of a resource.
func almostAll(resource string) func(*cluster.Pod) {
	return func(p *cluster.Pod) {
		p.Shape.Requests = p.Shape.Requests.With(resource, instanceType("c5.large", 2, 4, 1).Allocatable.Get(resource))
	}
}

// One pod fits on c5.large by what the catalogue says, and not by what its nodes have.
func TestStep_AtMostOneNodeOfATypeComesInVainWhereNodesAreSmaller(t *testing.T) {
	for resource, less := range map[string]quantity.Resources{
		quantity.CPU: {MilliCPU: 1}, quantity.Memory: {MemoryBytes: 20 << 20}, quantity.EphemeralStorage: {EphemeralBytes: 20 << 20},
	} {
		for _, boot := range []int{1, 6} {
			s := &smaller{world: newWorld(t).pods("web", 1, 500, almostAll(resource)), less: less}
			s.listed = s.objects.Classes[0].Types
			s.objects.Pools[0].Disruption = saving()
			launched, most := s.play(60, boot)
			s.memory = engine.Memory{} // the daemon starts anew
			more, _ := s.play(60, boot)
			launched = append(launched, more...)
			// The disks of all three types are too small, and c5.large alone is otherwise.
			want, left := 2, 1
			if resource == quantity.EphemeralStorage {
				want, left = 3, 0
			}
			if len(launched) != want || most > want {
				t.Errorf("%s, boot %d: %d launches (%v), %d nodes at once", resource, boot, len(launched), launched, most)
			}
			if p := s.objects.Pods[0]; (p.Node != "") != (left == 1) || p.Nominated != "" {
				t.Errorf("%s: the pod is on %q, nominated for %q", resource, p.Node, p.Nominated)
			}
			if n := len(s.objects.Nodes); n != left {
				t.Errorf("%s: %d nodes are left, want %d: %v", resource, n, left, s.objects.Nodes)
			}
		}
	}
}

// What a node has when it is up is known without a report: pods for which it is too small get
// no other of its type for a while.
func TestStep_WithoutReportsEachTypeComesInVainOnceAnHour(t *testing.T) {
	for resource, less := range map[string]quantity.Resources{
		quantity.Memory: {MemoryBytes: 20 << 20}, quantity.EphemeralStorage: {EphemeralBytes: 20 << 20}, gpus: quantity.Resources{}.Extend(gpus, 1),
	} {
		s := &smaller{world: newWorld(t).pods("web", 1, 500, almostAll(resource)), less: less, deaf: true}
		want := 3
		switch resource {
		case quantity.Memory:
			want = 2 // the second is large enough
		case gpus:
			s.objects.Classes[0].Types = s.objects.Classes[0].Types[:1]
			s.objects.Classes[0].Types[0] = withGPUs(s.objects.Classes[0].Types[0], 8)
			s.objects.Pods[0].Shape.Requests = s.objects.Pods[0].Shape.Requests.Extend(gpus, 8)
			want = 2 // the first may be broken
		}
		s.listed = s.objects.Classes[0].Types
		s.objects.Pools[0].Disruption = saving()
		if launched, _ := s.play(6*55, 6); len(launched) != want {
			t.Errorf("%s: launched %v in less than an hour, want %d", resource, launched, want)
		}
		if want > 2 {
			if text := s.step().Plan.Outcomes[0].Explain(); !strings.Contains(text, "for pods than they need") || !strings.Contains(text, resource) {
				t.Error(text)
			}
		}
	}
}

// A node that lets fewer pods run is not in vain. The others find room elsewhere.
func TestStep_FewerPodsOnANodeAreLearnedFromTheFirst(t *testing.T) {
	s := &smaller{world: newWorld(t).pods("web", 90, 60), less: quantity.Resources{PodSlots: 10}}
	s.listed = s.objects.Classes[0].Types
	launched, _ := s.play(60, 1)
	if left := s.pending(); len(left) > 0 || len(launched) > 6 {
		t.Errorf("%d pods wait after %d launches", len(left), len(launched))
	}
}

func TestStep_TheReasonNamesTheNodeThatReportedLess(t *testing.T) {
	s := &smaller{world: newWorld(t).pods("web", 1, 500, almostAll(quantity.EphemeralStorage)), less: quantity.Resources{EphemeralBytes: 20 << 20}}
	s.listed = s.objects.Classes[0].Types
	s.play(30, 1)
	out := s.step()
	var told []string
	for _, o := range out.Plan.Outcomes {
		told = append(told, o.Explain())
	}
	if text := strings.Join(told, "; "); !strings.Contains(text, "lacks ephemeral-storage") || !strings.Contains(text, "of ephemeral-storage for pods, where the catalogue says") || !strings.Contains(text, "node node-") {
		t.Error(text)
	}
	for i := range s.objects.Pods {
		s.objects.Pods[i].Shape.Requests.EphemeralBytes = 100 << 30 // more than the catalogue has, too
	}
	if text := fmt.Sprint(s.step().Plan.Outcomes[0].Explain()); strings.Contains(text, "catalogue") {
		t.Errorf("a report is blamed for a pod that never fitted: %s", text)
	}
}

// The kubelet of a starting node reports its disk later than the rest.
func TestStep_ADiskThatIsReportedLateIsWaitedFor(t *testing.T) {
	w := newWorld(t).pods("web", 1, 500, almostAll(quantity.EphemeralStorage))
	l := of[plan.Launch](w.step())
	w.order(l).bringUp(l)
	n := &w.objects.Nodes[0]
	n.Ready, n.Allocatable.EphemeralBytes = false, 0
	if again := of[plan.Launch](w.step()); len(l) != 1 || len(again) > 0 {
		t.Errorf("launched %v, and then %v", typed(l), typed(again))
	}
}

// A device may be broken on one machine. Where a second one has too few as well, all have.
func TestStep_AtMostTwoNodesComeInVainForDevicesThatNodesDoNotHave(t *testing.T) {
	for name, c := range map[string]struct {
		has  int64
		boot int
	}{
		"one is missing":             {7, 1},
		"one is missing, slow nodes": {7, 6},
		"all are missing":            {0, 6},
	} {
		s := &smaller{world: newWorld(t).pods("gpu", 1, 500, askGPUs(8)), less: quantity.Resources{}.Extend(gpus, 8-c.has)}
		s.objects.Classes[0].Types = s.objects.Classes[0].Types[:1]
		s.objects.Classes[0].Types[0] = withGPUs(s.objects.Classes[0].Types[0], 8)
		s.listed = s.objects.Classes[0].Types
		s.objects.Pools[0].Disruption = saving()
		launched, most := s.play(6*90, c.boot) // an hour and a half
		s.memory = engine.Memory{}             // the daemon starts anew
		more, _ := s.play(6*90, c.boot)
		if n := len(launched) + len(more); n != 2 || most > 2 {
			t.Errorf("%s: %d launches, %d nodes at once", name, n, most)
		}
		if out := s.step(); !strings.Contains(out.Plan.Outcomes[0].Explain(), "lacks "+gpus) {
			t.Errorf("%s: %s", name, out.Plan.Outcomes[0].Explain())
		}
	}
}

// The same nodes are good for pods that need what they have.
func TestStep_NodesWithFewerDevicesServePodsThatNeedNoMore(t *testing.T) {
	s := &smaller{world: newWorld(t).pods("large", 1, 500, askGPUs(8)), less: quantity.Resources{}.Extend(gpus, 1)}
	s.objects.Classes[0].Types = s.objects.Classes[0].Types[:1]
	s.objects.Classes[0].Types[0] = withGPUs(s.objects.Classes[0].Types[0], 8)
	s.listed = s.objects.Classes[0].Types
	s.play(60, 1)
	s.pods("small", 2, 500, askGPUs(4))
	launched, _ := s.play(60, 1)
	if left := s.pending(); len(launched) > 2 || len(left) != 1 {
		t.Errorf("launched %v, pending %v", launched, left)
	}
}
