package launch

import (
	"math/bits"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// carry returns the rows that one launch of the bin may become: the rows of the
// same group that hold the content within the price tolerance, cheapest first. It
// adds dearer rows if the pool's minValues needs more different values. It returns
// no row if minValues cannot be met. If the policy allows fewer values, it returns
// the rows and sets relaxed.
func (t *turn) carry(b pack.Bin, wheres [][]uint64) (carried []*offer.Row, relaxed bool) {
	best := &t.Market.Fleet.Rows[t.rows[b.Offer]]
	pool := &t.Market.Fleet.Pools[best.Pool]
	tolerance := t.Policy.OnDemandTolerance
	if best.CapacityType == label.Spot {
		tolerance = t.Policy.SpotTolerance
	}
	price, _ := best.PriceIn(b.Zones)
	limit := price + price/1000*quantity.Money(tolerance)
	large := t.Market.Large(best)
	carried = []*offer.Row{best}
	var wider []*offer.Row
	for i, x := range t.rows {
		r := &t.Market.Fleet.Rows[x]
		if r.Price > limit && len(pool.MinValues) == 0 {
			break // rows are sorted by price
		}
		if r.Group != best.Group || r == best || !Fits(b.Used, t.nets[i]) {
			continue
		}
		zones := t.Market.ZonesOf(x, b, wheres)
		if zones == 0 || t.Market.Strays(x, b, wheres) {
			continue
		}
		if p, _ := r.PriceIn(zones); p <= limit && t.Market.Large(r) == large {
			carried = append(carried, r)
		} else {
			wider = append(wider, r)
		}
	}
	return t.diversify(pool, carried, wider)
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

// Fits says whether the room holds the content.
func Fits(content, room []int64) bool {
	for d, n := range content {
		if n > 0 && n > room[d] {
			return false
		}
	}
	return true
}

// diversify adds wider rows to the carried ones until they have as many different
// values as the pool's minValues needs. If there are too few values, it returns no
// row, unless the policy allows fewer.
func (t *turn) diversify(pool *cluster.Pool, carried, wider []*offer.Row) (out []*offer.Row, relaxed bool) {
	for _, m := range pool.MinValues {
		values := map[string]bool{}
		for _, r := range carried {
			Note(values, r, m.Key)
		}
		for _, r := range wider {
			if len(values) >= m.Count {
				break
			}
			if before := len(values); Note(values, r, m.Key) > before && !slices.Contains(carried, r) {
				carried = append(carried, r)
			}
		}
		if len(values) < m.Count {
			if !t.Policy.BestEffortMinValues {
				return nil, false
			}
			relaxed = true
		}
	}
	return carried, relaxed
}

// Note adds the row's values of the label to the set, and returns the size of the
// set.
func Note(values map[string]bool, r *offer.Row, key string) int {
	for m := r.Zones; m != 0; m &= m - 1 {
		if v, ok := r.Labels(bits.TrailingZeros64(m)).Get(key); ok {
			values[v] = true
		}
	}
	return len(values)
}
