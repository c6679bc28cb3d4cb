package launch

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// offers returns the rows of the turn as the packer's offers. The extra price of a
// row, if it has one, is added.
func (t *turn) offers(extra map[int]quantity.Money) []pack.Offer {
	out := make([]pack.Offer, len(t.rows))
	t.nets = make([][]int64, len(t.rows))
	for i, x := range t.rows {
		r := &t.Market.Fleet.Rows[x]
		t.nets[i] = t.dims.Vector(t.Slots.OnNew(r.Net, r.Type))
		out[i] = pack.Offer{Name: r.Name, Group: r.Group, Net: t.nets[i], Prices: r.Prices, Zones: t.Market.Sale[x], Large: t.Market.Large(r), Nodes: t.Market.NodesLeft(r)}
		if more := extra[x]; more > 0 {
			out[i].Prices = slices.Clone(r.Prices)
			for z := range out[i].Prices {
				if r.Zones>>z&1 == 1 {
					out[i].Prices[z] += more
				}
			}
		}
	}
	return out
}
