package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Overhead is what DaemonSets take of each node in every benchmark.
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
	return catalog.Build(facts, market, catalog.Settings{Zones: zones, MemoryOverheadPermille: catalog.DefaultMemoryOverheadPermille}), nil
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
	p := pack.Problem{Offers: on, Where: []pack.Where{{Zones: make([]uint64, len(on))}}}
	for i := range on {
		p.Where[0].Zones[i] = ^uint64(0)
	}
	for _, d := range demand {
		p.Classes = append(p.Classes, pack.Class{Key: d.Name, Need: []int64{d.MilliCPU, d.MiB << 20, 0, 1}, Count: d.Count})
	}
	slices.SortFunc(p.Classes, func(a, b pack.Class) int { return strings.Compare(a.Key, b.Key) })
	return p
}
