package assign

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// bin is what the packer puts on a host.
type bin struct {
	host  *room.Host
	parts []part
}

// part is so many of a class.
type part struct {
	class *demand.Class
	count int64
}

// only returns the function that counts the wanted classes, and no pods of the others.
func only(wanted func(*demand.Class) bool, count func(*demand.Class) int64) func(*demand.Class) int64 {
	return func(c *demand.Class) int64 {
		if !wanted(c) {
			return 0
		}
		return count(c)
	}
}

// packOn packs so many pods of each class on the hosts. Each host costs what its room
// is worth. Hosts that are alike are one offer; of these the ones nearest to running
// get the fullest bins. packOn returns nothing if the units of work do not suffice.
func (a *Assigner) packOn(hosts []*room.Host, count func(*demand.Class) int64) []bin {
	classes := pick.Those(a.Demand.Classes, func(c *demand.Class) bool { return count(c) > 0 })
	if len(classes) == 0 || len(hosts) == 0 {
		return nil
	}
	p, alike := hostsProblem(hosts, classes, count)
	result, done := a.Solver.Solve(p, 0)
	if !done {
		return nil
	}
	bins := slices.Clone(result.Bins) // the answer is kept as it is
	fills := func(b pack.Bin) (sum int64) {
		for _, x := range b.Parts {
			sum += price.Bulk(classes[x.Class].Group.Shape.Requests) * x.Count
		}
		return sum
	}
	slices.SortStableFunc(bins, func(a, b pack.Bin) int { return cmp.Compare(fills(b), fills(a)) })
	var out []bin
	for _, b := range bins {
		parts := make([]part, len(b.Parts))
		for i, x := range b.Parts {
			parts[i] = part{classes[x.Class], x.Count}
		}
		for range b.Copies {
			out = append(out, bin{alike[b.Offer][0], parts})
			alike[b.Offer] = alike[b.Offer][1:]
		}
	}
	return out
}

// hostsProblem is demand to be packed on hosts, and for each offer the hosts that
// are alike, nearest to running first.
func hostsProblem(hosts []*room.Host, classes []*demand.Class, count func(*demand.Class) int64) (p pack.Problem, alike [][]*room.Host) {
	dims := demand.DimensionsOf(classes)
	levels, where := demand.PlacesOf(classes)
	for i, c := range classes {
		need := c.Levels[c.Last()].Shape.Requests
		p.Classes = append(p.Classes, pack.Class{Key: c.Group.Key, Need: dims.Vector(need), Count: count(c), Where: where[i]})
	}
	p.Where = make([]pack.Where, len(levels))
	hosts = slices.Clone(hosts)
	slices.SortStableFunc(hosts, func(a, b *room.Host) int {
		return cmp.Or(cmp.Compare(price.Bulk(a.Free), price.Bulk(b.Free)), a.Free.Compare(b.Free), room.Sooner(a, b))
	})
	takes := func(h *room.Host) []bool {
		out := make([]bool, len(levels))
		for w, l := range levels {
			out[w] = h.Accepts(l)
		}
		return out
	}
	var last []bool
	for _, h := range hosts {
		these := takes(h)
		n := len(alike)
		if n > 0 && alike[n-1][0].Free.Compare(h.Free) == 0 && slices.Equal(these, last) {
			alike[n-1] = append(alike[n-1], h)
			p.Offers[n-1].Nodes++
			continue
		}
		alike, last = append(alike, []*room.Host{h}), these
		p.Offers = append(p.Offers, pack.Offer{
			Name: h.Name(), Group: n, Net: dims.Vector(h.Free.Max(quantity.Resources{})),
			Prices: []quantity.Money{quantity.Money(max(1, price.Bulk(h.Free)))}, Zones: 1, Nodes: 1,
		})
		for w, yes := range these {
			zones := uint64(0)
			if yes {
				zones = 1
			}
			p.Where[w].Zones = append(p.Where[w].Zones, zones)
		}
	}
	return p, alike
}
