package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Memory.Planned names classes by Group.Key, which holds only the labels that some
// selector looks at: a pod with a selector on another label renames every group,
// and all promises are lost.
func TestStep_APromiseOutlivesTheArrivalOfASelector(t *testing.T) {
	w := newWorld(t).pods("web", 3, 1000, func(p *cluster.Pod) { p.Labels = label.FromMap(map[string]string{"app": "web"}) })
	first := of[plan.Launch](w.step())
	w.order(first)
	w.pods("other", 1, 3500, func(p *cluster.Pod) {
		p.Shape.Priority = 1
		p.Shape.PodAntiAffinity = []cluster.PodTerm{term(label.Hostname, 0, "web")}
	})
	for _, o := range w.step().Plan.Outcomes {
		if o.Pods[0] == "default/web-00" && (o.Verdict != plan.OnClaim || o.On != first[0].Name) {
			t.Errorf("%v were promised %s: %s %s", o.Pods, first[0].Name, o.Verdict, o.On)
		}
	}
}

// Pods that found room on a node on its way keep it when pods come back that were
// once promised the room.
func TestStep_RoomOnItsWayBelongsToThePodsThatTheLastPlanPutThere(t *testing.T) {
	w := newWorld(t)
	w.objects.Classes[0].Types = w.objects.Classes[0].Types[2:]
	w.pods("web", 3, 1200)
	first := of[plan.Launch](w.step())
	if len(first) != 1 {
		t.Fatalf("%d launches, want 1", len(first))
	}
	web := w.objects.Pods
	w.order(first).objects.Pods = nil
	w.pods("other", 3, 1150).step() // while the pods of web are deleted
	w.objects.Pods = append(w.objects.Pods, web...)
	for _, o := range w.step().Plan.Outcomes {
		if mine := o.Verdict == plan.OnClaim && o.On == first[0].Name; mine != strings.HasPrefix(o.Pods[0], "default/other") {
			t.Errorf("%v: %s %s", o.Pods, o.Verdict, o.On)
		}
	}
}

// As long as nobody else takes the room of pods that are deleted, it stays theirs.
func TestStep_RoomOnItsWayIsKeptForPodsThatAreGoneForAMoment(t *testing.T) {
	w := newWorld(t).pods("web", 3, 1200)
	first := of[plan.Launch](w.step())
	web := w.objects.Pods
	w.order(first).objects.Pods = nil
	w.step()
	if slots, known := w.memory.PlannedFor(first[0].Name); !known || len(slots) != 1 || slots[0].Count == 0 {
		t.Errorf("promised while the pods are gone: %+v", slots)
	}
	w.objects.Pods = web
	if more := of[plan.Launch](w.step()); len(more) != 0 {
		t.Errorf("launched %+v", more)
	}
}

// Nodes on their way in two zones: when they are up, the scheduler counts both zones.
func TestStep_PodsOfASpreadAreSpreadOverTheZonesThatAreOnTheirWay(t *testing.T) {
	w := newWorld(t)
	w.objects.Classes[0].Types = w.objects.Classes[0].Types[1:2]
	for _, zone := range []string{"a", "b"} {
		w.pods("old-"+zone, 3, 1200, func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(label.Zone, zone)) })
	}
	w.order(of[plan.Launch](w.step())).objects.Pods = nil
	w.pods("web", 4, 900, func(p *cluster.Pod) {
		p.Labels = label.FromMap(map[string]string{"app": "web"})
		p.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: cluster.PodSelector{Match: label.All(label.Is("app", "web"))}}}
	})
	for _, c := range w.objects.Claims {
		var n int
		for _, o := range w.step().Plan.Outcomes {
			if o.On == c.Name {
				n += len(o.Pods)
			}
		}
		if n != 2 {
			t.Errorf("%d pods on %s, want 2", n, c.Name)
		}
	}
}

// One of two pods is evicted and does not exist for a moment: the node that was
// ordered for it stays its node.
func TestStep_APodThatIsGoneForAMomentKeepsItsPlaceBesideOthersOfItsKind(t *testing.T) {
	w := newWorld(t).pods("web", 2, 3000)
	w.objects.Pools[0].Disruption.After = time.Second
	launches := of[plan.Launch](w.step())
	if len(launches) != 2 {
		t.Fatalf("%d launches, want 2", len(launches))
	}
	evicted := w.objects.Pods[1]
	w.order(launches).objects.Pods = w.objects.Pods[:1]
	w.step()
	w.bringUp(launches)
	for range 5 {
		out := w.step()
		if gone := of[plan.Delete](out); len(gone) != 0 {
			t.Fatalf("deleted %+v", gone)
		}
		w.open(out.Plan.Actions).after(time.Second)
	}
	w.objects.Pods = append(w.objects.Pods, evicted)
	if more := of[plan.Launch](w.step()); len(more) != 0 {
		t.Errorf("launched %+v", more)
	}
}

// A node that these pods can never use says nothing about where they may run.
func TestStep_AZoneOnItsWayForOthersDoesNotCount(t *testing.T) {
	w := newWorld(t).pool(cluster.Pool{Name: "other", Taints: []cluster.Taint{{Key: "gpu", Effect: "NoSchedule"}}})
	w.objects.Pools[0].Requirements = label.All(label.Is(label.Zone, "a"))
	w.pods("gpu", 1, 1000, func(p *cluster.Pod) {
		p.Shape.Selector = label.All(label.Is(label.Zone, "b"))
		p.Shape.Tolerations = []cluster.Toleration{{Key: "gpu", Exists: true}}
	})
	w.order(of[plan.Launch](w.step())).pods("web", 3, 1000, func(p *cluster.Pod) {
		p.Labels = label.FromMap(map[string]string{"app": "web"})
		p.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: cluster.PodSelector{Match: label.All(label.Is("app", "web"))}}}
	})
	for _, o := range w.step().Plan.Outcomes {
		if o.Verdict == plan.Unplaceable {
			t.Errorf("%v: %s", o.Pods, o.Explain())
		}
	}
}
