package bench

import (
	"fmt"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// BenchmarkStuckPods decides again and again in a cluster of some 1,300 nodes whose pods come and
// go, while 100 pods with rules about others can never run.
func BenchmarkStuckPods(b *testing.B) {
	s, err := Stand(1, Pods(1, Large(1, 40_000)), 16)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 100 {
		app := fmt.Sprint("stuck-", i/10)
		p := small(1)
		p.Name, p.UID, p.Node = fmt.Sprint("stuck", i), fmt.Sprint("stuck", i), ""
		p.Labels = label.FromMap(map[string]string{"app": app})
		p.Created = Began()
		p.Unschedulable = true
		like := cluster.PodSelector{Match: label.All(label.Is("app", app))}
		p.Shape.Selector = label.All(label.Is("gpu", "yes"))
		p.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: like}, {Key: label.Hostname, MaxSkew: 1, Selector: like}}
		p.Shape.PodAntiAffinity = []cluster.PodTerm{{Key: label.Hostname, Selector: like, Namespaces: []string{p.Namespace}}}
		s.Objects.Pods = append(s.Objects.Pods, p)
	}
	in, err := s.Input(0)
	if err != nil {
		b.Fatal(err)
	}
	out := engine.Step(in)
	in.Memory = out.Memory
	b.ReportAllocs()
	var pod cluster.Pod
	for _, p := range s.Objects.Pods {
		if p.Node != "" {
			pod = p
			break
		}
	}
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		d := cluster.Delta{Removed: cluster.Removed{Pods: []string{pod.ID()}}}
		if i%2 == 1 {
			d = cluster.Delta{Put: cluster.Objects{Pods: []cluster.Pod{pod}}}
		}
		next, err := in.Snapshot.Apply(d)
		if err != nil {
			b.Fatal(err)
		}
		in.Snapshot = next
		b.StartTimer()
		out := engine.Step(in)
		in.Memory = out.Memory
	}
}
