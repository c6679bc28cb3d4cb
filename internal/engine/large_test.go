package engine_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Pods that can run nowhere are in every Step. What they cost must not follow the
// number of nodes, also where pods that run exclude each other, as those of CoreDNS do.
func TestStep_PodsThatCanRunNowhereCostAsMuchAtTwoThousandNodesAsAtOneHundred(t *testing.T) {
	type work struct {
		objects, hosts int
		allocations    float64
	}
	var all []work
	for _, nodes := range []int{100, 2000} {
		w := busy(t, nodes)
		for i := range 10 {
			w.pods(fmt.Sprintf("label-%d", i), 1, 100, func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is("disk", fmt.Sprint(i))) })
			w.pods(fmt.Sprintf("large-%d", i), 1, 1_000_000+int64(i))
		}
		w.pods("dns", 2, 0, func(p *cluster.Pod) {
			p.Namespace, p.Node, p.Unschedulable, p.Labels = "kube-system", "n000"+p.Name[len(p.Name)-1:], false, label.FromMap(map[string]string{"app": "dns"})
			p.Shape.PodAntiAffinity = []cluster.PodTerm{{
				Key: label.Hostname, Selector: cluster.PodSelector{Match: label.All(label.Is("app", "dns"))},
				Namespaces: []string{"kube-system"}, InNamespaces: cluster.PodSelector{Nothing: true},
			}}
		})
		out := w.step()
		if out.Trace.Refused != 20 {
			t.Fatalf("%d nodes: %+v", nodes, out.Trace)
		}
		all = append(all, work{out.Trace.Objects, out.Trace.Hosts, allocations(t, w)})
	}
	if small, large := all[0], all[1]; small.objects != large.objects || large.hosts > 0 || large.allocations > small.allocations+20 {
		t.Errorf("%+v at 100 nodes, %+v at 2,000", small, large)
	}
}

// NodeClaims of one plan that are not launched yet may become the same: that is worked
// out once, not for each of them, nor in each Step.
func TestStep_WhatOrderedClaimsMayBecomeIsWorkedOutOnce(t *testing.T) {
	var each []float64
	for _, types := range []int{3, 300} {
		w := newWorld(t)
		for i := range types - 3 {
			w.objects.Classes[0].Types = append(w.objects.Classes[0].Types, instanceType(fmt.Sprintf("x%03d.large", i), 2, 8, 90_000_000))
		}
		var all []float64
		for _, claims := range []int{10, 110} {
			w.objects.Claims, w.memory = nil, engine.Memory{}
			for i := range claims {
				w.objects.Claims = append(w.objects.Claims, cluster.Claim{
					Name: fmt.Sprintf("general-%03d", i), UID: fmt.Sprint(i), Pool: "general", Class: "default", Created: start,
					Requirements: label.All(typesOf(t, w.objects.Classes[0].Types), label.Is(label.CapacityType, label.OnDemand)),
				})
			}
			w.objects.Pods = nil
			w.pods("one", 1, 100)
			if out := w.step(); len(of[plan.Launch](out)) > 0 || out.Trace.Placed != 1 {
				t.Fatalf("%+v", out.Trace)
			}
			all = append(all, allocations(t, w))
		}
		each = append(each, (all[1]-all[0])/100)
	}
	if each[0] > 10 || each[1] > each[0]+1 {
		t.Errorf("%v allocations for each NodeClaim at 3 and at 300 types", each)
	}
}

func typesOf(t *testing.T, types []catalog.InstanceType) label.Requirement {
	t.Helper()
	var names []string
	for i := range types {
		names = append(names, types[i].Name)
	}
	in, err := label.NewRequirement(label.InstanceType, label.In, names...)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// allocations is how many a Step makes that has the memory of one like it.
func allocations(t *testing.T, w *world) float64 {
	t.Helper()
	snapshot, err := cluster.New(w.objects)
	if err != nil {
		t.Fatal(err)
	}
	in := engine.Input{Snapshot: snapshot, Memory: w.memory, Policy: w.policy, Now: w.now, Seed: w.seed}
	in.Memory = engine.Step(in).Memory
	return testing.AllocsPerRun(3, func() { engine.Step(in) })
}

// What a Step has worked out of the snapshot and leaves to the next changes no plan,
// whatever has changed by then.
func TestStep_DecidesTheSameWithoutWhatItHasWorkedOutBefore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		drawApps(rt, w)
		w.pods("never", 2, 100, func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is("disk", "nvme")) })
		w.pods("huge", 1, 1_000_000)
		snapshot, err := cluster.New(w.objects)
		if err != nil {
			rt.Fatal(err)
		}
		both := func(stage string, d cluster.Delta) engine.Output {
			if snapshot, err = snapshot.Apply(d); err != nil {
				rt.Fatal(err)
			}
			w.now = w.now.Add(time.Second)
			in := engine.Input{Snapshot: snapshot, Memory: w.memory, Policy: w.policy, Now: w.now, Seed: 9}
			warm := engine.Step(in)
			in.Memory = engine.Memory{Memory: w.memory.Memory}
			if cold := engine.Step(in); !reflect.DeepEqual(warm.Plan, cold.Plan) {
				rt.Fatalf("%s: planned\n%+v\nwithout what was worked out before\n%+v", stage, warm.Plan, cold.Plan)
			}
			w.memory = warm.Memory
			return warm
		}
		launches := of[plan.Launch](both("pending", cluster.Delta{}))
		w.order(launches)
		both("ordered", cluster.Delta{Put: cluster.Objects{Claims: w.objects.Claims}})
		more := w.objects.Pods[0]
		more.Name, more.UID, more.Node = "one-more", "one-more", ""
		both("one pod more", cluster.Delta{Put: cluster.Objects{Pods: []cluster.Pod{more}}})
		if rapid.Bool().Draw(rt, "another pool") {
			p := w.objects.Pools[0]
			p.Taints = append(p.Taints, cluster.Taint{Key: "a", Effect: cluster.NoSchedule})
			both("tainted", cluster.Delta{Put: cluster.Objects{Pools: []cluster.Pool{p}}})
		} else {
			c := w.objects.Classes[0]
			c.Types = c.Types[1:]
			both("another catalogue", cluster.Delta{Put: cluster.Objects{Classes: []cluster.Class{c}}})
		}
		w.bringUp(launches)
		for i := range w.objects.Nodes {
			if rapid.Bool().Draw(rt, "labelled") {
				n := &w.objects.Nodes[i]
				n.Labels = n.Labels.With("disk", "nvme")
			}
		}
		both("up", cluster.Delta{Put: cluster.Objects{Nodes: w.objects.Nodes, Claims: w.objects.Claims}})
		w.open(both("still up", cluster.Delta{}).Plan.Actions)
		both("open", cluster.Delta{Put: cluster.Objects{Nodes: w.objects.Nodes, Claims: w.objects.Claims, Pods: w.objects.Pods}})
	})
}
