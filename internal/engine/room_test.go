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

// runningNode adds a node of nobody's NodeClaim that is ready.
func (w *world) runningNode(name string, vcpu, gib, devices int64) *world {
	room := quantity.Resources{MilliCPU: vcpu * 1000, MemoryBytes: gib << 30, PodSlots: 30}
	if devices > 0 {
		room = room.Extend(gpu, devices)
	}
	w.objects.Nodes = append(w.objects.Nodes, cluster.Node{
		Name: name, UID: "uid-" + name, Ready: true, Allocatable: room, Created: start,
		Labels: label.FromMap(map[string]string{label.Hostname: name, label.Zone: "a", label.Arch: "amd64", label.OS: "linux"}),
	})
	return w
}

// gpuType adds a type to the class, with so many GPUs.
func (w *world) gpuType(name string, vcpu, gib, devices int64, price quantity.Money) *world {
	t := instanceType(name, vcpu, gib, price)
	if devices > 0 {
		t.Capacity, t.Allocatable = t.Capacity.Extend(gpu, devices), t.Allocatable.Extend(gpu, devices)
	}
	types := &w.objects.Classes[0].Types
	*types = append(*types, t)
	slices.SortFunc(*types, func(a, b catalog.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return w
}

func ofMemory(gib int64) func(*cluster.Pod) {
	return func(p *cluster.Pod) { p.Shape.Requests.MemoryBytes = gib << 30 }
}

func asksGPUs(n int64) func(*cluster.Pod) {
	return func(p *cluster.Pod) { p.Shape.Requests = p.Shape.Requests.Extend(gpu, n) }
}

// on says where the pods of the name have a place.
func on(out engine.Output, pod string) string {
	for _, o := range out.Plan.Outcomes {
		for _, p := range o.Pods {
			if p == "default/"+pod {
				return o.On
			}
		}
	}
	return ""
}

func TestStep_APodWithoutGPUTakesNoNodeWithOneFromAPodThatNeedsIt(t *testing.T) {
	w := newWorld(t).gpuType("g4dn.xlarge", 4, 16, 1, 526_000_000).runningNode("g", 4, 8, 1).runningNode("m", 8, 16, 0)
	w.pods("plain", 1, 4000, ofMemory(1)).pods("train", 1, 4000, ofMemory(2), asksGPUs(1))
	out := w.step()
	if n := len(of[plan.Launch](out)); n != 0 || on(out, "train-00") != "g" || on(out, "plain-00") != "m" {
		t.Errorf("%d launches; train on %q, plain on %q", n, on(out, "train-00"), on(out, "plain-00"))
	}
}

// What comes later may need the GPU.
func TestStep_APodWithoutGPUTakesANodeWithoutFirst(t *testing.T) {
	w := newWorld(t).runningNode("g", 4, 8, 1).runningNode("m", 8, 16, 0).pods("plain", 1, 4000)
	if out := w.step(); on(out, "plain-00") != "m" {
		t.Errorf("plain on %q", on(out, "plain-00"))
	}
	w = newWorld(t).runningNode("g", 4, 8, 1).pods("plain", 1, 4000)
	if out := w.step(); on(out, "plain-00") != "g" {
		t.Errorf("with no other node: plain on %q", on(out, "plain-00"))
	}
}

func TestStep_LargePodsTakeRoomBeforeSmallOnes(t *testing.T) {
	w := newWorld(t).runningNode("m", 4, 16, 0).pods("small", 4, 500).pods("large", 1, 4000)
	out := w.step()
	if on(out, "large-00") != "m" {
		t.Errorf("large on %q", on(out, "large-00"))
	}
}

// The scheduler places pods that it has not tried yet on free room at once.
func TestStep_PodsThatTheSchedulerHasNotTriedTakeTheFreeRoomThatItWillGiveThem(t *testing.T) {
	w := newWorld(t).runningNode("m", 4, 16, 0).pods("tried", 1, 4000).
		pods("fresh", 2, 1500, func(p *cluster.Pod) { p.Unschedulable = false })
	out := w.step()
	if on(out, "fresh-00") != "m" || on(out, "fresh-01") != "m" || on(out, "tried-00") == "m" {
		t.Errorf("fresh on %q and %q, tried on %q", on(out, "fresh-00"), on(out, "fresh-01"), on(out, "tried-00"))
	}
}

func TestStep_APromiseToPodsOfLowPriorityGivesWayWhereLimitsLeaveNoOtherRoom(t *testing.T) {
	w := newWorld(t)
	w.objects.Pools[0].Limits = []quantity.Amount{{Name: "nodes", Count: 1}}
	w.pods("low", 3, 1000)
	w.order(of[plan.Launch](w.step()))
	w.pods("high", 1, 2000, func(p *cluster.Pod) { p.Shape.Priority = 1000 })
	out := w.step()
	if on(out, "high-00") == "" {
		t.Errorf("the pod of high priority has no place: %+v", out.Plan.Outcomes)
	}
}

func TestStep_APodOfHighPriorityGivesUpAPreferenceBeforeOthersTakeTheLastRoom(t *testing.T) {
	w := newWorld(t)
	w.objects.Pools[0].Limits = []quantity.Amount{{Name: "nodes", Count: 1}}
	w.pods("high", 1, 3000, func(p *cluster.Pod) {
		p.Shape.Priority = 1000
		p.Shape.Preferred = []cluster.Preference{{Weight: 1, Node: require(t, "disk", label.In, "ssd")}}
	}).pods("low", 3, 1000)
	out := w.step()
	if on(out, "high-00") == "" {
		t.Errorf("the pod of high priority has no place: %+v", out.Plan.Outcomes)
	}
}

func TestStep_PodsOnTheirWayChangePlacesOnlyIfThatCostsLess(t *testing.T) {
	w := newWorld(t)
	w.policy.SoftMaxMilliCPU = 0
	w.objects.Classes[0].Types = w.objects.Classes[0].Types[:0]
	w.gpuType("c5.48xlarge", 192, 384, 0, 8_160_000_000).gpuType("p4d.48xlarge", 192, 768, 8, 22_000_000_000)
	w.pods("train", 2, 20_000, asksGPUs(4))
	first := of[plan.Launch](w.step())
	if len(first) != 1 {
		t.Fatalf("%d launches for two pods that share a node", len(first))
	}
	w.order(first)
	w.now = w.now.Add(2 * time.Second)
	w.pods("wide", 1, 180_000, func(p *cluster.Pod) { p.Created = w.now })
	out := w.step()
	launches := of[plan.Launch](out)
	if len(launches) != 1 || launches[0].Types[0].Type != "c5.48xlarge" || on(out, "train-00") != first[0].Name {
		t.Errorf("launches %+v; train on %q", launches, on(out, "train-00"))
	}
}

func TestStep_ADeclaredPodWaitsOnlyForANodeThatHoldsIt(t *testing.T) {
	w := newWorld(t).pods("web", 2, 2500).declares("more", 2, 100, 64)
	launches := of[plan.Launch](w.step())
	if len(launches) != 2 {
		t.Fatalf("%d launches for two pods that do not share a node", len(launches))
	}
	w.order(launches).bringUp(launches).after(time.Second).declares("late", 1, 2500, 64)
	w.step()
	if n := len(of[plan.Launch](w.after(2 * time.Second).step())); n == 0 && len(w.step().Plan.Proofs) == 0 {
		t.Errorf("nothing is launched for a declared pod of 2.5 cpu; two nodes have 1.4 each: %+v", w.step().Plan)
	}
}
