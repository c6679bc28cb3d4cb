package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// apart is two nodes on their way: one is planned full of CPU, the other full of
// memory. A pod that needs memory finds room on neither, unless pods of the two
// change places.
func apart(t *testing.T, with ...func(*cluster.Pod)) *world {
	t.Helper()
	w := newWorld(t)
	w.objects.Classes[0].Types = w.objects.Classes[0].Types[2:]
	w.comes("cpu", 2, 1900, 500, with...).comes("memory", 2, 200, 7168, with...)
	return w
}

// last adds the pod that needs memory.
func (w *world) last(with ...func(*cluster.Pod)) *world {
	w.t.Helper()
	return w.comes("last", 1, 200, 7168, with...)
}

// comes adds pods a second later, and orders what is launched for them.
func (w *world) comes(name string, n int, milliCPU, mib int64, with ...func(*cluster.Pod)) *world {
	w.t.Helper()
	w.after(time.Second)
	with = append([]func(*cluster.Pod){func(p *cluster.Pod) {
		p.Created, p.Shape.Requests.MemoryBytes = w.now, mib<<20
	}}, with...)
	w.pods(name, n, milliCPU, with...)
	if name == "last" {
		return w
	}
	launches := of[plan.Launch](w.step())
	if len(launches) != 1 {
		w.t.Fatalf("%d launches for %s, want 1", len(launches), name)
	}
	return w.order(launches)
}

func TestStep_PodsOnTheirWayChangePlacesBeforeMoreIsLaunched(t *testing.T) {
	w := apart(t).last()
	for _, when := range []string{"at first", "again", "after all is forgotten"} {
		out := w.step()
		if got := of[plan.Launch](out); len(got) != 0 {
			t.Errorf("%s: launched %+v, though there is room if pods change places", when, got)
		}
		on := map[string]int{}
		for _, o := range out.Plan.Outcomes {
			if o.Verdict == plan.OnClaim {
				on[o.On] += len(o.Pods)
			}
		}
		if on[w.objects.Claims[0].Name]+on[w.objects.Claims[1].Name] != 5 {
			t.Errorf("%s: of 5 pods these are planned for: %v", when, on)
		}
		if when == "again" {
			w.memory = newWorld(t).memory
		}
	}
}

func TestStep_WhatMayNotChangePlacesIsLaunchedFor(t *testing.T) {
	gang := func(p *cluster.Pod) { p.Shape.Gang = cluster.Gang{Name: p.Name, Size: 1} }
	for name, w := range map[string]*world{
		"pods that came long before": apart(t).after(20 * time.Second).last(),
		"pods of gangs":              apart(t, gang).last(gang),
	} {
		if got := of[plan.Launch](w.step()); len(got) != 1 {
			t.Errorf("%s: %d launches, want 1", name, len(got))
		}
	}
}

// Pods that exclude each other from a node would need a node each; the plain pods
// that they displace share one.
func TestStep_PodsWithRulesTakeThePlacesOfPlainPodsOnTheirWay(t *testing.T) {
	w := newWorld(t)
	w.objects.Classes[0].Types = w.objects.Classes[0].Types[2:]
	for range 4 {
		w.comes(fmt.Sprint("plain-", len(w.objects.Claims)), 6, 600, 500)
	}
	w.after(time.Second).pods("lonely", 4, 500, func(p *cluster.Pod) {
		p.Created, p.Labels = w.now, label.FromMap(map[string]string{"app": "lonely"})
		p.Shape.PodAntiAffinity = []cluster.PodTerm{term(label.Hostname, 0, "lonely")}
	})
	if got := of[plan.Launch](w.step()); len(got) != 1 {
		t.Errorf("%d launches, want 1", len(got))
	}
}

// Where as many nodes are launched all the same, whoever came first keeps the node that
// comes first.
func TestStep_NobodyLosesAPlaceOnTheWayToPodsThatNeedAsManyNodes(t *testing.T) {
	port := func(p *cluster.Pod) { p.Shape.Ports = []cluster.HostPort{{Protocol: "TCP", Port: 81}} }
	for name, more := range map[string][]func(*cluster.Pod){"plain pods": nil, "pods with rules": {port}} {
		w := newWorld(t)
		w.objects.Classes[0].Types = w.objects.Classes[0].Types[1:2] // 3,900m
		w.comes("early", 2, 1200, 0).after(time.Second)
		w.pods("late", 3, 3900, append(more, func(p *cluster.Pod) { p.Created = w.now })...)
		launches := of[plan.Launch](w.step())
		if len(launches) != 3 {
			t.Errorf("%s: %d launches, want 3", name, len(launches))
		}
		for _, l := range launches {
			if strings.Contains(l.Pods[0], "early") {
				t.Errorf("%s: the early pods have lost their node: %s is for %v", name, l.Name, l.Pods)
			}
		}
	}
}

func TestStep_NodesThatAreUpKeepTheirPromises(t *testing.T) {
	w := apart(t).last()
	launches := of[plan.Launch](newWorld(t).step())
	for _, c := range w.objects.Claims {
		launches = append(launches, plan.Launch{Name: c.Name, Types: []plan.Choice{{Type: "m5.xlarge"}}, Zones: []string{"a"}, CapacityType: "on-demand"})
	}
	out := w.bringUp(launches).step()
	if got := of[plan.Launch](out); len(got) != 1 {
		t.Errorf("%d launches, want 1: pods of nodes that are up stay", len(got))
	}
	if got := of[plan.Release](out); len(got) != 2 {
		t.Errorf("%d nodes open, want both", len(got))
	}
}

// inPieces is four nodes on their way with plain pods, one of which has lost its place
// to a pod with rules. The room that it needs is there, in pieces.
func inPieces(w *world) *world {
	w.t.Helper()
	w.objects.Classes[0].Types = w.objects.Classes[0].Types[len(w.objects.Classes[0].Types)-1:]
	for range 4 {
		w.comes(fmt.Sprint("plain-", len(w.objects.Claims)), 6, 600, 500)
	}
	return w.after(2*time.Second).pods("lonely", 1, 500, func(p *cluster.Pod) {
		p.Created, p.Labels = w.now, label.FromMap(map[string]string{"app": "lonely"})
		p.Shape.PodAntiAffinity = []cluster.PodTerm{term(label.Hostname, 0, "lonely")}
	})
}

// verdicts counts the pods by verdict.
func verdicts(out engine.Output) map[plan.Verdict]int {
	n := map[plan.Verdict]int{}
	for _, o := range out.Plan.Outcomes {
		n[o.Verdict] += len(o.Pods)
	}
	return n
}

// A piece comes free as soon as the scheduler binds any other pod elsewhere.
func TestStep_PodsThatLostTheirPlaceWaitForRoomOnTheWayButNotLong(t *testing.T) {
	w := inPieces(newWorld(t))
	out := w.step()
	if got := of[plan.Launch](out); len(got) != 0 {
		t.Errorf("launched %+v, though the nodes on their way have the room in total", got)
	}
	waits := of[plan.Wait](out)
	if n := verdicts(out)[plan.AwaitsNodes]; n != 1 || len(waits) != 1 || waits[0].Why != plan.RoomOnTheWay {
		t.Errorf("%d pods wait, %+v", n, waits)
	}
	w.now = waits[0].Until
	if got := of[plan.Launch](w.step()); len(got) != 1 {
		t.Errorf("%d launches when the wait is over, want 1", len(got))
	}
}

// A plan by priority has not tried the lower priorities when it launches for the
// highest: these do not wait, they still have their places.
func TestStep_PodsOfLowerPriorityDoNotWaitBeforeTheirTurn(t *testing.T) {
	w := inPieces(newWorld(t))
	w.step()
	w.limit("nodes", 4).after(time.Second).pods("high", 1, 1000, func(p *cluster.Pod) { p.Created, p.Shape.Priority = w.now, 100 })
	if n := verdicts(w.step()); n[plan.OnClaim] < 23 || n[plan.AwaitsNodes] > 1 {
		t.Errorf("of 26 pods %v", n)
	}
}

// Room comes free only as nodes open: a pod that waits for that keeps none closed.
func TestStep_APodThatWaitsForRoomOnTheWayKeepsNoNodeClosed(t *testing.T) {
	w := newWorld(t)
	w.objects.Classes[0].Types = w.objects.Classes[0].Types[2:]
	launches := of[plan.Launch](w.pods("small", 1, 400).pods("big", 3, 1150).step())
	if len(launches) != 1 {
		t.Fatalf("%d launches, want 1", len(launches))
	}
	inPieces(w.order(launches)).step()
	w.objects.Pods = w.objects.Pods[1:] // the small pod is deleted, so its node is not full
	w.bringUp(launches)
	out := w.step()
	if n := verdicts(out)[plan.AwaitsNodes]; n != 1 {
		t.Fatalf("%d pods wait for room on the way, want 1", n)
	}
	if len(of[plan.Release](out)) != 1 {
		t.Errorf("the node does not open: %+v", of[plan.Wait](out))
	}
}
