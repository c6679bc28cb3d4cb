package engine_test

import (
	"fmt"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// busy is a world of that many nodes that all run pods. Every tenth has room for
// 900m more, the others are full. The pool counts them against its limits.
func busy(t *testing.T, nodes int) *world {
	t.Helper()
	w := newWorld(t)
	w.objects.Pools[0].Limits = []quantity.Amount{{Name: quantity.CPU, Count: 100_000_000}, {Name: "nodes", Count: 100_000}}
	of := w.objects.Classes[0].Types[0]
	w.pods("web", nodes, of.Allocatable.MilliCPU)
	for i := range nodes {
		name := fmt.Sprintf("n%04d", i)
		p := &w.objects.Pods[i]
		p.Node, p.Unschedulable = name, false
		if i%10 == 0 {
			p.Shape.Requests.MilliCPU -= 900
		}
		labels := of.Labels.With(label.Zone, "a").With(label.CapacityType, label.OnDemand).With(label.NodePool, "general")
		w.objects.Nodes = append(w.objects.Nodes, cluster.Node{
			Name: name, UID: "uid-" + name, Labels: labels.With(label.Hostname, name), Allocatable: of.Allocatable, Ready: true, Claim: "claim-" + name, Created: start,
		})
		w.objects.Claims = append(w.objects.Claims, cluster.Claim{
			Name: "claim-" + name, UID: "uid-claim-" + name, Pool: "general", Class: "default", Labels: labels, InstanceID: "i-" + name,
			InstanceType: of.Name, Zone: "a", CapacityType: label.OnDemand, Allocatable: of.Allocatable, Node: name,
			Launched: true, Registered: true, Initialized: true, Created: start,
		})
	}
	return w
}

func TestStep_OnePodTouchesAsMuchAtTwoThousandNodesAsAtOneHundred(t *testing.T) {
	for _, c := range []struct {
		name     string
		milliCPU int64
		missing  bool
		launches int
	}{
		{name: "fits on a node", milliCPU: 800},
		{name: "needs a launch", milliCPU: 1500, launches: 1},
		{name: "declared", milliCPU: 800, missing: true},
	} {
		var outs []engine.Output
		for _, nodes := range []int{100, 2000} {
			w := busy(t, nodes)
			if c.missing {
				w.objects.Workloads = []cluster.Workload{{
					Kind: "ReplicaSet", Namespace: "default", Name: "one", Missing: 1,
					Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: c.milliCPU, PodSlots: 1}},
				}}
			} else {
				w.pods("one", 1, c.milliCPU)
			}
			out := w.step()
			if n := len(of[plan.Launch](out)); n != c.launches || out.Trace.Placed != 1 || out.Trace.Refused != 0 {
				t.Fatalf("%s, %d nodes: %d launches, %+v", c.name, nodes, n, out.Trace)
			}
			outs = append(outs, out)
		}
		if small, large := outs[0].Trace.Objects, outs[1].Trace.Objects; small != large || small > 3 {
			t.Errorf("%s: %d objects are looked at at 100 nodes, %d at 2,000", c.name, small, large)
		}
	}
}

// What is remembered of a NodeClaim is forgotten once it runs pods, although nothing
// looks at it any more.
func TestStep_ForgetsWhatSettledClaimsWereLaunchedFor(t *testing.T) {
	w := newWorld(t).pods("web", 1, 1500)
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches)
	if w.step(); len(w.memory.Planned) != 1 {
		t.Fatalf("%+v is remembered of a node whose pods are still to come", w.memory.Planned)
	}
	w.open(w.step().Plan.Actions)
	w.memory.EmptySince = []memory.Since{{ID: launches[0].Name, At: start}}
	if w.step(); len(w.memory.Planned)+len(w.memory.EmptySince) != 0 {
		t.Errorf("%+v and %+v are remembered of a node that runs its pods", w.memory.Planned, w.memory.EmptySince)
	}
}

// NodeClaims that are alike are counted together, each of them.
func TestStep_LimitsCountEveryNodeThatIsAlike(t *testing.T) {
	for _, c := range []struct {
		limit    quantity.Amount
		launches int
	}{
		{quantity.Amount{Name: quantity.CPU, Count: 14_000}, 1}, // six that run have 12, and one more has 2
		{quantity.Amount{Name: quantity.CPU, Count: 13_999}, 0},
		{quantity.Amount{Name: "nodes", Count: 7}, 1},
		{quantity.Amount{Name: "nodes", Count: 6}, 0},
	} {
		w := busy(t, 6)
		w.objects.Pools[0].Limits = []quantity.Amount{c.limit}
		if n := len(of[plan.Launch](w.pods("one", 1, 1500).step())); n != c.launches {
			t.Errorf("%+v: %d launches", c.limit, n)
		}
	}
}
