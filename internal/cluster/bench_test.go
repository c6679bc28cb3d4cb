package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// mix spreads the bits of x.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// fleet is a cluster with these numbers of pods, deployments and nodes. Every
// other pod is bound to a node. Every tenth deployment spreads its pods over
// zones, and every twentieth keeps its pods apart.
func fleet(pods, deployments, nodes int) Objects {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var o Objects
	for i := range nodes {
		name := fmt.Sprintf("ip-10-0-%d-%d.us-west-2.compute.internal", i/250, i%250)
		l := map[string]string{label.Hostname: name, label.Zone: "us-west-2" + string("abc"[i%3]), label.Arch: "amd64", label.InstanceType: "m7i.8xlarge"}
		for k := range 16 {
			l[fmt.Sprintf("karpenter.k8s.aws/instance-%d", k)] = "x"
		}
		o.Nodes = append(o.Nodes, Node{
			Name: name, UID: fmt.Sprintf("node-%d", i), Labels: label.FromMap(l), Ready: true,
			Allocatable: quantity.Resources{MilliCPU: 31_850, MemoryBytes: 120 << 30, EphemeralBytes: 90 << 30, PodSlots: 110},
		})
	}
	for i := range pods {
		d := i % deployments
		app := fmt.Sprintf("app-%03d", d)
		x := mix(uint64(d + 1))
		p := Pod{
			UID: fmt.Sprintf("%016x-%016x", mix(uint64(i)+99), i), Namespace: fmt.Sprintf("team-%02d", d%20), Name: fmt.Sprintf("%s-%016x", app, mix(uint64(i))),
			Labels: label.FromMap(map[string]string{"app": app, "pod-template-hash": fmt.Sprintf("%08x", uint32(x)), "team": "x"}),
			Owner:  Owner{Kind: "ReplicaSet", Name: app, UID: app}, Created: start.Add(time.Duration(i) * time.Millisecond),
			Shape: Shape{
				Requests: quantity.Resources{MilliCPU: 50 + int64(x%40)*50, MemoryBytes: int64(1+x>>8%16) << 28, PodSlots: 1},
				Tolerations: []Toleration{
					{Key: "node.kubernetes.io/not-ready", Exists: true, Effect: NoExecute},
					{Key: "node.kubernetes.io/unreachable", Exists: true, Effect: NoExecute},
				},
			},
		}
		selector := PodSelector{Match: label.All(label.Is("app", app))}
		if d%10 == 0 {
			p.Shape.Spread = []Spread{{Key: label.Zone, MaxSkew: 1, Selector: selector}}
		}
		if d%20 == 1 {
			p.Shape.PodAntiAffinity = []PodTerm{{Key: label.Hostname, Selector: selector, Namespaces: []string{p.Namespace}, InNamespaces: PodSelector{Nothing: true}}}
		}
		if i%2 == 0 && nodes > 0 {
			p.Node = o.Nodes[mix(uint64(i))%uint64(nodes)].Name
		}
		o.Pods = append(o.Pods, p)
	}
	return o
}

// BenchmarkNew builds the index of a cluster from raw objects.
func BenchmarkNew(b *testing.B) {
	for _, size := range []struct{ pods, deployments, nodes int }{{10_000, 300, 500}, {50_000, 800, 2_000}} {
		b.Run(fmt.Sprintf("pods=%d", size.pods), func(b *testing.B) {
			o := fleet(size.pods, size.deployments, size.nodes)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := New(o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkApply_OnePod is one event on a large cluster: a pod comes, is bound,
// and is deleted.
func BenchmarkApply_OnePod(b *testing.B) {
	o := fleet(50_000, 800, 2_000)
	base, err := New(o)
	if err != nil {
		b.Fatal(err)
	}
	apply := func(s Snapshot, d Delta) Snapshot {
		s, err := s.Apply(d)
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	come := o.Pods[1]
	come.Name, come.UID = "new", "new"
	pending := apply(base, Delta{Put: Objects{Pods: []Pod{come}}})
	bind := come
	bind.Node = o.Nodes[700].Name
	bound := apply(pending, Delta{Put: Objects{Pods: []Pod{bind}}})
	for _, c := range []struct {
		name string
		on   Snapshot
		d    Delta
	}{
		{"comes", base, Delta{Put: Objects{Pods: []Pod{come}}}},
		{"bound", pending, Delta{Put: Objects{Pods: []Pod{bind}}}},
		{"goes", bound, Delta{Removed: Removed{Pods: []string{come.ID()}}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				apply(c.on, c.d)
			}
		})
	}
}

// BenchmarkShapeKey is a plain pod, and one with everything.
func BenchmarkShapeKey(b *testing.B) {
	o := fleet(20, 20, 0)
	for name, s := range map[string]Shape{"plain": o.Pods[2].Shape, "apart": o.Pods[1].Shape} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if s.Key() == "" {
					b.Fatal("no key")
				}
			}
		})
	}
}

// BenchmarkRoomy looks for room on 2,000 nodes, of which few have it.
func BenchmarkRoomy(b *testing.B) {
	s, err := New(fleet(50_000, 800, 2_000))
	if err != nil {
		b.Fatal(err)
	}
	for _, need := range []quantity.Resources{
		{MilliCPU: 30_000, MemoryBytes: 100 << 30},
		{MilliCPU: 15_000, MemoryBytes: 1 << 30},
		{MilliCPU: 100, MemoryBytes: 1 << 30},
	} {
		b.Run(need.String(), func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n = 0
				for range s.Roomy(need) {
					n++
				}
			}
			b.ReportMetric(float64(n), "nodes")
		})
	}
}
