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

// bundle completes an item. Pods that must share a node with others become loads
// that stay together: either all pods of the class, or as many as one node takes
// beside one pod of the class that they follow. It returns no item if there is no
// pod to follow.
func (d *division) bundle(x *item, host topology.Hosting, items []*item) []*item {
	x.unit, x.left = 1, x.count
	switch {
	case !host.Shares:
		return []*item{x}
	case host.First:
		if x.unit = min(d.most(x, quantity.Resources{}), together(x.class, host)); x.unit == 0 {
			return nil
		}
		x.count, x.left = x.unit, x.unit
		return []*item{x}
	}
	for _, other := range host.With {
		i := slices.IndexFunc(items, func(y *item) bool {
			return y.class != x.class && y.class.Rule() == other && y.with == nil && y.unit == 1 && y.count > 0
		})
		if i < 0 {
			continue
		}
		if fit.PortsConflict(x.class.Shape().Ports, items[i].class.Shape().Ports) {
			continue
		}
		x.with = items[i]
		x.where = both(x.where, x.with.where)
		x.unit = min(d.most(x, x.with.class.Shape().Requests), together(x.class, host))
		if x.unit == 0 {
			return nil
		}
		loads := min(x.with.count, (x.count+x.unit-1)/x.unit)
		x.unit = min(x.unit, x.count)
		x.count = min(x.count, loads*x.unit) / x.unit * x.unit
		x.left = x.count
		x.with.count -= x.count / x.unit
		return []*item{x}
	}
	return nil
}

// hosting returns what the rules over hostnames ask of a new node for the class.
func hosting(c *demand.Class) topology.Hosting {
	if c.Table == nil {
		return topology.Hosting{}
	}
	return c.Table.Host(c.Rule())
}

// together returns how many pods of the class may share a node. Pods with a host
// port exclude each other, and rules over hostnames set limits.
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

// need returns what one load takes of a node.
func (x *item) need() quantity.Resources {
	r := x.class.Shape().Requests.Times(x.unit)
	if x.with != nil {
		r = r.Add(x.with.class.Shape().Requests)
	}
	return r
}

// roles returns the roles of the pods of one load. A load never breaks a rule by
// itself, because together limits its size.
func (x *item) roles(all *roles) []pack.Role {
	out := all.of(x.class)
	if x.with != nil {
		out = append(out, all.of(x.with.class)...)
	}
	return out
}

// most returns how many pods of the item one node takes, beside other resources
// that it must hold.
func (d *division) most(x *item, beside quantity.Resources) int64 {
	need, beside := demand.WithoutAttach(x.class.Shape().Requests), demand.WithoutAttach(beside)
	var n int64
	for _, row := range d.rows {
		if net := d.Market.Fleet.Rows[row].Net; x.where[row]&d.Market.Sale[row] != 0 && beside.Fits(net) {
			n = max(n, need.CountIn(net.Sub(beside), x.count))
		}
	}
	return n
}
