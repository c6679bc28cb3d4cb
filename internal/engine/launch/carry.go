package launch

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// carry lists the rows that one launch of the load may become: those of its group
// that hold the content and cost no more than the limit in any zone of the load.
// Large ones and others are launched together only where launches have failed.
// Where the plan spares what is limited, none takes more of that than the best. The
// others that hold the content are wider: they are for minValues alone.
func (t *turn) carry(l *load, wheres [][]uint64, limit quantity.Money) {
	b, best := l.bin, l.best
	pool := &t.Market.Fleet.Pools[best.Pool]
	large, failing := t.Market.Large(best), t.Market.Failing(best)
	l.within, l.wider = []*offer.Row{best}, nil
	for i, x := range t.rows {
		r := t.row(i)
		if r.Price > limit && len(pool.MinValues) == 0 {
			if !t.Sparing {
				break // rows are sorted by price
			}
			continue
		}
		if r.Group != best.Group || r == best || !quantity.Fits(b.Used, t.nets[i]) {
			continue
		}
		zones := t.Market.ZonesOf(x, b, wheres)
		if zones == 0 || t.Market.Strays(x, b, wheres) {
			continue
		}
		if zones&^r.ZonesWithin(limit) == 0 && (failing || t.Market.Large(r) == large) && !(t.Sparing && takesMore(pool, r, best)) {
			l.within = append(l.within, r)
		} else {
			l.wider = append(l.wider, r)
		}
	}
	l.carried, l.relaxed = Diversify(t.Policy, pool, b.Zones, slices.Clone(l.within), l.wider)
}

// takesMore says whether a node of the row takes more than the other of something
// that the pool limits.
func takesMore(pool *cluster.Pool, r, other *offer.Row) bool {
	return slices.ContainsFunc(pool.Limits, func(l quantity.Amount) bool {
		return l.Name != offer.LimitNodes && r.Type.Capacity.Get(l.Name) > other.Type.Capacity.Get(l.Name)
	})
}

// affordable is Affordable for the bin.
func (t *turn) affordable(b pack.Bin) (limit quantity.Money, zones uint64) {
	best := t.row(b.Offer)
	return Affordable(t.Market.Widened(best), &t.Market.Fleet.Pools[best.Pool], best, b.Zones)
}

// Affordable returns the most that a node of a launch may cost, and those of the zones
// where the best row costs no more. The tolerance is of the price of the instance. A
// pool that asks for several zones gets all of them.
func Affordable(policy view.Policy, pool *cluster.Pool, best *offer.Row, among uint64) (limit quantity.Money, zones uint64) {
	tolerance := policy.OnDemandTolerance
	if best.CapacityType == label.Spot {
		tolerance = policy.SpotTolerance
	}
	price := best.InstancePriceIn(among)
	limit = quantity.Money(math.MaxInt64)
	if more := price / 1000; more == 0 || quantity.Money(tolerance) <= (limit-price)/more {
		limit = price + more*quantity.Money(tolerance)
	}
	limit = limit.Add(best.Extra)
	if offer.WantsZones(pool) {
		return limit, among
	}
	return limit, best.ZonesWithin(limit) & among
}

// wheresOf returns where the parts of the bin may run; equal answers are listed
// once.
func wheresOf(items []*item, b pack.Bin) [][]uint64 {
	var out [][]uint64
	for _, p := range b.Parts {
		w := items[p.Class].where
		if !slices.ContainsFunc(out, func(x []uint64) bool { return &x[0] == &w[0] }) {
			out = append(out, w)
		}
	}
	return out
}

// Diversify returns the rows, the cheapest in the zones first, and wider ones among
// them until they have as many different values as the pool's minValues asks for.
// Where there are not so many, nothing is carried, unless the policy is to make do:
// then relaxed says so.
func Diversify(policy view.Policy, pool *cluster.Pool, zones uint64, within, wider []*offer.Row) (carried []*offer.Row, relaxed bool) {
	carried = within
	v := offer.NewVariety(pool.MinValues)
	for _, r := range carried {
		v.Add(r, zones)
	}
	for i := range pool.MinValues {
		for _, r := range wider {
			if v.Has(i) {
				break
			}
			if v.Widens(i, r, zones) {
				carried = append(carried, r)
				v.Add(r, zones)
			}
		}
		if !v.Has(i) {
			if !policy.BestEffortMinValues {
				return nil, false
			}
			relaxed = true
		}
	}
	slices.SortStableFunc(carried, func(a, b *offer.Row) int {
		p, _ := a.PriceIn(zones)
		q, _ := b.PriceIn(zones)
		return cmp.Compare(p, q)
	})
	return carried, relaxed
}

// Varied says whether nodes of the row in the zones are as varied as the pool asks for, or
// the policy is to make do.
func Varied(policy view.Policy, pool *cluster.Pool, r *offer.Row, zones uint64) bool {
	return policy.BestEffortMinValues || offer.VariedAlone(pool, r, zones)
}
