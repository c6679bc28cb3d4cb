package engine_test

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// evicted is a world in which the two pods of a node were just evicted, whose place is on a
// new node. They do not exist any more, and so many replicas are to be created.
func evicted(t *testing.T, replicas int64) *world {
	t.Helper()
	w := full(t).drift(0)
	went := w.objects.Claims[0].Node
	var shape cluster.Shape
	out := w.step()
	for len(of[plan.Delete](out)) == 0 {
		w.obey(out)
		w.now = w.now.Add(100 * time.Millisecond)
		out = w.step()
	}
	w.obey(out)
	w.drop(func(p cluster.Pod) bool {
		if p.Node == "" {
			shape = p.Shape
		}
		return p.Node == ""
	})
	if _, up := w.nodeNamed(went); up || len(w.objects.Pods) != 4 {
		t.Fatalf("%d pods are left, old node %v", len(w.objects.Pods), up)
	}
	w.objects.Workloads = []cluster.Workload{{Kind: "ReplicaSet", Namespace: "default", Name: "web", UID: "rs", Missing: replicas, Shape: shape}}
	w.now = w.now.Add(100 * time.Millisecond)
	return w
}

// create creates a replica.
func (w *world) create(name string) {
	x := &w.objects.Workloads[0]
	x.Missing = max(0, x.Missing-1)
	w.pods(name, 1, x.Shape.Requests.MilliCPU, func(p *cluster.Pod) {
		p.Owner, p.Created, p.Unschedulable = cluster.Owner{Kind: x.Kind, Name: x.Name, UID: x.UID}, w.now, true
	})
}

// until steps whenever the plan asks for it, until there is such an action, for about a
// minute. It returns how long that took. No plan is carried out.
func until[A plan.Action](w *world) time.Duration {
	began := w.now
	out := w.step()
	for len(of[A](out)) == 0 && w.now.Sub(began) < time.Minute {
		w.now = of[plan.Wait](out)[0].Until
		out = w.step()
	}
	return w.now.Sub(began)
}

// If a new node opened before the evicted pods are there, other pods would take their room:
// it is the emptiest node.
func TestStep_ANewNodeOpensWhenTheEvictedPodsAreThereThatItIsFor(t *testing.T) {
	w := evicted(t, 0) // the controller has not noticed yet
	for _, name := range []string{"first", "second"} {
		if got := of[plan.Release](w.step()); len(got) > 0 {
			t.Fatalf("before the %s: %+v", name, got)
		}
		w.create(name)
		w.now = w.now.Add(100 * time.Millisecond)
	}
	if got := of[plan.Release](w.step()); len(got) != 1 || got[0].Planned != 2 {
		t.Errorf("with both: %+v", got)
	}
}

func TestStep_ANewNodeWaitsForEvictedPodsThatLandElsewhereForReleaseWaitAtMost(t *testing.T) {
	for name, create := range map[string]bool{"none comes": false, "one comes": true} {
		w := evicted(t, 2)
		w.step() // the eviction is seen
		w.objects.Workloads = nil
		if create {
			w.objects.Workloads = []cluster.Workload{{Kind: "ReplicaSet", Namespace: "default", Name: "web", UID: "rs", Shape: w.objects.Pods[0].Shape}}
			w.create("first")
		}
		if took := until[plan.Release](w); took <= 0 || took > w.policy.ReleaseWait {
			t.Errorf("%s: the node opens after %s", name, took)
		}
	}
}

// As long as evicted pods may land elsewhere, nobody knows which of them need a new node.
func TestStep_NothingIsLaunchedForEvictedPodsUntilTheOthersHaveLanded(t *testing.T) {
	w := evicted(t, 3)
	if took := until[plan.Launch](w); took <= 0 || took > w.policy.ReleaseWait {
		t.Errorf("launches after %s", took)
	}
}

// Many nodes that EC2 takes, or that drift, say nothing about moves that save money.
func TestStep_OnlyEvictionsToSaveMoneyMayHoldSuchMovesBack(t *testing.T) {
	for name, c := range map[string]struct {
		world *world
		saves bool
	}{
		"underutilized": {halfEmpty(t), true},
		"drifted":       {full(t).drift(0), false},
		"interrupted":   {full(t), false},
		"by hand":       {full(t), false},
	} {
		w := c.world
		k := &w.objects.Claims[0]
		switch name {
		case "interrupted":
			k.Interruption = &cluster.Interruption{Noticed: w.now, Deadline: w.now.Add(time.Minute)}
		case "by hand":
			k.Deleting = true
		}
		for range 100 {
			out := w.step()
			if len(w.memory.Evicted) > 0 {
				break
			}
			w.obey(out)
			w.now = w.now.Add(100 * time.Millisecond)
		}
		if len(w.memory.Evicted) == 0 || w.memory.Evicted[0].Saving.IsZero() == c.saves {
			t.Errorf("%s: %+v", name, w.memory.Evicted)
		}
	}
}
