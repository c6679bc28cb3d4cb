package launch

import (
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// mixedFrom is how many nodes of a row the demand must fill at least for the row to
// be judged by the mixture of all pods.
const mixedFrom = 4

// findUnsuited returns the rows that cost more than one and a half times as much as
// the best row for the mixture of all demand. It applies only if pods cannot be
// nominated, because the scheduler then chooses the pods of a node. A node with little
// memory for its CPU, bought for pods that need little memory, is an example: the
// scheduler may fill its memory with other pods and leave half of its CPU idle. There
// are no unsuited rows if the demand fills only a few nodes, or if limits may bind it.
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
		if r.Pool < t.from || r.Pool >= t.to || t.Market.Sale[i] == 0 || r.Reserved() || t.Market.Large(r) {
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
