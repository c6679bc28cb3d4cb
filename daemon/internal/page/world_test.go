package page

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// world is a made-up cluster with a page of it.
type world struct {
	tb      testing.TB
	page    *Page
	objects cluster.Objects
	memory  engine.Memory
	policy  engine.Policy
	now     time.Time
	seed    uint64
	pools   map[string]*v1.NodePool

	mu    sync.Mutex           // for what the page asks for meanwhile
	since map[string]time.Time // of pods that wait
	audit plan.Audit
	made  bool // there is one
}

func (w *world) NodePool(name string) (*v1.NodePool, bool) {
	p, there := w.pools[name]
	return p, there
}

func (w *world) WaitingSince(pod string) (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, seen := w.since[pod]
	return t, seen
}

func (w *world) audited() (plan.Audit, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.audit, w.made
}

// newWorld has four pools with nodes, one that is not ready, and three nodes of no pool, each node with pods.
func newWorld(tb testing.TB, now time.Time) *world {
	tb.Helper()
	w := &world{tb: tb, page: &Page{}, now: now, seed: 7, policy: engine.DefaultPolicy(), pools: map[string]*v1.NodePool{}, since: map[string]time.Time{}}
	w.objects.Classes = []cluster.Class{{Name: "default", Ready: true, Types: []catalog.InstanceType{
		instanceType("c6g.xlarge", 4, 8, 148_000_000), instanceType("c7g.2xlarge", 8, 16, 312_800_000), instanceType("c7g.xlarge", 4, 8, 145_000_000),
		instanceType("m7g.2xlarge", 8, 32, 326_400_000), instanceType("m7g.4xlarge", 16, 64, 652_800_000),
		instanceType("m7g.large", 2, 8, 81_600_000), instanceType("m7g.xlarge", 4, 16, 163_200_000),
		instanceType("r7g.2xlarge", 8, 64, 428_400_000), instanceType("r7g.4xlarge", 16, 128, 856_800_000),
	}}}
	nights := &cluster.Schedule{Minutes: 1, Hours: 1 << 22, Days: 1<<32 - 2, Months: 1<<13 - 2, Weekdays: 1<<7 - 1, AnyDay: true, AnyWeekday: true, Zone: time.UTC, Text: "0 22 * * *"}
	w.pool(cluster.Pool{
		Name: "general", Weight: 10, Limits: []quantity.Amount{{Name: "cpu", Count: 400_000}, {Name: "memory", Count: 1600 << 30}},
		Disruption: cluster.Disruption{Policy: cluster.WhenEmptyOrUnderutilized, After: 24 * time.Hour, Budgets: []cluster.Budget{{Most: 10, Percent: true}, {Most: 0, Reasons: []string{"Drifted"}, Schedule: nights, Duration: 8 * time.Hour}}},
	}, label.OnDemand)
	w.pool(cluster.Pool{Name: "batch", Disruption: cluster.Disruption{Policy: cluster.WhenEmpty, After: 5 * time.Minute}, Limits: []quantity.Amount{{Name: "cpu", Count: 72_000}}}, label.Spot)
	w.pool(cluster.Pool{Name: "databases", Disruption: cluster.Disruption{Policy: cluster.WhenEmpty, Paused: true}, Taints: []cluster.Taint{{Key: "dedicated", Value: "db", Effect: cluster.NoSchedule}}}, label.Reserved)
	w.pool(cluster.Pool{Name: "edge", Static: true, Replicas: 2, Disruption: cluster.Disruption{Policy: cluster.WhenEmpty}}, label.OnDemand)
	w.pool(cluster.Pool{
		Name: "gpu", NotReady: "EC2NodeClass gpu is not ready: no subnet has the tag team=ml", Taints: []cluster.Taint{{Key: "nvidia.com/gpu", Effect: cluster.NoSchedule}},
		Disruption: cluster.Disruption{Policy: cluster.WhenEmpty},
	}, label.OnDemand)
	for i, t := range []string{"m7g.4xlarge", "m7g.4xlarge", "m7g.2xlarge", "m7g.2xlarge", "r7g.2xlarge", "c7g.2xlarge", "m7g.xlarge", "m7g.xlarge", "m7g.large", "c7g.xlarge"} {
		w.node("general", t, label.OnDemand, i, 45+(i*17)%52)
	}
	for i, t := range []string{"c7g.2xlarge", "c7g.2xlarge", "c7g.2xlarge", "c7g.2xlarge", "m7g.2xlarge", "m7g.2xlarge", "c7g.xlarge", "c7g.xlarge", "m7g.4xlarge"} {
		w.node("batch", t, label.Spot, i, 38+(i*23)%60)
	}
	w.node("databases", "r7g.4xlarge", label.Reserved, 0, 71)
	w.node("databases", "r7g.4xlarge", label.Reserved, 1, 64)
	w.node("edge", "m7g.large", label.OnDemand, 0, 55)
	w.node("edge", "m7g.large", label.OnDemand, 1, 50)
	for i := range 3 {
		w.node("", "m7g.xlarge", "", i, 35+10*i)
	}
	w.page.Begin(Source{World: w, Audit: w.audited, Version: "1.4.0", Cluster: "shop-production"})
	return w
}

// instanceType is sold in three zones, on demand, as spot at a third, and as a reservation.
func instanceType(name string, vcpu, gib int64, price quantity.Money) catalog.InstanceType {
	capacity := quantity.Resources{MilliCPU: vcpu * 1000, MemoryBytes: gib << 30, EphemeralBytes: 20 << 30, PodSlots: 58}
	t := catalog.InstanceType{
		Name: name, Capacity: capacity, Allocatable: capacity.Sub(quantity.Resources{MilliCPU: 90, MemoryBytes: 700 << 20}),
		Labels: label.FromMap(map[string]string{label.InstanceType: name, label.Arch: "arm64", label.OS: "linux"}),
	}
	for _, zone := range []string{"eu-west-1a", "eu-west-1b", "eu-west-1c"} {
		t.Offerings = append(t.Offerings,
			catalog.Offering{Zone: zone, CapacityType: label.OnDemand, Price: price, Available: true},
			catalog.Offering{Zone: zone, CapacityType: label.Spot, Price: price / 3, Available: true})
	}
	if name == "r7g.4xlarge" {
		t.Offerings = append(t.Offerings, catalog.Offering{Zone: "eu-west-1a", CapacityType: label.Reserved, Price: price / 4, Available: true, Reservation: "cr-0123456789abcdef0"})
	}
	return t
}

func (w *world) pool(p cluster.Pool, buy string) {
	p.Class, p.Ready, p.UID = "default", p.NotReady == "", "uid-"+p.Name
	p.Requirements = label.All(label.Is(label.CapacityType, buy))
	w.objects.Pools = append(w.objects.Pools, p)
	object := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: p.Name, CreationTimestamp: metav1.NewTime(w.now.Add(-90 * 24 * time.Hour))}}
	for _, is := range []string{v1.ConditionNodeClassReady, v1.ConditionValidationSucceeded, v1.ConditionNodeRegistrationHealthy} {
		object.Conditions().SetTrue(is, w.now.Add(-90*24*time.Hour))
	}
	if !p.Ready {
		object.Conditions().Set(v1.ConditionNodeClassReady, metav1.ConditionFalse, "NodeClassNotReady", p.NotReady, w.now.Add(-time.Hour))
		object.Spec.Template.Spec.Taints = []v1.Taint{{Key: "nvidia.com/gpu", Effect: corev1.TaintEffectNoSchedule, TimeAdded: &metav1.Time{Time: w.now}}}
	}
	w.pools[p.Name] = object
}

// node adds a node of the pool, or of none, with pods that fill so many per cent of its CPU.
func (w *world) node(pool, instanceType, buy string, i, percent int) {
	t := w.objects.Classes[0].Types[slices.IndexFunc(w.objects.Classes[0].Types, func(t catalog.InstanceType) bool { return t.Name == instanceType })]
	zone, created := "eu-west-1"+string("abc"[i%3]), w.now.Add(-time.Duration(3+5*i)*time.Hour)
	n := cluster.Node{
		Name: fmt.Sprintf("ip-10-%d-%d-%d.eu-west-1.compute.internal", len(pool), i, 11+7*i), Allocatable: t.Allocatable, Ready: true, Created: created,
		Labels: t.Labels.With(label.Zone, zone).With(label.CapacityType, buy),
	}
	n.UID, n.Labels = "uid-"+n.Name, n.Labels.With(label.Hostname, n.Name)
	if pool != "" {
		c := cluster.Claim{
			Name: fmt.Sprintf("%s-%05x", pool, 0x3fa1+i*977), Pool: pool, Class: "default", Labels: n.Labels, Requests: quantity.Resources{}, InstanceID: fmt.Sprintf("i-%017x", 0xabc000+i*len(pool)*131),
			InstanceType: instanceType, Zone: zone, CapacityType: buy, Capacity: t.Capacity, Allocatable: t.Allocatable, Node: n.Name,
			Launched: true, LaunchedAt: created, Registered: true, Initialized: true, InitializedAt: created, LastPodEvent: w.now.Add(-time.Duration(i) * 20 * time.Minute), Created: created,
		}
		if buy == label.Reserved {
			zone, c.Zone, c.Reservation = "eu-west-1a", "eu-west-1a", "cr-0123456789abcdef0"
			n.Labels = n.Labels.With(label.Zone, zone)
		}
		c.UID, n.Claim = "uid-"+c.Name, c.Name
		w.objects.Claims = append(w.objects.Claims, c)
	}
	w.objects.Nodes = append(w.objects.Nodes, n)
	services := []string{"checkout", "catalog", "search", "cart", "images", "mail"}
	each := max(t.Allocatable.MilliCPU*int64(percent)/100/5, 1)
	for k := range 5 {
		w.pods(services[(i+k)%len(services)], 1, each, func(p *cluster.Pod) {
			p.Name, p.Node, p.Unschedulable = fmt.Sprintf("%s-6c9f7-%s%x%x", p.Owner.Name, pool[:min(len(pool), 1)], i, k), n.Name, false
			p.UID = "uid-" + p.Name
			if buy != "" {
				p.Shape.Selector = label.All(label.Is(label.CapacityType, buy))
			}
			if pool == "databases" {
				p.Shape.Tolerations = []cluster.Toleration{{Key: "dedicated", Exists: true}}
			}
			p.Shape.Requests.MemoryBytes = each * (3 + int64(i%3)*2) << 20 / 4
		})
	}
	w.pods("node-agent", 1, 50, func(p *cluster.Pod) {
		p.Owner.Kind, p.Pinned, p.Node, p.Unschedulable = "DaemonSet", true, n.Name, false
		p.Name = fmt.Sprintf("node-agent-%d%x", len(pool), i)
		p.UID = "uid-" + p.Name
	})
}

// pods adds n pods of milliCPU each, which wait.
func (w *world) pods(app string, n int, milliCPU int64, with ...func(*cluster.Pod)) {
	for i := range n {
		p := cluster.Pod{
			Namespace: "shop", Name: fmt.Sprintf("%s-7b4d9-%02d", app, i), Created: w.now.Add(-time.Minute), Unschedulable: true,
			Owner: cluster.Owner{Kind: "ReplicaSet", Name: app, UID: "set-" + app},
			Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: milliCPU, MemoryBytes: 256 << 20, PodSlots: 1}},
		}
		p.UID = "uid-" + p.Name
		for _, f := range with {
			f(&p)
		}
		if p.Node == "" {
			w.mu.Lock()
			w.since[p.ID()] = w.now.Add(-45 * time.Second)
			w.mu.Unlock()
		}
		w.objects.Pods = append(w.objects.Pods, p)
	}
}

// step makes a decision, which the page is told of.
func (w *world) step() engine.Output {
	w.tb.Helper()
	snapshot, err := cluster.New(w.objects)
	if err != nil {
		w.tb.Fatal(err)
	}
	w.seed++
	in := engine.Input{Snapshot: snapshot, Memory: w.memory, Policy: w.policy, Now: w.now, Seed: w.seed}
	out := engine.Step(in)
	w.memory, in.Memory = out.Memory, out.Memory
	audit := engine.Audit(in)
	w.mu.Lock()
	w.audit, w.made = audit, true
	w.mu.Unlock()
	w.page.Note(in, out.Plan)
	return out
}

// order turns launches into NodeClaims that have no node yet.
func (w *world) order(out engine.Output) (names []string) {
	for _, a := range out.Plan.Actions {
		l, is := a.(plan.Launch)
		if !is {
			continue
		}
		var types []string
		for _, c := range l.Types {
			types = append(types, c.Type)
		}
		in, err := label.NewRequirement(label.InstanceType, label.In, types...)
		if err != nil {
			w.tb.Fatal(err)
		}
		w.objects.Claims = append(w.objects.Claims, cluster.Claim{
			Name: l.Name, UID: "uid-" + l.Name, Pool: l.Pool, Class: l.Class, Labels: l.Labels, CapacityType: l.CapacityType,
			Requirements: l.Requirements.And(label.All(in, label.Is(label.CapacityType, l.CapacityType))), Requests: l.Content, Planned: l.Planned, Created: w.now,
		})
		w.page.Launched(l, w.now)
		names = append(names, l.Name)
	}
	return names
}

// first returns a NodeClaim of the pool, to be changed.
func (w *world) first(pool string) *cluster.Claim {
	i := slices.IndexFunc(w.objects.Claims, func(c cluster.Claim) bool { return c.Pool == pool })
	return &w.objects.Claims[i]
}
