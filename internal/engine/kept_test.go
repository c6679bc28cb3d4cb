package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// declares adds a controller whose pods do not exist yet.
func (w *world) declares(name string, missing, milliCPU, mib int64) *world {
	w.objects.Workloads = append(w.objects.Workloads, cluster.Workload{
		UID: "uid-" + name, Kind: "ReplicaSet", Namespace: "default", Name: name, Missing: missing,
		Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: milliCPU, MemoryBytes: mib << 20, PodSlots: 1}},
	})
	return w
}

// creates lets the controller create n of its pods.
func (w *world) creates(name string, n int64) *world {
	for i := range w.objects.Workloads {
		x := &w.objects.Workloads[i]
		if x.Name != name {
			continue
		}
		for k := range n {
			pod := fmt.Sprintf("%s-%03d", name, x.Missing-k)
			w.objects.Pods = append(w.objects.Pods, cluster.Pod{
				Namespace: "default", Name: pod, UID: "uid-" + pod, Shape: x.Shape, Created: w.now, Unschedulable: true,
			})
		}
		if x.Missing -= n; x.Missing == 0 {
			w.objects.Workloads = append(w.objects.Workloads[:i:i], w.objects.Workloads[i+1:]...)
		}
		return w
	}
	w.t.Fatalf("no controller %s", name)
	return w
}

func (w *world) after(d time.Duration) *world {
	w.now = w.now.Add(d)
	return w
}

func TestStep_AControllerThatIsDoneIsProgressForThoseBehindIt(t *testing.T) {
	w := newWorld(t).declares("first", 1, 100, 64).declares("second", 3, 100, 64)
	w.step()
	w.after(29*time.Second).creates("first", 1).step()
	if got := w.after(29 * time.Second).step().Trace.Declared; got != 3 {
		t.Errorf("29 s after the first controller was done %d replicas of the second count, want 3", got)
	}
	if got := w.after(time.Second).step().Trace.Declared; got != 0 {
		t.Errorf("without progress for 30 s %d replicas count, want none", got)
	}
}

func TestStep_ANodeIsKeptWhileControllersMakeProgressButNotWithoutEnd(t *testing.T) {
	w := newWorld(t).declares("web", 2, 300, 64).declares("other", 100, 10, 16)
	launches := of[plan.Launch](w.step())
	w.creates("web", 1).order(launches).bringUp(launches)
	for s := range 30 {
		if got := of[plan.Release](w.step()); len(got) != 0 {
			t.Fatalf("after %d s, while pods are created: %+v", s, got)
		}
		w.after(time.Second).creates("other", 1)
		w.objects.Pods = w.objects.Pods[:1] // the others run elsewhere
	}
	if got := of[plan.Release](w.step()); len(got) == 0 {
		t.Error("a pod waits for ever for others to be created")
	}
}

// lastPods is a fleet planned for pods that exist and pods that do not, all up.
func lastPods(w *world, create map[string]int64) *world {
	w.t.Helper()
	launches := of[plan.Launch](w.step())
	w.after(40 * time.Second).order(launches).bringUp(launches)
	for name, n := range create {
		w.creates(name, n)
	}
	return w
}

func TestStep_PodsThatExistOpenNodesThatTheyFillAndTheRestStillFits(t *testing.T) {
	w := lastPods(newWorld(t).declares("early", 12, 900, 700).declares("late", 12, 900, 720), map[string]int64{"early": 12})
	nodes := len(w.objects.Nodes)
	w.memory = w.memoryAfterProgress()
	out := w.step()
	opened, pods := of[plan.Release](out), int64(0)
	for _, r := range opened {
		pods += r.Planned
	}
	if len(opened) == 0 || len(opened) == nodes || pods != 12 {
		t.Errorf("%d of %d nodes open for %d of 12 pods", len(opened), nodes, pods)
	}
	w.open(out.Plan.Actions).after(time.Second).creates("late", 12)
	for range 3 {
		out = w.step()
		if more := of[plan.Launch](out); len(more) > 0 {
			t.Fatalf("pods that were planned find no room: %+v", more)
		}
		w.open(out.Plan.Actions).after(time.Second)
	}
	for _, p := range w.objects.Pods {
		if p.Node == "" {
			t.Errorf("%s has no node", p.Name)
		}
	}
}

func TestStep_PodsThatFitFewNodesKeepTheRoomPlannedForThem(t *testing.T) {
	w := lastPods(newWorld(t).declares("big", 1, 1000, 13_000).declares("small", 14, 500, 1_000), map[string]int64{"small": 14})
	w.memory = w.memoryAfterProgress()
	w.open(w.step().Plan.Actions).after(time.Second).creates("big", 1)
	if more := of[plan.Launch](w.step()); len(more) > 0 {
		t.Errorf("the room of the big pod was taken: %+v", more)
	}
}

// memoryAfterProgress is the memory as if the controllers had made progress just
// now, and the nodes had just come up.
func (w *world) memoryAfterProgress() engine.Memory {
	m := w.memory
	m.Advanced = []memory.Since{{ID: "ReplicaSet", At: w.now}}
	return m
}

func TestStep_WhatIsOnItsWayForDeclaredPodsStaysTheirsUntilItIsUp(t *testing.T) {
	w := newWorld(t).declares("web", 4, 900, 64)
	w.order(of[plan.Launch](w.step()))
	w.pods("other", 1, 800).after(time.Second)
	launches := of[plan.Launch](w.step())
	if len(launches) != 1 || len(launches[0].Pods) != 1 || launches[0].Declared != 0 {
		t.Errorf("launches = %+v, want one for the other pod", launches)
	}
}

// A zone takes the second pod of a spread once the other zone has its first: one look
// at each node is not enough to keep the places of all.
func TestStep_PodsOfASpreadKeepTheirPlacesWhenOthersAreGathered(t *testing.T) {
	w := newWorld(t)
	w.objects.Classes[0].Types = w.objects.Classes[0].Types[1:2]
	w.pods("zoned", 6, 1000, func(p *cluster.Pod) {
		p.Labels = label.FromMap(map[string]string{"app": "zoned"})
		p.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: cluster.PodSelector{Match: label.All(label.Is("app", "zoned"))}}}
	}).declares("early", 6, 300, 64).declares("late", 20, 300, 64)
	lastPods(w, map[string]int64{"early": 6})
	w.step()
	for range 5 {
		out := w.after(time.Second).step()
		if more := of[plan.Launch](out); len(more) > 0 {
			t.Fatalf("pods that were planned find no room: %+v", more)
		}
		w.open(out.Plan.Actions)
	}
}
