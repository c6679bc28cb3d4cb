package bench

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const (
	orderedClaims = 1_900
	largeNodes    = 2_000
)

// ordered is a cluster of NodeClaims that are not launched yet. Each may become any
// type of the pool, and is for one pod that waits for it.
func ordered(tb testing.TB, claims int) cluster.Snapshot {
	tb.Helper()
	base := publishedBase(tb)
	objects := base.objects
	objects.Pods = Pods(0, []Deployment{{Name: "waits", MilliCPU: 300, MiB: 300, Count: int64(claims)}})
	one := &objects.Pods[0]
	slots := []cluster.Slot{{Kind: base.snapshot.GroupFor(one.Namespace, one.Labels, one.Shape).Kind, Count: 1}}
	labels := label.FromMap(map[string]string{label.NodePool: "bench", label.NodeClass: "bench"})
	for i := range claims {
		name := fmt.Sprintf("bench-%06d", i)
		objects.Claims = append(objects.Claims, cluster.Claim{
			Name: name, UID: name, Pool: "bench", Class: "bench", Labels: append(label.Labels(nil), labels...), Requirements: anyType(tb, base),
			Requests: one.Shape.Requests, Planned: slots, Created: Began(),
		})
	}
	snapshot, err := cluster.New(objects)
	if err != nil {
		tb.Fatal(err)
	}
	return snapshot
}

func publishedBase(tb testing.TB) Base {
	tb.Helper()
	setting, err := Published(0)
	if err != nil {
		tb.Fatal(err)
	}
	base, err := Warm(setting)
	if err != nil {
		tb.Fatal(err)
	}
	return base
}

// anyType are the requirements of a NodeClaim that may become any type of the pool,
// in memory of their own, as each NodeClaim comes from the API server.
func anyType(tb testing.TB, base Base) label.Requirements {
	tb.Helper()
	var types []string
	for _, t := range base.Setting.Types {
		if _, no := base.objects.Pools[0].Requirements.Unmet(&label.Layers{t.Labels, {{Key: label.CapacityType, Value: label.OnDemand}}}); !no {
			types = append(types, t.Name)
		}
	}
	in, err := label.NewRequirement(label.InstanceType, label.In, types...)
	if err != nil {
		tb.Fatal(err)
	}
	zones, err := label.NewRequirement(label.Zone, label.In, "us-east-1a", "us-east-1b", "us-east-1c")
	if err != nil {
		tb.Fatal(err)
	}
	return base.objects.Pools[0].Requirements.And(label.All(in, zones))
}

// benchmarkOrdered adds one pod beside 1,900 NodeClaims that are not launched yet:
// one that has room there, or one that needs a launch.
func benchmarkOrdered(b *testing.B, milliCPU int64, launches int) {
	b.Helper()
	snapshot := ordered(b, orderedClaims)
	now := Began().Add(time.Minute) // what waits keeps its place by now
	memory := engine.Step(engine.Input{Snapshot: snapshot, Policy: Policy(), Now: now}).Memory
	runtime.GC()
	b.ReportAllocs()
	for i := uint64(1); b.Loop(); i++ {
		b.StopTimer()
		pod := Pods(i, []Deployment{{Name: "one-more", MilliCPU: milliCPU, MiB: 100, Count: 1}})
		next, err := snapshot.Apply(cluster.Delta{Put: cluster.Objects{Pods: pod}})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		out := engine.Step(engine.Input{Snapshot: next, Memory: memory, Policy: Policy(), Now: now, Seed: i})
		b.StopTimer()
		if n := len(Fleet(out.Plan)); n != launches || out.Trace.Refused != 0 {
			b.Fatalf("%d launches, %+v", n, out.Trace)
		}
		b.StartTimer()
	}
}

// stuck is a cluster of that many nodes that run pods, two of which exclude each
// other as those of CoreDNS do, and of 20 pending ones that can run nowhere.
func stuck(tb testing.TB, nodes int) cluster.Snapshot {
	tb.Helper()
	base := publishedBase(tb)
	objects := base.objects
	running(&objects, base.Setting, nodes, func(int) int { return podsOnNode })
	for i := range 2 {
		objects.Pods = append(objects.Pods, dns(nodeName(i), i))
	}
	objects.Pods = append(objects.Pods, never()...)
	snapshot, err := cluster.New(objects)
	if err != nil {
		tb.Fatal(err)
	}
	return snapshot
}

// never are pods of 20 kinds that can run nowhere: half ask for a label that no node
// has, half for 1,000 CPUs.
func never() (pods []cluster.Pod) {
	for i := range 20 {
		p := Pods(0, []Deployment{{Name: fmt.Sprintf("never-%d", i), MilliCPU: 100 + int64(i), MiB: 100, Count: 1}})[0]
		if i%2 == 0 {
			p.Shape.Selector = label.All(label.Is("example.com/disk", fmt.Sprintf("nvme-%d", i)))
		} else {
			p.Shape.Requests = quantity.Resources{MilliCPU: 1_000_000 + int64(i), MemoryBytes: 1 << 30, PodSlots: 1}
		}
		pods = append(pods, p)
	}
	return pods
}

// benchmarkStuck is a Step for each pod that starts or ends on a node while 20 pods
// can run nowhere.
func benchmarkStuck(b *testing.B) {
	b.Helper()
	snapshot := stuck(b, largeNodes)
	memory := engine.Step(engine.Input{Snapshot: snapshot, Policy: Policy(), Now: Began()}).Memory
	runtime.GC()
	b.ReportAllocs()
	for i := uint64(1); b.Loop(); i++ {
		b.StopTimer()
		pod := Pods((i+1)/2, []Deployment{{Name: "passes", MilliCPU: 50, MiB: 50, Count: 1}})
		pod[0].Node, pod[0].Unschedulable = fmt.Sprintf("node-%06d", (i+1)/2%largeNodes), false
		delta := cluster.Delta{Put: cluster.Objects{Pods: pod}}
		if i%2 == 0 {
			delta = cluster.Delta{Removed: cluster.Removed{Pods: []string{pod[0].ID()}}}
		}
		next, err := snapshot.Apply(delta)
		if err != nil {
			b.Fatal(err)
		}
		snapshot = next
		b.StartTimer()
		out := engine.Step(engine.Input{Snapshot: snapshot, Memory: memory, Policy: Policy(), Now: Began(), Seed: i})
		b.StopTimer()
		memory = out.Memory
		if out.Trace.Refused != 20 || len(out.Plan.Actions) > 0 {
			b.Fatalf("%+v, %d actions", out.Trace, len(out.Plan.Actions))
		}
		b.StartTimer()
	}
}
