package pack

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// column is an offer in zones that are alike in price and in who may use them.
type column struct {
	offer  int
	price  int64
	room   []int64
	wheres []uint64 // bits
	large  bool
	nodes  int64
	full   uint64 // upper bound of the worth of what it can hold
}

// sold are the zones in which the offer has a price.
func (o *Offer) sold() uint64 {
	var zones uint64
	for z, price := range o.Prices {
		if z < 64 && o.Zones>>z&1 == 1 && (price > 0 || price == 0 && o.Nodes >= 0) {
			zones |= 1 << z
		}
	}
	if o.Nodes == 0 {
		return 0
	}
	return zones
}

func (c *core) findColumns(wheres []Where) {
	words := (len(wheres) + 63) / 64
	for i := range c.p.Offers {
		o := &c.p.Offers[i]
		room := make([]int64, len(c.dims))
		for j, d := range c.dims {
			room[j] = max(0, valueAt(o.Net, d))
		}
		first := len(c.columns)
		for zones := o.sold(); zones != 0; zones &= zones - 1 {
			z := bits.TrailingZeros64(zones)
			set := make([]uint64, words)
			for w := range wheres {
				if i < len(wheres[w].Zones) && wheres[w].Zones[i]>>z&1 == 1 {
					set[w>>6] |= 1 << (w & 63)
				}
			}
			price := int64(o.Prices[z])
			same := slices.IndexFunc(c.columns[first:], func(other column) bool { return slices.Equal(other.wheres, set) })
			if same >= 0 {
				c.columns[first+same].price = min(c.columns[first+same].price, price)
				continue
			}
			c.columns = append(c.columns, column{offer: i, price: price, room: room, wheres: set, large: o.Large, nodes: o.Nodes})
		}
	}
	slices.SortFunc(c.columns, func(a, b column) int {
		return cmp.Or(cmp.Compare(a.price, b.price), slices.Compare(b.room, a.room),
			cmp.Compare(c.p.Offers[a.offer].Name, c.p.Offers[b.offer].Name), slices.Compare(a.wheres, b.wheres))
	})
}

// dropBeaten leaves out columns that another one beats: at most the price, at
// least the room, for at least the same classes. One with limited nodes beats
// nothing, since it can run out.
func (c *core) dropBeaten() {
	kept := c.columns[:0]
	for _, col := range c.columns {
		if !slices.ContainsFunc(kept, func(k column) bool { return k.beats(&col) }) {
			kept = append(kept, col)
		}
	}
	c.columns = kept
}

func (col *column) beats(o *column) bool {
	if col.nodes >= 0 || col.large && !o.large {
		return false
	}
	for d, r := range o.room {
		if col.room[d] < r {
			return false
		}
	}
	for w, set := range o.wheres {
		if set&^col.wheres[w] != 0 {
			return false
		}
	}
	return true
}

// takes says whether an empty node holds one pod of the kind.
func (col *column) takes(k *kind) bool {
	if col.wheres[k.where>>6]>>(k.where&63)&1 == 0 {
		return false
	}
	for d, n := range k.need {
		if n > col.room[d] {
			return false
		}
	}
	return true
}

// zonesFor are the zones in which the offer can be had and the class may run.
func (c *core) zonesFor(offer, class int) uint64 {
	where := c.p.Where[c.p.Classes[class].Where]
	if offer >= len(where.Zones) {
		return 0
	}
	return where.Zones[offer] & c.p.Offers[offer].sold()
}

// cheapest is the lowest price of the offer in the zones.
func (o *Offer) cheapest(zones uint64) quantity.Money {
	best := quantity.Money(-1)
	for z, price := range o.Prices {
		if z < 64 && zones>>z&1 == 1 && (best < 0 || price < best) {
			best = price
		}
	}
	return max(0, best)
}
