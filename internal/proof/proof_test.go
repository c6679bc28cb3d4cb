package proof_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/proof"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const scale = 8

// key groups pods by the app label, which tells everything in these worlds.
func key(namespace string, l label.Labels, _ cluster.Shape) string {
	app, _ := l.Get("app")
	return namespace + "/" + app
}

func size(cpu, gib int64) quantity.Resources {
	return quantity.Resources{MilliCPU: cpu * 1000, MemoryBytes: gib << 30, PodSlots: 10}
}

func pods(app string, n int, cpu, gib int64, with ...func(*cluster.Pod)) []cluster.Pod {
	out := make([]cluster.Pod, n)
	for i := range out {
		need := size(cpu, gib)
		need.PodSlots = 1
		out[i] = cluster.Pod{Namespace: "default", Name: fmt.Sprintf("%s-%d", app, i), Labels: label.FromMap(map[string]string{"app": app}), Shape: cluster.Shape{Requests: need}}
		for _, f := range with {
			f(&out[i])
		}
	}
	return out
}

func instanceType(name string, cpu, gib int64, offerings ...catalog.Offering) catalog.InstanceType {
	return catalog.InstanceType{
		Name: name, Labels: label.FromMap(map[string]string{label.InstanceType: name, label.Arch: "amd64"}),
		Capacity: size(cpu, gib), Allocatable: size(cpu, gib), Offerings: offerings,
	}
}

func onDemand(zone string, price quantity.Money) catalog.Offering {
	return catalog.Offering{Zone: zone, CapacityType: label.OnDemand, Price: price, Available: true}
}

func reserved(zone string, left int64) catalog.Offering {
	return catalog.Offering{Zone: zone, CapacityType: label.Reserved, Available: true, Reservation: "cr-1", Left: left}
}

// fourNodes is a world whose optimum is known: eight pods of 2 CPU and 2 GiB
// fill four nodes of 4 CPU at 1000 exactly; the larger type is dearer for its
// size.
func fourNodes() (cluster.Objects, plan.Certificate) {
	o := cluster.Objects{
		Pods:  pods("web", 8, 2, 2),
		Pools: []cluster.Pool{{Name: "general", Class: "default", Ready: true}},
		Classes: []cluster.Class{{Name: "default", Ready: true, Types: []catalog.InstanceType{
			instanceType("c.small", 4, 8, onDemand("a", 1000), onDemand("b", 1000)),
			instanceType("d.large", 8, 16, onDemand("a", 2100)),
		}}},
	}
	c := plan.Certificate{
		Bound: 4000, Scale: scale, Dimensions: []plan.Dimension{{Resource: quantity.CPU, Unit: 1000}, {Resource: quantity.Memory, Unit: 1 << 20}},
		Demand: []plan.DemandPrice{{Group: "default/web", Count: 8, Prices: []int64{250 << scale, 0}}},
	}
	return o, c
}

func TestCheck_AcceptsTheBoundOfAFleetThatIsFull(t *testing.T) {
	o, c := fourNodes()
	if err := proof.Check(o, c, key); err != nil {
		t.Fatal(err)
	}
	c.Bound++
	if err := proof.Check(o, c, key); !errors.Is(err, proof.ErrBound) {
		t.Errorf("a bound above the optimum: %v", err)
	}
}

// A node costs its instance, its volumes, its address and the node cost; a node that
// exists costs nothing.
func TestProven_CountsWhatANodeCostsBesideItsInstance(t *testing.T) {
	o, c := fourNodes()
	for i := range o.Classes[0].Types {
		for k := range o.Classes[0].Types[i].Offerings {
			o.Classes[0].Types[i].Offerings[k].Price -= 600
		}
	}
	if err := proof.Check(o, c, key); !errors.Is(err, proof.ErrOffering) {
		t.Errorf("instances are cheaper: %v", err)
	}
	o.Classes[0].Volumes, o.Classes[0].Address, c.NodeCost = 300, 200, 100
	if err := proof.Check(o, c, key); err != nil {
		t.Errorf("nodes cost as much: %v", err)
	}
	o.Nodes = []cluster.Node{{Name: "n", Ready: true, Allocatable: size(2, 8)}}
	if got, err := proof.Proven(o, c, key); got != 3500 || err != nil {
		t.Errorf("with room for a pod on a node that exists: %d, %v", got, err)
	}
}

// Nodes are whole. Pods that need a part of a node cost a whole node, and pods
// that need more than one node cost at least two.
// Two pods of 2 CPU fill a node of 4: half of its price is the right surcharge. A
// node of 5.9 CPU holds no third pod.
func TestCheck_AcceptsSurchargesOfContents(t *testing.T) {
	o, c := fourNodes()
	c.Demand[0].Prices[0], c.Demand[0].Surcharge = 0, 500<<scale
	if err := proof.Check(o, c, key); err != nil {
		t.Error(err)
	}
	o.Classes[0].Types[0].Allocatable.MilliCPU = 5900
	if err := proof.Check(o, c, key); err != nil {
		t.Errorf("a node with room that no pod fits: %v", err)
	}
	o.Classes[0].Types[0].Allocatable.MilliCPU = 6000
	if err := proof.Check(o, c, key); !errors.Is(err, proof.ErrOffering) {
		t.Errorf("a node that holds three pods: %v", err)
	}
}

// Two types differ by less than a MiB, and only the larger one holds two pods.
func TestCheck_TellsRoomsApartByTheByte(t *testing.T) {
	for _, first := range []int{0, 1} {
		o, c := fourNodes()
		types := o.Classes[0].Types
		for i := range types {
			types[i].Allocatable, types[i].Offerings = size(8, 4), []catalog.Offering{onDemand("a", 1000)}
			types[i].Allocatable.MemoryBytes += int64(100 + 100*((i+first)%2))
		}
		every(o.Pods, func(p *cluster.Pod) { p.Shape.Requests.MemoryBytes = 2<<30 + 100 })
		c.Demand[0].Prices[0], c.Demand[0].Surcharge = 0, 1000<<scale
		if err := proof.Check(o, c, key); !errors.Is(err, proof.ErrOffering) {
			t.Errorf("order %d: %v", first, err)
		}
	}
}

func TestProven_IsWhatWholeNodesCost(t *testing.T) {
	for _, tc := range []struct {
		pods int
		cpu  int64
		want quantity.Money
	}{
		{1, 1, 1000}, {3, 1, 1000}, {1, 5, 2100}, // fits on the large type only
		{5, 1, 2000}, {3, 3, 2250}, // two of the small type at least, or one of the large; the bound comes from the prices
	} {
		o, c := fourNodes()
		o.Pods = pods("web", tc.pods, tc.cpu, 1)
		c.Demand[0].Count = int64(tc.pods)
		c.Bound = tc.want
		if err := proof.Check(o, c, key); err != nil {
			t.Errorf("%d pods of %d: %v", tc.pods, tc.cpu, err)
		}
		c.Bound++
		if err := proof.Check(o, c, key); !errors.Is(err, proof.ErrBound) {
			t.Errorf("%d pods of %d for more than %d: %v", tc.pods, tc.cpu, tc.want, err)
		}
	}
}

func TestCheck_RejectsWhatWasTamperedWith(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*cluster.Objects, *plan.Certificate)
		want   error
	}{
		"lambda raised":             {func(_ *cluster.Objects, c *plan.Certificate) { c.Demand[0].Prices[0]++ }, proof.ErrOffering},
		"lambda lowered":            {func(_ *cluster.Objects, c *plan.Certificate) { c.Demand[0].Prices[0]-- }, proof.ErrBound},
		"lambda negative":           {func(_ *cluster.Objects, c *plan.Certificate) { c.Demand[0].Prices[1] = -1 }, proof.ErrForm},
		"lambda of one too few":     {func(_ *cluster.Objects, c *plan.Certificate) { c.Demand[0].Prices = c.Demand[0].Prices[:1] }, proof.ErrForm},
		"surcharge on what is full": {func(_ *cluster.Objects, c *plan.Certificate) { c.Demand[0].Surcharge = 1 }, proof.ErrOffering},
		"surcharge negative":        {func(_ *cluster.Objects, c *plan.Certificate) { c.Demand[0].Surcharge = -1 }, proof.ErrForm},
		"surcharge in place of lambda, too high": {func(_ *cluster.Objects, c *plan.Certificate) {
			c.Demand[0].Prices[0], c.Demand[0].Surcharge = 0, 501<<scale
		}, proof.ErrOffering},
		"surcharge in place of lambda, too low": {func(_ *cluster.Objects, c *plan.Certificate) {
			c.Demand[0].Prices[0], c.Demand[0].Surcharge = 0, 499<<scale
		}, proof.ErrBound},
		"scale lowered":          {func(_ *cluster.Objects, c *plan.Certificate) { c.Scale-- }, proof.ErrOffering},
		"scale absurd":           {func(_ *cluster.Objects, c *plan.Certificate) { c.Scale = 1 << 40 }, proof.ErrForm},
		"bound negative":         {func(_ *cluster.Objects, c *plan.Certificate) { c.Bound = -1 }, proof.ErrForm},
		"node cost negative":     {func(_ *cluster.Objects, c *plan.Certificate) { c.NodeCost = -1 }, proof.ErrForm},
		"demand of one pod more": {func(_ *cluster.Objects, c *plan.Certificate) { c.Demand[0].Count++ }, proof.ErrDemand},
		"demand negative":        {func(_ *cluster.Objects, c *plan.Certificate) { c.Demand[0].Count = -8 }, proof.ErrForm},
		"demand of nobody":       {func(_ *cluster.Objects, c *plan.Certificate) { c.Demand[0].Group = "default/db" }, proof.ErrDemand},
		"demand given twice":     {func(_ *cluster.Objects, c *plan.Certificate) { c.Demand = append(c.Demand, c.Demand[0]) }, proof.ErrForm},
		"resource unknown":       {func(_ *cluster.Objects, c *plan.Certificate) { c.Dimensions[1].Resource = "luck" }, proof.ErrForm},
		"resource that nodes do not tell": {func(o *cluster.Objects, c *plan.Certificate) {
			every(o.Pods, func(p *cluster.Pod) { p.Shape.Requests = p.Shape.Requests.Extend(cluster.AttachSlots("ebs"), 1) })
			c.Dimensions[1] = plan.Dimension{Resource: cluster.AttachSlots("ebs"), Unit: 1}
			c.Demand[0].Prices = []int64{250 << scale, 1000 << scale}
		}, proof.ErrForm},
		"resource given twice":      {func(_ *cluster.Objects, c *plan.Certificate) { c.Dimensions[1] = c.Dimensions[0] }, proof.ErrForm},
		"unit zero":                 {func(_ *cluster.Objects, c *plan.Certificate) { c.Dimensions[0].Unit = 0 }, proof.ErrForm},
		"unit finer than the price": {func(_ *cluster.Objects, c *plan.Certificate) { c.Dimensions[0].Unit = 1 }, proof.ErrOffering},
		"unit larger than the pods": {func(_ *cluster.Objects, c *plan.Certificate) { c.Dimensions[0].Unit = 3000 }, proof.ErrBound},
		"an offering is cheaper":    {func(o *cluster.Objects, _ *plan.Certificate) { o.Classes[0].Types[0].Offerings[1].Price-- }, proof.ErrOffering},
		"a type is larger":          {func(o *cluster.Objects, _ *plan.Certificate) { o.Classes[0].Types[0].Allocatable.MilliCPU += 1000 }, proof.ErrOffering},
		"a type nobody fits on": {func(o *cluster.Objects, _ *plan.Certificate) {
			o.Classes[0].Types = []catalog.InstanceType{instanceType("tiny", 1, 8, onDemand("a", 1))}
		}, proof.ErrDemand},
		"a price is not known":         {func(o *cluster.Objects, _ *plan.Certificate) { o.Classes[0].Types[0].Offerings[0].Price = 0 }, proof.ErrUnpriced},
		"a pod smaller than its group": {func(o *cluster.Objects, _ *plan.Certificate) { o.Pods[3].Shape.Requests.MilliCPU = 1000 }, proof.ErrBound},
		"a pod is gone":                {func(o *cluster.Objects, _ *plan.Certificate) { o.Pods = o.Pods[1:] }, proof.ErrDemand},
		"a pod is leaving":             {func(o *cluster.Objects, _ *plan.Certificate) { o.Pods[0].Deleting = true }, proof.ErrDemand},
		"a pod belongs to its node":    {func(o *cluster.Objects, _ *plan.Certificate) { o.Pods[0].Pinned = true }, proof.ErrDemand},
		"a pod that cannot run": {func(o *cluster.Objects, _ *plan.Certificate) {
			o.Pods[0].Shape.Unsupported = []string{"claim data is missing"}
		}, proof.ErrDemand},
		"a pod already runs": {func(o *cluster.Objects, _ *plan.Certificate) {
			o.Nodes = []cluster.Node{{Name: "n", Claim: "c", Ready: true}}
			o.Claims = []cluster.Claim{{Name: "c", Node: "n", Initialized: true}}
			o.Pods[0].Node = "n"
		}, proof.ErrDemand},
		"a node has room": {func(o *cluster.Objects, _ *plan.Certificate) {
			o.Nodes = []cluster.Node{{Name: "n", Ready: true, Allocatable: size(2, 8)}}
		}, proof.ErrBound},
		"a reservation has room": {func(o *cluster.Objects, _ *plan.Certificate) {
			o.Classes[0].Types[0].Offerings = append(o.Classes[0].Types[0].Offerings, reserved("a", 1))
		}, proof.ErrBound},
	} {
		t.Run(name, func(t *testing.T) {
			o, c := fourNodes()
			tc.change(&o, &c)
			if err := proof.Check(o, c, key); !errors.Is(err, tc.want) {
				t.Errorf("err = %v, want %v", err, tc.want)
			}
		})
	}
}

// An offering is left out of the proof if and only if something keeps the pods
// off it.
func TestCheck_ComparesOnlyOfferingsThatThePodsMayUse(t *testing.T) {
	cheap := func(o *cluster.Objects, pool cluster.Pool) {
		pool.Name, pool.Class, pool.Ready = "cheap", "cheap", true
		o.Pools = append(o.Pools, pool)
		o.Classes = append(o.Classes, cluster.Class{Name: "cheap", Ready: true, Types: []catalog.InstanceType{instanceType("x", 4, 8, onDemand("c", 1))}})
	}
	zone := func(z string) label.Requirements { return label.All(label.Is(label.Zone, z)) }
	for name, tc := range map[string]struct {
		pool   cluster.Pool
		change func(*cluster.Objects)
		apart  bool
	}{
		"nothing":                {cluster.Pool{}, nil, false},
		"a taint":                {cluster.Pool{Taints: []cluster.Taint{{Key: "t", Effect: cluster.NoSchedule}}}, nil, true},
		"a taint that is wished": {cluster.Pool{Taints: []cluster.Taint{{Key: "t", Effect: cluster.PreferNoSchedule}}}, nil, false},
		"the pool's zone":        {cluster.Pool{Requirements: zone("a")}, nil, true},
		"the class is not ready": {cluster.Pool{}, func(o *cluster.Objects) { o.Classes[1].Ready = false }, true},
		"the pool goes":          {cluster.Pool{}, func(o *cluster.Objects) { o.Pools[1].Deleting = true }, true},
		"the image":              {cluster.Pool{}, func(o *cluster.Objects) { o.Classes[1].Types[0].Offerings[0].Available = false }, true},
		"the selector": {cluster.Pool{}, func(o *cluster.Objects) {
			every(o.Pods, func(p *cluster.Pod) { p.Shape.Selector = zone("a") })
		}, true},
		"the selector of all but one": {cluster.Pool{}, func(o *cluster.Objects) {
			every(o.Pods[:7], func(p *cluster.Pod) { p.Shape.Selector = zone("a") })
		}, false},
		"one of two affinity terms allows it": {cluster.Pool{}, func(o *cluster.Objects) {
			every(o.Pods, func(p *cluster.Pod) { p.Shape.NodeAffinity = []label.Requirements{zone("a"), zone("c")} })
		}, false},
		"a volume": {cluster.Pool{}, func(o *cluster.Objects) {
			every(o.Pods, func(p *cluster.Pod) { p.Shape.Volumes = [][]label.Requirements{{zone("a"), zone("b")}} })
		}, true},
		"slots to attach volumes": {cluster.Pool{}, func(o *cluster.Objects) {
			every(o.Pods, func(p *cluster.Pod) { p.Shape.Requests = p.Shape.Requests.Extend(cluster.AttachSlots("ebs"), 1) })
		}, false},
		"a resource that it lacks": {cluster.Pool{}, func(o *cluster.Objects) {
			every(o.Pods, func(p *cluster.Pod) { p.Shape.Requests = p.Shape.Requests.Extend("nvidia.com/gpu", 1) })
			for i := range o.Classes[0].Types {
				o.Classes[0].Types[i].Allocatable = o.Classes[0].Types[i].Allocatable.Extend("nvidia.com/gpu", 8)
			}
		}, true},
		"a name": {cluster.Pool{}, func(o *cluster.Objects) {
			every(o.Pods, func(p *cluster.Pod) {
				p.Shape.NodeAffinity = []label.Requirements{zone("a"), label.All(label.Is(label.NodeName, "n"))}
			})
		}, true},
		"a value that the pool leaves open": {cluster.Pool{Requirements: in(t, "ratio", "spot-1", "spot-2")}, func(o *cluster.Objects) {
			o.Pools[0].Labels = label.FromMap(map[string]string{"ratio": "spot-1"})
			every(o.Pods, func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is("ratio", "spot-1")) })
		}, false},
		"a value that the pool rules out": {cluster.Pool{Requirements: in(t, "ratio", "spot-2", "spot-3")}, func(o *cluster.Objects) {
			o.Pools[0].Labels = label.FromMap(map[string]string{"ratio": "spot-1"})
			every(o.Pods, func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is("ratio", "spot-1")) })
		}, true},
		"a label that only some types have": {cluster.Pool{Requirements: in(t, "gpu", "t4")}, func(o *cluster.Objects) {
			gpu := instanceType("g", 1, 1)
			gpu.Labels = gpu.Labels.With("gpu", "t4")
			o.Classes[1].Types = append(o.Classes[1].Types, gpu)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			o, c := fourNodes()
			cheap(&o, tc.pool)
			if tc.change != nil {
				tc.change(&o)
			}
			if err := proof.Check(o, c, key); tc.apart && err != nil || !tc.apart && !errors.Is(err, proof.ErrOffering) {
				t.Errorf("err = %v, want the cheap pool to be out of reach: %v", err, tc.apart)
			}
		})
	}
}

func every(list []cluster.Pod, f func(*cluster.Pod)) {
	for i := range list {
		f(&list[i])
	}
}

func in(t *testing.T, k string, values ...string) label.Requirements {
	t.Helper()
	r, err := label.NewRequirement(k, label.In, values...)
	if err != nil {
		t.Fatal(err)
	}
	return label.All(r)
}
