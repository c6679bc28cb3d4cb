package engine_test

import (
	"fmt"
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

// report lets all nodes say what they have, and plans go by it.
func (s *smaller) report() {
	for i := range s.objects.Nodes {
		n := &s.objects.Nodes[i]
		name, _ := n.Labels.Get(label.InstanceType)
		for _, x := range s.listed {
			if x.Name == name {
				n.Allocatable = x.Allocatable.Sub(s.less)
				s.reports, _ = s.reports.With(catalog.Origin{Class: "default"}, name, n.Name, n.Allocatable, s.now)
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

// The world tells the case from one that plans by the catalogue: there, nodes are launched on
// and on.
func TestStep_WithoutReportsANodeIsLaunchedAgainAndAgain(t *testing.T) {
	s := &smaller{world: newWorld(t).pods("web", 1, 500, almostAll(quantity.Memory)), less: quantity.Resources{MemoryBytes: 20 << 20}, deaf: true}
	s.listed = s.objects.Classes[0].Types
	if launched, _ := s.play(120, 1); len(launched) < 10 {
		t.Errorf("%d launches: the other tests show nothing", len(launched))
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
