package launch

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// spareFactor is how many times the price of the dearest offer is added for what is
// scarce.
const spareFactor = 100

// spare returns an extra price for each row of a limited pool, by how much of the
// limits the row takes. The extra price exceeds every real price, so the packer
// uses limited pools last and places as many pods as possible. spare also sorts the
// rows of the turn again, by price and extra price together. For the first plan it
// does neither, and returns nil.
func (t *turn) spare() map[int]quantity.Money {
	if !t.Sparing {
		return nil
	}
	extra := map[int]quantity.Money{}
	var dearest quantity.Money
	largest := map[string]int64{}
	for _, x := range t.rows {
		r := &t.Market.Fleet.Rows[x]
		dearest = max(dearest, slices.Max(r.Prices))
		for _, l := range t.Market.Fleet.Pools[r.Pool].Limits {
			largest[l.Name] = max(largest[l.Name], r.Type.Capacity.Get(l.Name))
		}
	}
	dearest = min(max(dearest, quantity.NanoDollars), 1000*quantity.NanoDollars)
	for _, x := range t.rows {
		r := &t.Market.Fleet.Rows[x]
		for _, l := range t.Market.Fleet.Pools[r.Pool].Limits {
			taken := int64(quantity.Whole)
			if l.Name != offer.LimitNodes {
				taken = quantity.Part(r.Type.Capacity.Get(l.Name), max(1, largest[l.Name]))
			}
			extra[x] += dearest * spareFactor / 1024 * quantity.Money(taken>>22)
		}
	}
	slices.SortStableFunc(t.rows, func(a, b int) int {
		return cmp.Compare(t.Market.Fleet.Rows[a].Price+extra[a], t.Market.Fleet.Rows[b].Price+extra[b])
	})
	return extra
}
