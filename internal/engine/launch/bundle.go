package launch

import (
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// bundle completes an item. Pods that must share a host with others become one
// load: all of a class that must be together, or as many as a node takes with
// one pod of the class that they follow. It returns nothing where they have
// nobody to follow.
func (d *division) bundle(x *item, items []*item) []*item {
	x.Unit, x.left = 1, x.count
	if x.Class.Table == nil {
		return []*item{x}
	}
	host := x.Class.Table.Host(x.Class.Rule())
	switch {
	case !host.Together:
		return []*item{x}
	case host.First:
		if x.Unit = min(d.most(x, quantity.Resources{}), together(x.Class, host)); x.Unit == 0 {
			return nil
		}
		x.count, x.left = x.Unit, x.Unit
		return []*item{x}
	}
	for _, other := range host.With {
		i := slices.IndexFunc(items, func(y *item) bool {
			return y.Class != x.Class && y.Class.Rule() == other && y.With == nil && y.Unit == 1 && y.count > 0
		})
		if i < 0 {
			continue
		}
		if fit.PortsConflict(x.Class.Shape().Ports, items[i].Class.Shape().Ports) {
			continue
		}
		x.With = items[i]
		x.where = both(x.where, x.With.where)
		x.Unit = min(d.most(x, x.With.Class.Shape().Requests), together(x.Class, host))
		if x.Unit == 0 {
			return nil
		}
		loads := min(x.With.count, (x.count+x.Unit-1)/x.Unit)
		x.Unit = min(x.Unit, x.count)
		x.count = min(x.count, loads*x.Unit) / x.Unit * x.Unit
		x.left = x.count
		x.With.count -= x.count / x.Unit
		return []*item{x}
	}
	return nil
}

// together is how many pods of the class may share a node at all: pods with a
// host port exclude each other, and rules over hostnames have limits.
func together(c *demand.Class, host topology.Hosting) int64 {
	n := int64(math.MaxInt64)
	if len(c.Shape().Ports) > 0 {
		n = 1
	}
	for _, r := range host.Rules {
		if r.Binds && r.Counted {
			n = min(n, r.Max)
		}
	}
	return max(0, n)
}

func both(a, b []uint64) []uint64 {
	out := make([]uint64, len(a))
	for i := range a {
		out[i] = a[i] & b[i]
	}
	return out
}

// need is what one load takes of a node.
func (x *item) need() quantity.Resources {
	r := x.Class.Shape().Requests.Times(x.Unit)
	if x.With != nil {
		r = r.Add(x.With.Class.Shape().Requests)
	}
	return r
}

// roles are those of the pods of one load. A rule that lets fewer pods share a
// node than the load has is one that the load breaks by itself; it is never met.
func (x *item) roles(all *roles) []pack.Role {
	out := all.of(x.Class)
	if x.With != nil {
		out = append(out, all.of(x.With.Class)...)
	}
	return out
}

// most is how many of the item's pods one node takes beside what else it must.
func (d *division) most(x *item, beside quantity.Resources) int64 {
	need, beside := demand.WithoutAttach(x.Class.Shape().Requests), demand.WithoutAttach(beside)
	var n int64
	for _, row := range d.rows {
		if net := d.Market.Fleet.Rows[row].Net; x.where[row]&d.Market.Sale[row] != 0 && beside.Fits(net) {
			n = max(n, need.CountIn(net.Sub(beside), x.count))
		}
	}
	return n
}
