package proof_test

import (
	"errors"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/proof"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func proven(t *testing.T, o cluster.Objects, c plan.Certificate) quantity.Money {
	t.Helper()
	got, err := proof.Proven(o, c, key)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Every 2 CPU of given room take 500 off the bound of an increment. From
// scratch, only the room of nodes that are not ours does.
func TestProven_CountsTheRoomThatIsGiven(t *testing.T) {
	ours := func(n cluster.Node, c cluster.Claim) func(*cluster.Objects) {
		return func(o *cluster.Objects) {
			n.Name, n.Claim, c.Name = "n", "c", "c"
			o.Nodes, o.Claims = []cluster.Node{n}, []cluster.Claim{c}
		}
	}
	claim := func(c cluster.Claim) func(*cluster.Objects) {
		return func(o *cluster.Objects) {
			c.Name, c.Class = "c", "default"
			o.Claims = []cluster.Claim{c}
		}
	}
	up := cluster.Claim{Launched: true, Registered: true, Initialized: true}
	coming := cluster.Claim{Launched: true, Allocatable: size(4, 8)}
	taint := []cluster.Taint{{Key: "starting", Effect: cluster.NoSchedule}}
	for name, tc := range map[string]struct {
		change         func(*cluster.Objects)
		given, scratch quantity.Money
	}{
		"a node":                  {ours(cluster.Node{Ready: true, Allocatable: size(4, 8)}, up), 3000, 4000},
		"a node that is not ours": {func(o *cluster.Objects) { o.Nodes = []cluster.Node{{Name: "n", Ready: true, Allocatable: size(4, 8)}} }, 3000, 3000},
		"a node that is not ours and goes": {func(o *cluster.Objects) {
			o.Nodes = []cluster.Node{{Name: "n", Ready: true, Deleting: true, Allocatable: size(4, 8)}}
		}, 4000, 4000},
		"a node that is not ready": {ours(cluster.Node{Allocatable: size(4, 8)}, up), 4000, 4000},
		"a node that is cordoned":  {ours(cluster.Node{Ready: true, Cordoned: true, Allocatable: size(4, 8)}, up), 4000, 4000},
		"a tainted node":           {ours(cluster.Node{Ready: true, Taints: taint, Allocatable: size(4, 8)}, up), 4000, 4000},
		"a node that starts":       {ours(cluster.Node{Taints: taint}, coming), 3000, 4000},
		"a node that goes":         {ours(cluster.Node{Ready: true, Deleting: true, Allocatable: size(4, 8)}, up), 4000, 4000},
		"an interrupted node": {ours(cluster.Node{Ready: true, Allocatable: size(4, 8)},
			cluster.Claim{Initialized: true, Interruption: &cluster.Interruption{}}), 4000, 4000},
		"a claim that is launched": {claim(coming), 3000, 4000},
		"a claim that goes":        {claim(cluster.Claim{Launched: true, Deleting: true, Allocatable: size(4, 8)}), 4000, 4000},
		// The claim may become either type: the larger type counts.
		"a claim that is ordered":     {claim(cluster.Claim{}), 2000, 4000},
		"a claim ordered as one type": {claim(cluster.Claim{Requirements: in(t, label.InstanceType, "c.small")}), 3000, 4000},
		"a node full of others": {func(o *cluster.Objects) {
			ours(cluster.Node{Ready: true, Allocatable: size(4, 8)}, up)(o)
			o.Pods = append(o.Pods, pods("other", 1, 3, 1, func(p *cluster.Pod) { p.Node = "n" })...)
		}, 4000, 4000},
	} {
		t.Run(name, func(t *testing.T) {
			o, c := fourNodes()
			tc.change(&o)
			if got := proven(t, o, c); got != tc.given {
				t.Errorf("given what runs: %d, want %d", got, tc.given)
			}
			c.Scratch = true
			if got := proven(t, o, c); got != tc.scratch {
				t.Errorf("from scratch: %d, want %d", got, tc.scratch)
			}
		})
	}
}

// From scratch, running pods are demand. Pods on a leaving node are always
// demand, and pods on a node that is not ours never are.
func TestCheck_KnowsWhoNeedsAPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		change         func(*cluster.Objects)
		given, scratch bool
	}{
		"on a node of ours":       {func(*cluster.Objects) {}, false, true},
		"on a node that goes":     {func(o *cluster.Objects) { o.Claims[0].Deleting = true }, true, true},
		"on a node of others":     {func(o *cluster.Objects) { o.Claims, o.Nodes[0].Claim = nil, "" }, false, false},
		"declared, not yet there": {func(o *cluster.Objects) { declare(o) }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			o, c := fourNodes()
			every(o.Pods, func(p *cluster.Pod) { p.Node = "n" })
			o.Nodes, o.Claims = []cluster.Node{{Name: "n", Claim: "c", Ready: true}}, []cluster.Claim{{Name: "c", Initialized: true}}
			tc.change(&o)
			for _, scratch := range []bool{false, true} {
				c.Scratch = scratch
				err, want := proof.Check(o, c, key), tc.given && !scratch || tc.scratch && scratch
				if want && err != nil || !want && !errors.Is(err, proof.ErrDemand) {
					t.Errorf("scratch %v: err = %v, want the pods to count: %v", scratch, err, want)
				}
			}
		})
	}
}

func declare(o *cluster.Objects) {
	p := o.Pods[0]
	o.Pods = nil
	o.Workloads = []cluster.Workload{{Kind: "ReplicaSet", Namespace: p.Namespace, Name: "web", Missing: 8, Labels: p.Labels, Shape: p.Shape}}
}

// DaemonSets take 1 CPU of 4, so three quarters of the room are left. Prices
// that are a third higher hold then, unless the DaemonSet runs elsewhere.
func TestProven_LeavesToDaemonSetsWhatTheyAreCertainToTake(t *testing.T) {
	daemon := func(s cluster.Shape) func(*cluster.Objects) {
		return func(o *cluster.Objects) {
			s.Requests = quantity.Resources{MilliCPU: 1000, PodSlots: 1}
			o.DaemonSets = []cluster.DaemonSet{{Namespace: "kube-system", Name: "agent", Shape: s}}
		}
	}
	for name, tc := range map[string]struct {
		change func(*cluster.Objects)
		takes  bool
	}{
		"everywhere":              {daemon(cluster.Shape{}), true},
		"on other architectures":  {daemon(cluster.Shape{Selector: label.All(label.Is(label.Arch, "arm64"))}), false},
		"where its volume is not": {daemon(cluster.Shape{Volumes: [][]label.Requirements{{label.All(label.Is(label.Zone, "nowhere"))}}}), false},
		"behind a taint": {func(o *cluster.Objects) {
			daemon(cluster.Shape{})(o)
			o.Pools[0].Taints = []cluster.Taint{{Key: "t", Effect: cluster.NoExecute}}
			every(o.Pods, func(p *cluster.Pod) { p.Shape.Tolerations = []cluster.Toleration{{Key: "t", Exists: true}} })
		}, false},
		"on one value of an open label": {func(o *cluster.Objects) {
			daemon(cluster.Shape{Selector: label.All(label.Is("ratio", "spot"))})(o)
			o.Pools[0].Requirements = in(t, "ratio", "spot", "on-demand")
		}, false},
		"on every value of an open label": {func(o *cluster.Objects) {
			daemon(cluster.Shape{NodeAffinity: []label.Requirements{in(t, "ratio", "spot", "on-demand", "third")}})(o)
			o.Pools[0].Requirements = in(t, "ratio", "spot", "on-demand")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			o, c := fourNodes()
			o.Classes[0].Types = o.Classes[0].Types[:1]
			tc.change(&o)
			c.Demand[0].Prices[0] = 333 << scale
			c.Bound = 8 * 2 * 333
			if err := proof.Check(o, c, key); tc.takes && err != nil || !tc.takes && !errors.Is(err, proof.ErrOffering) {
				t.Errorf("err = %v, want the DaemonSet to count: %v", err, tc.takes)
			}
		})
	}
}

// On an existing node, DaemonSets keep what their pods take, and what their pods
// are still to take.
func TestProven_LeavesToDaemonSetsOnNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		takes int64 // CPU that the pod takes which is there
		want  quantity.Money
	}{"its pod is not there yet": {0, 3000}, "its pod is there": {2, 3000}, "its pod takes more": {3, 3250}} {
		t.Run(name, func(t *testing.T) {
			o, c := fourNodes()
			need := quantity.Resources{MilliCPU: 2000, PodSlots: 1}
			o.DaemonSets = []cluster.DaemonSet{{Namespace: "kube-system", Name: "agent", Shape: cluster.Shape{Requests: need}}}
			o.Nodes = []cluster.Node{{Name: "n", Ready: true, Allocatable: size(6, 8)}}
			if tc.takes > 0 {
				o.Pods = append(o.Pods, pods("agent", 1, tc.takes, 0, func(p *cluster.Pod) {
					p.Node, p.Pinned, p.Owner = "n", true, cluster.Owner{Kind: "DaemonSet", Name: "agent"}
				})...)
			}
			if got := proven(t, o, c); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
}

func TestProven_CountsAReservationOnceForAllPools(t *testing.T) {
	o, c := fourNodes()
	small := &o.Classes[0].Types[0]
	small.Offerings = append(small.Offerings, reserved("a", 2))
	o.Pools = append(o.Pools, cluster.Pool{Name: "second", Class: "default", Ready: true})
	if got := proven(t, o, c); got != 2000 {
		t.Errorf("two reserved instances left: %d, want 2000", got)
	}
	o.Claims = []cluster.Claim{{Name: "c", InstanceType: "c.small", Zone: "a", CapacityType: label.Reserved, Launched: true}}
	c.Scratch = true
	if got := proven(t, o, c); got != 1000 {
		t.Errorf("from scratch, one more in use: %d, want 1000", got)
	}
	small.Offerings[2].Price = 400
	if got := proven(t, o, c); got != 4000-3*600 {
		t.Errorf("three at 400 each: %d, want 2200", got)
	}
}

// An instance type counts once for each class, with the capacity that the class
// gives it.
func TestProven_AnOfferingOfTwoClassesIsTwo(t *testing.T) {
	o, c := fourNodes()
	o.Pools = append(o.Pools, cluster.Pool{Name: "cramped", Class: "cramped", Ready: true})
	o.Classes = append(o.Classes, cluster.Class{Name: "cramped", Ready: true, Types: []catalog.InstanceType{instanceType("c.small", 1, 8, onDemand("a", 1))}})
	if got := proven(t, o, c); got != 4000 {
		t.Errorf("%d, want 4000", got)
	}
}

func TestProven_NamesOfferingsWithoutAPrice(t *testing.T) {
	o, c := fourNodes()
	o.Classes[0].Types[0].Offerings = append(o.Classes[0].Types[0].Offerings, catalog.Offering{Zone: "a", CapacityType: label.Spot})
	c.Unpriced = []string{plan.OfferingName("c.small", label.Spot, "a")}
	if got := proven(t, o, c); got != 4000 {
		t.Errorf("%d, want 4000", got)
	}
}

func TestProven_AbsurdNumbersDoNotWrapAround(t *testing.T) {
	const huge = 1<<63 - 1
	o, c := fourNodes()
	o.Workloads = []cluster.Workload{
		{Kind: "ReplicaSet", Namespace: "default", Name: "a", Missing: huge, Labels: o.Pods[0].Labels, Shape: o.Pods[0].Shape},
		{Kind: "ReplicaSet", Namespace: "default", Name: "b", Missing: huge, Labels: o.Pods[0].Labels, Shape: o.Pods[0].Shape},
	}
	c.Demand[0].Count = huge
	if got := proven(t, o, c); got != huge {
		t.Errorf("the bound is %d, want the largest number there is", got)
	}
	c.Demand[0].Prices[0] = huge
	if _, err := proof.Proven(o, c, key); !errors.Is(err, proof.ErrOffering) {
		t.Errorf("a huge price: %v", err)
	}
}

// A pod that others nominated for a node has its place there: it takes room as a
// pod that runs does, and is no demand. It is demand where the node takes no pods.
func TestProven_LeavesRoomToPodsThatOthersNominated(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*cluster.Pod)
		want   quantity.Money
	}{
		"by others":                    {func(*cluster.Pod) {}, 4000},
		"by the daemon":                {func(p *cluster.Pod) { p.NominatedByUs = true }, 3000},
		"for another node":             {func(p *cluster.Pod) { p.Nominated = "gone" }, 3000},
		"and it runs elsewhere by now": {func(p *cluster.Pod) { p.Node = "elsewhere" }, 3000},
	} {
		t.Run(name, func(t *testing.T) {
			o, c := fourNodes()
			o.Nodes = []cluster.Node{{Name: "n", Ready: true, Allocatable: size(4, 8)}}
			o.Pods = append(o.Pods, pods("preemptor", 1, 3, 1, func(p *cluster.Pod) { p.Nominated = "n" })...)
			tc.change(&o.Pods[len(o.Pods)-1])
			if got := proven(t, o, c); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
	for name, tc := range map[string]struct {
		change func(*cluster.Objects)
		demand bool
	}{
		"a node that takes pods": {func(*cluster.Objects) {}, false},
		"a cordoned node":        {func(o *cluster.Objects) { o.Nodes[0].Cordoned = true }, true},
		"a node that goes":       {func(o *cluster.Objects) { o.Nodes[0].Deleting = true }, true},
		"a node that is gone":    {func(o *cluster.Objects) { o.Nodes = nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			o, c := fourNodes()
			o.Nodes = []cluster.Node{{Name: "n", Ready: true}}
			every(o.Pods, func(p *cluster.Pod) { p.Nominated = "n" })
			tc.change(&o)
			if err := proof.Check(o, c, key); tc.demand && err != nil || !tc.demand && !errors.Is(err, proof.ErrDemand) {
				t.Errorf("err = %v, want the pods to count: %v", err, tc.demand)
			}
		})
	}
}
