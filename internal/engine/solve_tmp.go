package engine

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/packold"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func solve(p pack.Problem, _ pack.Work) pack.Result {
	res := func(v []int64) quantity.Resources {
		return quantity.Resources{MilliCPU: v[0], MemoryBytes: v[1], EphemeralBytes: v[2], PodSlots: v[3]}
	}
	var types []packold.Type
	for _, o := range p.Offers {
		best := quantity.Money(0)
		for _, x := range o.Prices {
			if x > 0 && (best == 0 || x < best) {
				best = x
			}
		}
		types = append(types, packold.Type{Name: o.Name, Group: o.Group, Net: res(o.Net), Price: best, Large: o.Large})
	}
	var classes []packold.Class
	for _, c := range p.Classes {
		classes = append(classes, packold.Class{Key: c.Key, Need: res(c.Need), Count: c.Count, Zones: p.Where[c.Where].Zones})
	}
	bins, left, _ := packold.Pack(classes, types)
	var r pack.Result
	r.Left = left
	for _, b := range bins {
		x := pack.Bin{Offer: b.Type, Zones: b.Zones, Copies: b.Copies}
		for _, q := range b.Parts {
			x.Parts = append(x.Parts, pack.Part{Class: q.Class, Count: q.Count})
		}
		r.Bins = append(r.Bins, x)
	}
	return r
}
