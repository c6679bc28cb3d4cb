package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

var (
	start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	kept  = engine.DefaultPolicy().StartupTaint
)

// world builds a cluster step by step; its methods return it for chaining.
type world struct {
	t       testing.TB
	objects cluster.Objects
	memory  engine.Memory
	policy  engine.Policy
	now     time.Time
	seed    uint64

	workLimit int
	seen      func(engine.Output) // of each step; may be nil
}

// newWorld has one class with three types in two zones, and one pool of it. Its nodes
// cost what their instances cost; see costly.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, now: start, seed: 7, policy: engine.DefaultPolicy()}
	w.policy.NodeCost = 0
	w.objects.Classes = []cluster.Class{{Name: "default", Ready: true, Types: []catalog.InstanceType{
		instanceType("c5.large", 2, 4, 85_000_000),
		instanceType("c5.xlarge", 4, 8, 170_000_000),
		instanceType("m5.xlarge", 4, 16, 192_000_000),
	}}}
	return w.pool(cluster.Pool{Name: "general"})
}

// instanceType has 100m CPU and 512 MiB of overhead, and spot at a third.
func instanceType(name string, vcpu, gib int64, price quantity.Money) catalog.InstanceType {
	capacity := quantity.Resources{MilliCPU: vcpu * 1000, MemoryBytes: gib << 30, EphemeralBytes: 20 << 30, PodSlots: 30}
	t := catalog.InstanceType{
		Name: name, Capacity: capacity, Allocatable: capacity.Sub(quantity.Resources{MilliCPU: 100, MemoryBytes: 512 << 20}),
		Labels: label.FromMap(map[string]string{label.InstanceType: name, label.Arch: "amd64", label.OS: "linux"}),
	}
	for _, zone := range []string{"a", "b"} {
		t.Offerings = append(t.Offerings,
			catalog.Offering{Zone: zone, CapacityType: label.OnDemand, Price: price, Available: true},
			catalog.Offering{Zone: zone, CapacityType: label.Spot, Price: price / 3, Available: true})
	}
	return t
}

// costly makes nodes of all classes cost more than their instances.
func (w *world) costly() *world {
	w.policy.NodeCost = engine.DefaultPolicy().NodeCost
	for i := range w.objects.Classes {
		w.objects.Classes[i].Volumes, w.objects.Classes[i].Address = quantity.Money(20_000_000*i+2_000_000), 5_000_000
	}
	return w
}

func (w *world) pool(p cluster.Pool) *world {
	p.Class, p.Ready, p.UID = "default", true, "uid-"+p.Name
	if p.Disruption.After == 0 {
		p.Disruption.After = 30 * time.Second
	}
	if _, pinned := p.Requirements.Get(label.CapacityType); !pinned {
		paid, err := label.NewRequirement(label.CapacityType, label.In, label.OnDemand, label.Reserved)
		if err != nil {
			w.t.Fatal(err)
		}
		p.Requirements = p.Requirements.And(label.All(paid))
	}
	w.objects.Pools = append(w.objects.Pools, p)
	return w
}

// pods adds n pending pods of milliCPU each.
func (w *world) pods(name string, n int, milliCPU int64, with ...func(*cluster.Pod)) *world {
	for i := range n {
		p := cluster.Pod{
			Namespace: "default", Name: fmt.Sprintf("%s-%02d", name, i), Created: start.Add(time.Duration(i) * time.Millisecond),
			Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: milliCPU, PodSlots: 1}}, Unschedulable: true,
		}
		p.UID = "uid-" + p.Name
		for _, f := range with {
			f(&p)
		}
		w.objects.Pods = append(w.objects.Pods, p)
	}
	return w
}

func (w *world) step() engine.Output {
	w.t.Helper()
	snap, err := cluster.New(w.objects)
	if err != nil {
		w.t.Fatal(err)
	}
	w.seed++
	out := engine.Step(engine.Input{Snapshot: snap, Memory: w.memory, Policy: w.policy, Now: w.now, Seed: w.seed, WorkLimit: w.workLimit})
	w.memory = out.Memory
	if w.seen != nil {
		w.seen(out)
	}
	return out
}

// order turns launches into NodeClaims that are not launched yet.
func (w *world) order(launches []plan.Launch) *world {
	for _, l := range launches {
		var types []string
		for _, c := range l.Types {
			types = append(types, c.Type)
		}
		in, err := label.NewRequirement(label.InstanceType, label.In, types...)
		if err != nil {
			w.t.Fatal(err)
		}
		zones, err := label.NewRequirement(label.Zone, label.In, l.Zones...)
		if err != nil {
			w.t.Fatal(err)
		}
		w.objects.Claims = append(w.objects.Claims, cluster.Claim{
			Name: l.Name, UID: "uid-" + l.Name, Pool: l.Pool, Class: l.Class, Labels: l.Labels, Taints: l.Taints,
			Requirements: l.Requirements.And(label.All(in, zones, label.Is(label.CapacityType, l.CapacityType))),
			Reservation:  l.Reservation, Requests: l.Content, Planned: l.Planned, Created: w.now,
		})
	}
	return w
}

// bringUp launches every NodeClaim as its cheapest type in its first zone and registers
// a ready node that still has the daemon's taint.
func (w *world) bringUp(launches []plan.Launch) *world {
	for _, l := range launches {
		for i := range w.objects.Claims {
			c := &w.objects.Claims[i]
			if c.Name != l.Name {
				continue
			}
			c.Launched, c.LaunchedAt, c.Registered, c.Node = true, w.now, true, "node-"+c.Name
			zone := l.Zones[0]
			c.InstanceType, c.Zone, c.CapacityType = l.Types[0].Type, zone, l.CapacityType
			var t catalog.InstanceType
			for _, x := range w.objects.Classes[0].Types {
				if x.Name == c.InstanceType {
					t = x
				}
			}
			c.Allocatable = t.Allocatable
			c.Labels = c.Labels.Merge(t.Labels).With(label.Zone, zone).With(label.CapacityType, l.CapacityType)
			w.objects.Nodes = append(w.objects.Nodes, cluster.Node{
				Name: c.Node, UID: "uid-" + c.Node, Labels: c.Labels.With(label.Hostname, c.Node), Taints: append([]cluster.Taint{kept}, c.Taints...),
				Allocatable: t.Allocatable, Ready: true, Claim: c.Name, Created: w.now,
			})
		}
	}
	return w
}

// bind puts the pod on the node.
func (w *world) bind(id, node string) {
	for i := range w.objects.Pods {
		if p := &w.objects.Pods[i]; p.ID() == id {
			p.Node, p.Unschedulable = node, false
		}
	}
}

// open carries releases out and binds the pods nominated.
func (w *world) open(actions []plan.Action) *world {
	for _, a := range actions {
		switch a := a.(type) {
		case plan.Nominate:
			w.bind(a.Pod, a.Node)
		case plan.Bind:
			w.bind(a.Pod, a.Node)
		case plan.Close:
			w.onNode(a.Node, func(n *cluster.Node) { n.Taints = append(slices.Clip(n.Taints), a.Taint) })
		case plan.Release:
			for i := range w.objects.Nodes {
				if n := &w.objects.Nodes[i]; n.Name == a.Node {
					off := append([]cluster.Taint{a.Taint}, a.Lifts...)
					n.Taints = slices.DeleteFunc(slices.Concat(n.Taints, a.Puts), func(t cluster.Taint) bool { return slices.Contains(off, t) })
					if a.Taint == (cluster.Taint{}) {
						continue
					}
					for j := range w.objects.Claims {
						w.objects.Claims[j].Initialized = w.objects.Claims[j].Initialized || w.objects.Claims[j].Node == n.Name
					}
				}
			}
		}
	}
	return w
}

// running brings a cluster to the point where the pods run.
func (w *world) running() *world {
	launches := of[plan.Launch](w.step())
	return w.order(launches).bringUp(launches).open(w.step().Plan.Actions)
}

func of[A plan.Action](out engine.Output) []A {
	var list []A
	for _, a := range out.Plan.Actions {
		if x, ok := a.(A); ok {
			list = append(list, x)
		}
	}
	return list
}

// unavailable returns the memory in which the offerings are left out of plans until the given
// time: a launch found no capacity there, and launched another type.
func unavailable(m engine.Memory, until time.Time, offerings ...catalog.OfferingKey) engine.Memory {
	const pause = 3 * time.Minute // the first one
	t := engine.Tried{Launched: catalog.OfferingKey{InstanceType: "another"}}
	for _, k := range offerings {
		t.Lacks = append(t.Lacks, engine.Lack{Offering: k})
	}
	return m.WithShortages(m.After(t, until.Add(-pause)))
}
