package engine_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// tape is what a fuzzed world is made from: each choice is a byte. At its end
// every choice is the first, so that worlds get smaller with it.
type tape struct{ rest []byte }

func (t *tape) n(choices int) int {
	if len(t.rest) == 0 {
		return 0
	}
	b := t.rest[0]
	t.rest = t.rest[1:]
	return int(b) % choices
}

// one says yes once in so many times.
func (t *tape) one(in int) bool { return t.n(in) == in-1 }

func pick[T any](t *tape, list ...T) T { return list[t.n(len(list))] }

// amount is mostly reasonable.
func (t *tape) amount() int64 {
	if !t.one(12) {
		return int64(t.n(40)) * 100
	}
	return pick[int64](t, 0, 1, 1<<20, 1<<40, math.MaxInt64/2, math.MaxInt64-1, math.MaxInt64)
}

func (t *tape) bytes() int64 {
	if !t.one(12) {
		return int64(t.n(40)) << 28
	}
	return pick[int64](t, 0, 1, 1<<50, math.MaxInt64/2, math.MaxInt64)
}

const gpu, slots = "example.com/gpu", "attach/disk"

func (t *tape) resources(pods int64) quantity.Resources {
	r := quantity.Resources{MilliCPU: t.amount(), PodSlots: pods}
	if t.one(2) {
		r.MemoryBytes = t.bytes()
	}
	if t.one(6) {
		r.EphemeralBytes = t.bytes()
	}
	if t.one(6) {
		r = r.Extend(gpu, pick[int64](t, 1, 2, 8, math.MaxInt64))
	}
	if t.one(8) {
		r = r.Extend(slots, pick[int64](t, 1, 3))
	}
	return r
}

func (t *tape) zone() string { return pick(t, "a", "b", "c") }

func (t *tape) requirement() label.Requirement {
	key := pick(t, label.Zone, label.InstanceType, label.CapacityType, "tier", "size", label.Hostname, label.NodeName, label.Arch, label.ZoneID)
	values := []string{pick(t, "a", "b", "t0", "t1", "spot", "on-demand", "4", "n0", "amd64", "")}
	if t.one(2) {
		values = append(values, pick(t, "b", "t2", "on-demand", "reserved", "8"))
	}
	r, err := label.NewRequirement(key, pick(t, label.In, label.In, label.NotIn, label.Exists, label.DoesNotExist, label.Gt, label.Lte), values...)
	if err != nil {
		return label.Is(key, values[0])
	}
	return r
}

func (t *tape) requirements(most int) label.Requirements {
	var list []label.Requirement
	for range t.n(most + 1) {
		list = append(list, t.requirement())
	}
	return label.All(list...)
}

func (t *tape) taint() cluster.Taint {
	return cluster.Taint{Key: pick(t, "x", "y"), Value: pick(t, "", "v"), Effect: pick(t, cluster.NoSchedule, cluster.PreferNoSchedule, cluster.NoExecute)}
}

// labels are sometimes thousands.
func (t *tape) labels() label.Labels {
	m := map[string]string{}
	if t.one(2) {
		m["tier"] = pick(t, "a", "b")
	}
	if t.one(40) {
		for i := range 3000 {
			m[fmt.Sprintf("many/%d", i)] = strings.Repeat("x", i%60)
		}
	}
	return label.FromMap(m)
}

func (t *tape) term() cluster.PodTerm {
	x := term(pick(t, label.Zone, label.Hostname, "tier", label.CapacityType, "nowhere"), pick[int32](t, 0, 0, 7), fmt.Sprint("app", t.n(4)))
	if t.one(6) {
		x.Selector = cluster.PodSelector{}
	}
	if t.one(6) {
		x.InNamespaces = cluster.PodSelector{Match: label.All(label.Is("team", "red"))}
	}
	return x
}

func (t *tape) shape() cluster.Shape {
	s := cluster.Shape{Requests: t.resources(1)}
	if t.one(8) {
		s.Selector = t.requirements(2)
	}
	if t.one(6) {
		for range 1 + t.n(2) {
			s.NodeAffinity = append(s.NodeAffinity, t.requirements(2))
		}
	}
	if t.one(6) {
		s.Preferred = []cluster.Preference{{Weight: int32(1 + t.n(100)), Node: t.requirements(2)}}
	}
	if t.one(3) {
		s.Tolerations = []cluster.Toleration{{Key: pick(t, "", "x", "y"), Exists: true}}
	}
	if t.one(5) {
		s.Priority = pick[int32](t, -1, 5, math.MaxInt32, math.MinInt32)
	}
	if t.one(3) {
		s.Spread = append(s.Spread, cluster.Spread{
			Key: pick(t, label.Zone, label.Hostname, "tier", "nowhere"), MaxSkew: pick[int64](t, 1, 2, math.MaxInt64), MinDomains: pick[int64](t, 0, 2, math.MaxInt64),
			Soft: t.one(3), Selector: pods(fmt.Sprint("app", t.n(4))), IgnoreAffinity: t.one(3), HonorTaints: t.one(3),
		})
	}
	if t.one(4) {
		s.PodAntiAffinity = append(s.PodAntiAffinity, t.term())
	}
	if t.one(4) {
		s.PodAffinity = append(s.PodAffinity, t.term())
	}
	if t.one(6) {
		s.Ports = []cluster.HostPort{{IP: pick(t, "0.0.0.0", "10.0.0.1"), Protocol: "TCP", Port: int32(80 + t.n(2))}}
	}
	if t.one(8) {
		s.Volumes = append(s.Volumes, nil)
		for range t.n(3) {
			s.Volumes[0] = append(s.Volumes[0], t.requirements(1))
		}
	}
	if t.one(10) {
		s.Gang = cluster.Gang{Name: "g", Size: pick[int64](t, 0, 2, math.MaxInt64)}
	}
	if t.one(20) {
		s.Unsupported = []string{"a volume that is gone"}
	}
	return s
}

func (t *tape) class(name string) cluster.Class {
	c := cluster.Class{Name: name, Ready: !t.one(10)}
	for i := range t.n(5) {
		x := catalog.InstanceType{Name: fmt.Sprint("t", i), Capacity: t.resources(pick[int64](t, 30, 2, 0, math.MaxInt64))}
		if !t.one(5) {
			x.Capacity = x.Capacity.Max(quantity.Resources{MilliCPU: int64(1+i) * 2000, MemoryBytes: int64(1+i) << 32, EphemeralBytes: 20 << 30, PodSlots: 8})
		}
		x.Allocatable = x.Capacity.Sub(quantity.Resources{MilliCPU: 100})
		if t.one(20) {
			x.Allocatable.MilliCPU = math.MinInt64 + 1
		}
		x.Labels = label.FromMap(map[string]string{label.InstanceType: x.Name, label.Arch: "amd64", "size": fmt.Sprint(i)})
		for _, zone := range []string{"a", "b", "c"}[:1+t.n(3)] {
			for _, kind := range []string{label.OnDemand, label.Spot} {
				price := pick(t, quantity.Money(i+1)*85_000_000, quantity.Money(t.n(50))*10_000_000, 0, 1, 10_000*quantity.NanoDollars)
				x.Offerings = append(x.Offerings, catalog.Offering{Zone: zone, ZoneID: "id-" + zone, CapacityType: kind, Price: price, Available: !t.one(8)})
			}
		}
		if t.one(5) {
			x.Offerings = append(x.Offerings, catalog.Offering{
				Zone: t.zone(), CapacityType: label.Reserved, Reservation: "cr", Available: true, Left: pick[int64](t, 1, 0, math.MaxInt64),
			})
		}
		c.Types = append(c.Types, x)
	}
	return c
}

func (t *tape) pool(name string) cluster.Pool {
	p := cluster.Pool{
		Name: name, UID: "uid-" + name, Class: pick(t, "c0", "c0", "c0", "c1", "gone"), Weight: pick[int32](t, 0, 0, 1, 100),
		Labels: t.labels(), Ready: !t.one(10), Deleting: t.one(15), Disruption: cluster.Disruption{After: pick(t, 30*time.Second, 0, math.MaxInt64), Never: t.one(5)},
	}
	if t.one(6) {
		for _, r := range t.requirements(3) {
			if r.Key() != label.Hostname && r.Key() != label.NodeName { // refused by the API
				p.Requirements = append(p.Requirements, r)
			}
		}
	}
	if t.one(5) {
		p.Taints = []cluster.Taint{t.taint()}
	}
	if t.one(5) {
		p.StartupTaints = []cluster.Taint{t.taint()}
	}
	if t.one(3) {
		p.Limits = []quantity.Amount{{Name: pick(t, "cpu", "nodes", "memory", gpu, "nonsense", ""), Count: pick[int64](t, 0, 1, 3, 8000, 1<<36, math.MaxInt64)}}
	}
	if t.one(8) {
		p.MinValues = []cluster.MinValues{{Key: pick(t, label.InstanceType, "size", "nowhere"), Count: pick(t, 1, 2, math.MaxInt)}}
	}
	return p
}

// world fills a cluster with objects of every kind. References may lead nowhere.
func (t *tape) world(w *world) {
	o := &w.objects
	o.Pools, o.Classes = nil, nil
	for i := range 1 + t.n(2) {
		o.Classes = append(o.Classes, t.class(fmt.Sprint("c", i)))
	}
	for i := range t.n(4) {
		o.Pools = append(o.Pools, t.pool(fmt.Sprint("p", i)))
	}
	t.fleet(o)
	for i := range t.n(5) {
		t.app(w, fmt.Sprint("app", i), 1+t.n(7))
	}
	for i := range t.n(3) {
		o.DaemonSets = append(o.DaemonSets, cluster.DaemonSet{Namespace: "kube-system", Name: fmt.Sprint("ds", i), UID: fmt.Sprint("ds", i), Shape: t.shape()})
	}
	for i := range t.n(3) {
		o.Workloads = append(o.Workloads, cluster.Workload{
			Kind: "ReplicaSet", Namespace: "default", Name: fmt.Sprint("rs", i), UID: fmt.Sprint("rs", i),
			Missing: pick[int64](t, 1, 0, 5, 40), Labels: label.FromMap(map[string]string{"app": fmt.Sprint("app", i)}), Shape: t.shape(),
		})
	}
	if t.one(3) {
		o.Namespaces = []cluster.Namespace{{Name: "default", Labels: label.FromMap(map[string]string{"team": "red"})}}
	}
	w.policy.IgnorePreferences, w.policy.BestEffortMinValues = t.one(4), t.one(3)
	if t.one(20) {
		w.policy = engine.Policy{}
	}
	w.policy.OnDemandTolerance = pick(t, w.policy.OnDemandTolerance, 0, 1000, math.MaxInt64)
	for range t.n(4) {
		w.memory = unavailable(w.memory, w.now.Add(time.Minute), catalog.OfferingKey{
			CapacityType: pick(t, label.OnDemand, label.Spot), InstanceType: fmt.Sprint("t", t.n(3)), Zone: t.zone(),
		})
	}
	if t.one(6) {
		w.memory.Planned = []memory.Planned{{Claim: "m0", Slots: []cluster.Slot{{Kind: "nonsense", Count: math.MaxInt64}}}}
	}
}

// age is that of a NodeClaim: one in four has had more time than it takes to come up.
func (t *tape) age() time.Duration {
	n := t.n(256)
	return time.Duration(n%30+n/192*30) * time.Minute
}

// fleet adds nodes, NodeClaims, and either without the other.
func (t *tape) fleet(o *cluster.Objects) {
	for i := range t.n(5) {
		c := cluster.Claim{
			Name: fmt.Sprint("m", i), UID: fmt.Sprint("m", i), Pool: pick(t, "p0", "p1", "gone"), Class: pick(t, "c0", "gone"), Labels: t.labels(),
			Launched: t.one(2), Created: start.Add(-t.age()), Deleting: t.one(8), Requirements: t.requirements(1),
		}
		if c.Launched {
			c.InstanceType, c.Zone, c.CapacityType, c.Allocatable = pick(t, "t0", "gone"), t.zone(), label.OnDemand, t.resources(20)
			c.Registered = t.one(2)
			c.Initialized = c.Registered && t.one(2)
		}
		if t.one(8) {
			c.Interruption = &cluster.Interruption{Reason: "x", Noticed: start, Deadline: start.Add(pick(t, 2*time.Minute, 0, -time.Hour))}
		}
		if c.Registered || t.one(5) {
			c.Node = fmt.Sprint("n", i)
		}
		if !t.one(6) {
			o.Claims = append(o.Claims, c)
		}
		if c.Node == "" || t.one(6) {
			continue
		}
		n := cluster.Node{
			Name: c.Node, UID: c.Node, Allocatable: t.resources(20), Ready: !t.one(5), Cordoned: t.one(8), Deleting: t.one(10),
			Claim: pick(t, c.Name, c.Name, "", "gone"), DoNotDisrupt: t.one(8),
			Labels: label.FromMap(map[string]string{label.Zone: t.zone(), label.Hostname: c.Node, label.NodeName: c.Node, "tier": pick(t, "a", "b")}),
		}
		if !c.Initialized {
			n.Taints = []cluster.Taint{kept}
		} else if t.one(5) {
			n.Taints = []cluster.Taint{t.taint()}
		}
		n.Allocatable.MilliCPU = max(n.Allocatable.MilliCPU, 100) // none is what a kubelet says that has not said any
		o.Nodes = append(o.Nodes, n)
	}
}

// app adds pods of one shape, most of them pending.
func (t *tape) app(w *world, name string, n int) {
	shape, from := t.shape(), len(w.objects.Pods)
	labels := label.FromMap(map[string]string{"app": name})
	w.pods(name, n, 0, func(p *cluster.Pod) { p.Shape, p.Labels = shape, labels })
	for i := range w.objects.Pods[from:] {
		p := &w.objects.Pods[from+i]
		p.Unschedulable = t.one(2)
		switch t.n(10) {
		case 6:
			p.Nominated, p.NominatedByUs = pick(t, "n0", "n1", "gone"), t.one(2)
		case 7:
			p.Deleting = true
		case 8, 9:
			p.Node = pick(t, "n0", "n1", "n2", "gone")
			p.Pinned, p.DoNotDisrupt = t.one(4), t.one(6)
		}
	}
}

// shuffled is the same world, said in another order.
func shuffled(o cluster.Objects) cluster.Objects {
	o.Pods, o.Nodes, o.Claims = slices.Clone(o.Pods), slices.Clone(o.Nodes), slices.Clone(o.Claims)
	o.Pools, o.Classes = slices.Clone(o.Pools), slices.Clone(o.Classes)
	o.DaemonSets, o.Workloads = slices.Clone(o.DaemonSets), slices.Clone(o.Workloads)
	slices.Reverse(o.Pods)
	slices.Reverse(o.Nodes)
	slices.Reverse(o.Claims)
	slices.Reverse(o.Pools)
	slices.Reverse(o.Classes)
	slices.Reverse(o.DaemonSets)
	slices.Reverse(o.Workloads)
	for i := 1; i < len(o.Pods); i += 2 {
		o.Pods[i-1], o.Pods[i] = o.Pods[i], o.Pods[i-1]
	}
	return o
}
