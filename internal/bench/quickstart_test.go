package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// BenchmarkStep_QuickstartBurst decides on 2 x 40 pods with the quickstart's two
// pools over the whole catalogue of a region.
func BenchmarkStep_QuickstartBurst(b *testing.B) {
	facts, market, err := embedded.Load("us-west-2")
	if err != nil {
		b.Fatal(err)
	}
	class := cluster.Class{Name: "default", Ready: true, Types: catalog.Build(facts, market, catalog.Settings{
		Zones: market.Zones, MemoryOverheadPerMillion: catalog.DefaultMemoryOverheadPerMillion,
	})}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b.ReportAllocs()
	launches := 0
	for i := uint64(1); b.Loop(); i++ {
		b.StopTimer()
		snapshot, err := cluster.New(burst(b, class, int64(i)))
		if err != nil {
			b.Fatal(err)
		}
		in := engine.Input{Snapshot: snapshot, Policy: engine.DefaultPolicy(), Now: start, Seed: i}
		b.StartTimer()
		out := engine.Step(in)
		b.StopTimer()
		for _, a := range out.Plan.Actions {
			if _, ok := a.(plan.Launch); ok {
				launches++
			}
		}
		b.StartTimer()
	}
	if launches == 0 {
		b.Fatal("nothing was launched")
	}
}

// burst is the quickstart's pools and 40 pods for each; memory differs from
// iteration to iteration.
func burst(b *testing.B, class cluster.Class, iteration int64) cluster.Objects {
	b.Helper()
	require := func(key string, op label.Operator, values ...string) label.Requirement {
		r, err := label.NewRequirement(key, op, values...)
		if err != nil {
			b.Fatal(err)
		}
		return r
	}
	common := label.All(require("karpenter.k8s.aws/instance-category", label.In, "c", "m", "r"),
		require("karpenter.k8s.aws/instance-generation", label.Gt, "4"), label.Is(label.Arch, "amd64"))
	objects := cluster.Objects{Classes: []cluster.Class{class}, Pools: []cluster.Pool{
		{Name: "on-demand", Class: "default", Ready: true, Requirements: common.And(label.All(label.Is(label.CapacityType, label.OnDemand)))},
		{
			Name: "spot", Class: "default", Ready: true, Requirements: common.And(label.All(label.Is(label.CapacityType, label.Spot))),
			Taints: []cluster.Taint{{Key: "spot", Value: "only", Effect: cluster.NoSchedule}},
			Labels: label.FromMap(map[string]string{"node-group-type": "spot"}),
		},
	}}
	for i := range 80 {
		p := cluster.Pod{Namespace: "default", Name: fmt.Sprintf("inflate-%02d", i), Shape: cluster.Shape{
			Requests: quantity.Resources{MilliCPU: 1000, MemoryBytes: (64 + iteration%64) << 20, PodSlots: 1},
		}}
		if i%2 == 1 {
			p.Shape.Selector = label.All(label.Is("node-group-type", "spot"))
			p.Shape.Tolerations = []cluster.Toleration{{Key: "spot", Value: "only", Effect: cluster.NoSchedule}}
		}
		objects.Pods = append(objects.Pods, p)
	}
	return objects
}
