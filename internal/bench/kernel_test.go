package bench

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/bound"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// overhead is what DaemonSets take of each node in every benchmark.
var overhead = quantity.Resources{MilliCPU: 350, MemoryBytes: 600 << 20, PodSlots: 6}

// published are the instance types of the published comparison: c, m and r of
// generation 5 and up, amd64, not metal, on demand in three zones of us-east-1.
func published(maxVCPU int) ([]catalog.InstanceType, error) {
	all, market, err := embedded.Load("us-east-1")
	if err != nil {
		return nil, fmt.Errorf("catalogue load: %w", err)
	}
	facts := slices.DeleteFunc(slices.Clone(all), func(f catalog.Fact) bool {
		return !slices.Contains([]string{"c", "m", "r"}, f.Category) || f.Generation <= 4 || f.Arch != "amd64" ||
			strings.Contains(f.Size, "metal") || maxVCPU > 0 && f.VCPU > maxVCPU
	})
	zones := slices.DeleteFunc(slices.Clone(market.Zones), func(z catalog.Zone) bool {
		return !slices.Contains([]string{"us-east-1a", "us-east-1b", "us-east-1c"}, z.Name)
	})
	return catalog.Build(facts, market, catalog.Settings{Zones: zones, MemoryOverheadPerMillion: catalog.DefaultMemoryOverheadPerMillion}), nil
}

// offers are the types as the packer sees them: cpu, memory, ephemeral storage
// and pods, after the overhead.
func offers(types []catalog.InstanceType) []pack.Offer {
	zones := map[string]int{"us-east-1a": 0, "us-east-1b": 1, "us-east-1c": 2}
	var out []pack.Offer
	for _, t := range types {
		net := t.Allocatable.Sub(overhead)
		o := pack.Offer{
			Name: t.Name, Nodes: -1, Prices: make([]quantity.Money, len(zones)),
			Net: []int64{net.MilliCPU, net.MemoryBytes, net.EphemeralBytes, net.PodSlots},
		}
		for _, offering := range t.Offerings {
			if z, ok := zones[offering.Zone]; ok && offering.Available && offering.CapacityType == label.OnDemand {
				o.Zones |= 1 << z
				o.Prices[z] = offering.Price
			}
		}
		if o.Zones != 0 {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b pack.Offer) int {
		return cmp.Or(cmp.Compare(slices.Max(a.Prices), slices.Max(b.Prices)), strings.Compare(a.Name, b.Name))
	})
	return out
}

// problem is the demand on the offers, free to run anywhere.
func problem(demand []Deployment, on []pack.Offer) pack.Problem {
	p := pack.Problem{Offers: on, Where: []pack.Where{{Zones: slices.Repeat([]uint64{^uint64(0)}, len(on))}}}
	for _, d := range demand {
		p.Classes = append(p.Classes, pack.Class{Key: d.Name, Need: []int64{d.MilliCPU, d.MiB << 20, 0, 1}, Count: d.Count})
	}
	slices.SortFunc(p.Classes, func(a, b pack.Class) int { return strings.Compare(a.Key, b.Key) })
	return p
}

// BenchmarkKernel packs and bounds, without anything around it, and reports how
// far the cost is above the bound: the middle and the worst of the seeds. The
// last seed is drawn when the benchmark starts.
func BenchmarkKernel(b *testing.B) {
	drawn := rand.Uint64()
	b.Logf("the last seed of each case is %d", drawn)
	seeds := make([]uint64, 0, 21)
	for i := range uint64(20) {
		seeds = append(seeds, i)
	}
	seeds = append(seeds, drawn)
	for _, c := range []struct {
		name    string
		maxVCPU int
		seeds   []uint64
		demand  func(uint64) ([]Deployment, error)
	}{
		{"w1_32", 32, seeds[:1], func(uint64) ([]Deployment, error) { return File("w1_300x10k.csv") }},
		{"w1", 0, seeds[:1], func(uint64) ([]Deployment, error) { return File("w1_300x10k.csv") }},
		{"w4_32", 32, seeds[:1], func(uint64) ([]Deployment, error) { return File("w4_kbench10k.csv") }},
		{"w4", 0, seeds[:1], func(uint64) ([]Deployment, error) { return File("w4_kbench10k.csv") }},
		{"300x1k_32", 32, seeds, func(s uint64) ([]Deployment, error) { return Shaped(s, 300, 1_000), nil }},
		{"300x1k", 0, seeds, func(s uint64) ([]Deployment, error) { return Shaped(s, 300, 1_000), nil }},
		{"300x10k_32", 32, seeds, func(s uint64) ([]Deployment, error) { return Shaped(s, 300, 10_000), nil }},
		{"300x10k", 0, seeds, func(s uint64) ([]Deployment, error) { return Shaped(s, 300, 10_000), nil }},
		{"800x50k_32", 32, seeds, func(s uint64) ([]Deployment, error) { return Shaped(s, 800, 50_000), nil }},
		{"800x50k", 0, seeds, func(s uint64) ([]Deployment, error) { return Shaped(s, 800, 50_000), nil }},
		{"big_32", 32, seeds, bigOnly},
		{"big", 0, seeds, bigOnly},
	} {
		types, err := published(c.maxVCPU)
		if err != nil {
			b.Fatal(err)
		}
		on := offers(types)
		b.Run(c.name, func(b *testing.B) { benchmarkKernel(b, on, c.seeds, c.demand) })
	}
}

// bigOnly is the 21 first Deployments of 4 CPUs and more: nothing small fills
// what they leave.
func bigOnly(seed uint64) ([]Deployment, error) {
	all := slices.DeleteFunc(Shaped(seed, 3000, 30_000), func(d Deployment) bool { return d.MilliCPU < 4000 })
	return all[:21], nil
}

func benchmarkKernel(b *testing.B, on []pack.Offer, seeds []uint64, demand func(uint64) ([]Deployment, error)) {
	b.Helper()
	b.ReportAllocs()
	var gaps []float64
	var cost, least quantity.Money
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		rows, err := demand(seeds[i%len(seeds)])
		if err != nil {
			b.Fatal(err)
		}
		p := problem(rows, on)
		b.StartTimer()
		r := pack.Solve(p)
		c := bound.With(bound.Problem{Problem: p}, r.Prices)
		if i < len(seeds) {
			cost, least = cost+r.Cost, least+c.Bound
			gaps = append(gaps, 100*(float64(r.Cost)/float64(c.Bound)-1))
		}
	}
	slices.Sort(gaps)
	b.ReportMetric(gaps[len(gaps)/2], "%gap-median")
	b.ReportMetric(gaps[len(gaps)-1], "%gap-worst")
	b.ReportMetric(float64(cost)/quantity.NanoDollars/float64(len(gaps)), "$/h")
	b.ReportMetric(float64(least)/quantity.NanoDollars/float64(len(gaps)), "$/h-bound")
}
