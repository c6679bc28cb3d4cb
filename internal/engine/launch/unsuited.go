package launch

import (
	"math"
	"math/bits"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// mixedFrom is how many nodes of a row the demand must fill at least for the row to
// be judged by the mixture of all pods.
const mixedFrom = 4

// findUnsuited returns the rows that cost more than one and a half times as much as
// the best row for the mixture of all demand. It matters only if pods cannot be
// nominated: then nobody knows which pods will come to a node. A node with little
// memory for its CPU, bought for pods that need little memory, is full of other
// pods when half of its CPU is free. Demand that fills only a few nodes is planned
// as it is, and so is demand on pools with limits.
func (t *tier) findUnsuited() map[int]bool {
	limited := func(p cluster.Pool) bool { return len(p.Limits) > 0 }
	if !t.Policy.CannotNominate || slices.ContainsFunc(t.Market.Fleet.Pools[t.from:t.to], limited) {
		return nil
	}
	var demand quantity.Resources
	for _, c := range t.Demand.Classes {
		demand = demand.Add(c.Group.Shape.Requests.Times(c.Had))
	}
	prices := map[int]uint64{}
	best := uint64(math.MaxUint64)
	for i := range t.Market.Fleet.Rows {
		r := &t.Market.Fleet.Rows[i]
		if r.Pool < t.from || r.Pool >= t.to || t.Market.Sale[i] == 0 || r.Left >= 0 || t.Market.Large(r) {
			continue
		}
		if price := priceFor(r, demand); price/mixedFrom >= uint64(max(0, r.Price)) {
			prices[i] = price
			best = min(best, price)
		}
	}
	out := map[int]bool{}
	for i, price := range prices {
		if price/3 > best/2 {
			out[i] = true
		}
	}
	return out
}

// priceFor returns the price of as many nodes of the row as hold the demand in
// total.
func priceFor(r *offer.Row, demand quantity.Resources) uint64 {
	of := func(need, have int64) uint64 {
		if need <= 0 {
			return 0
		}
		hi, lo := bits.Mul64(uint64(max(0, r.Price)), uint64(need))
		if have <= 0 || hi >= uint64(have) {
			return math.MaxUint64
		}
		price, _ := bits.Div64(hi, lo, uint64(have))
		return price
	}
	return max(of(demand.MilliCPU, r.Net.MilliCPU), of(demand.MemoryBytes, r.Net.MemoryBytes))
}
