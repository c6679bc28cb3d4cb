package engine_test

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// BenchmarkStep_QuickstartBurst decides on 2 x 40 pods with the quickstart's two
// pools over the whole catalogue of a region, from a snapshot of its own each
// time. Karpenter takes at least a second before it begins to decide.
func BenchmarkStep_QuickstartBurst(b *testing.B) {
	facts, market, err := embedded.Load("us-west-2")
	if err != nil {
		b.Fatal(err)
	}
	class := cluster.Class{Name: "default", Ready: true, Types: catalog.Build(facts, market, catalog.Settings{
		Zones: market.Zones, MemoryOverheadPermille: catalog.DefaultMemoryOverheadPermille,
	})}
	category, _ := label.NewRequirement("karpenter.k8s.aws/instance-category", label.In, "c", "m", "r")
	generation, _ := label.NewRequirement("karpenter.k8s.aws/instance-generation", label.Gt, "4")
	common := label.All(category, generation, label.Is(label.Arch, "amd64"))
	spotTaint := cluster.Taint{Key: "spot", Value: "only", Effect: cluster.NoSchedule}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		w := newWorld(b)
		w.objects.Classes = []cluster.Class{class}
		w.objects.Pools = nil
		w.pool(cluster.Pool{Name: "on-demand", Requirements: common.And(label.All(label.Is(label.CapacityType, label.OnDemand)))})
		w.pool(cluster.Pool{Name: "spot", Taints: []cluster.Taint{spotTaint}, Labels: label.FromMap(map[string]string{"node-group-type": "spot"}),
			Requirements: common.And(label.All(label.Is(label.CapacityType, label.Spot)))})
		w.pods("inflate", 40, 1000).pods("spot", 40, 1000, func(p *cluster.Pod) {
			p.Shape.Selector = label.All(label.Is("node-group-type", "spot"))
			p.Shape.Tolerations = []cluster.Toleration{{Key: "spot", Value: "only", Effect: cluster.NoSchedule}}
		})
		snap, err := cluster.New(w.objects)
		if err != nil {
			b.Fatal(err)
		}
		in := engine.Input{Snapshot: snap, Policy: engine.DefaultPolicy(), Now: start.Add(time.Duration(i)), Seed: uint64(i)}
		b.StartTimer()
		if out := engine.Step(in); len(of[plan.Launch](out)) == 0 {
			b.Fatal("nothing was launched")
		}
	}
}
