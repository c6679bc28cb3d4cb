package launch

import (
	"math/bits"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// pass looks for a cheaper type, and notes the one that comes closest to holding
// the content.
func (t *turn) pass(l *load, wheres [][]uint64) {
	closest := int64(0)
	price, _ := l.best.PriceIn(l.bin.Zones)
	var passed *offer.Row
	var room []int64
	for i := l.bin.Offer - 1; i >= 0; i-- {
		share := share(l.bin.Used, t.nets[i], closest)
		r := &t.Market.Fleet.Rows[t.rows[i]]
		if share <= closest || share == quantity.Whole || r.Group != l.best.Group {
			continue
		}
		if p, zone := r.PriceIn(t.Market.ZonesOf(t.rows[i], l.bin, wheres)); zone >= 0 && p < price {
			closest, passed, room, l.passed = share, r, t.nets[i], plan.Choice{Type: r.Type.Name, Price: p - r.Extra, StandIn: r.StandIn}
		}
	}
	if passed == nil {
		return
	}
	if lacking := l.content.Sub(l.best.Overhead).Lacking(passed.Net); len(lacking) > 0 {
		l.lacks = &lacking[0]
		return
	}
	l.lacks = t.dims.SlotsLacking(l.bin.Used, room)
}

// load is a bin ready to be launched: all that its copies have in common.
type load struct {
	bin      pack.Bin // in the zones that a launch of it may be in
	best     *offer.Row
	within   []*offer.Row // see carry
	wider    []*offer.Row
	carried  []*offer.Row // that one launch of it may become, limits aside; cheapest first
	zones    []string
	content  quantity.Resources // with what DaemonSets take
	passed   plan.Choice        // the cheaper type that comes closest to holding it, zero if none
	lacks    *quantity.Shortage // what passed lacks
	relaxed  bool               // the pool's minValues are not met, and need not be
	possible *topology.Possible // the labels of all nodes that it may become
}

func (t *turn) load(items []*item, b pack.Bin) load {
	l := load{bin: b, best: t.row(b.Offer)}
	wheres := wheresOf(items, b)
	limit, zones := t.affordable(b)
	l.bin.Zones = zones
	t.carry(&l, wheres, limit)
	if len(l.carried) == 0 && zones != b.Zones { // minValues come before prices
		l.bin.Zones = b.Zones
		t.carry(&l, wheres, limit)
	}
	for i, z := range t.Market.Fleet.Zones {
		if l.bin.Zones>>i&1 == 1 {
			l.zones = append(l.zones, z)
		}
	}
	l.content = demand.WithoutAttach(l.best.Overhead.Add(t.dims.Resources(b.Used)))
	t.pass(&l, wheres)
	return l
}

// share returns the part of the content that the room holds, by the scarcest
// resource. The result is exact only if it is above the floor.
func share(content, room []int64, floor int64) int64 {
	lowest := int64(quantity.Whole)
	for d, n := range content {
		if n <= 0 {
			continue
		}
		if !quantity.PartAbove(room[d], n, floor) {
			return floor
		}
		lowest = min(lowest, quantity.Part(room[d], n))
	}
	return lowest
}

// place returns a copy of the bin as topology rules see it.
func (l *load) place(name string, f *offer.Fleet) topology.Place {
	p := topology.Place{Name: name, Taints: f.Pools[l.best.Pool].Taints, Labels: l.best.Labels(bits.TrailingZeros64(l.bin.Zones))}
	if len(l.carried) > 1 || bits.OnesCount64(l.bin.Zones) > 1 {
		if l.possible == nil {
			l.possible = topology.NewPossible(l.labels)
		}
		p.Possible = l.possible
	}
	return p
}

// labels yields the labels of all nodes that the launch may become.
func (l *load) labels(yield func(label.Lookup) bool) {
	for _, r := range l.carried {
		for m := r.Zones & l.bin.Zones; m != 0; m &= m - 1 {
			if !yield(r.Labels(bits.TrailingZeros64(m))) {
				return
			}
		}
	}
}

// types names and prices the rows.
func (l *load) types(carried []*offer.Row) []plan.Choice {
	out := make([]plan.Choice, len(carried))
	for i, r := range carried {
		out[i] = r.ChoiceIn(l.bin.Zones)
	}
	return out
}
