package launch

import (
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// mixedFrom is how many nodes of a row the demand fills at least, for its mixture
// to be what comes to a node.
const mixedFrom = 4

// findUnsuited lists the rows that are more than half as dear
// again as the best for the mixture of all that is pending. Without nominations it
// is not known which of it will come to a node: one with little memory for its
// CPU, bought for pods that need little, is full of others when half of its CPU is
// free. What a few nodes hold is planned as it is, and so is what limits may bind.
func (t *tier) findUnsuited() map[int]bool {
	if !t.Policy.CannotNominate || t.limited() && slices.Contains(t.Market.Enough(t.Demand.Classes)[t.from:t.to], false) {
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
		if price := r.PriceFor(demand); price/mixedFrom >= uint64(max(0, r.Price)) {
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
