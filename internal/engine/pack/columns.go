package pack

import (
	"cmp"
	"encoding/binary"
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

// goods is an offer that is for sale.
type goods struct {
	*Offer
	index int
	room  []int64
	zones uint64
}

// goods lists the offers that none before them beats in every zone.
func (c *core) goods(wheres []Where) []goods {
	var out []goods
	d := len(c.dims)
	rooms := make([]int64, d*len(c.p.Offers))
	for i := range c.p.Offers {
		o := &c.p.Offers[i]
		g := goods{o, i, rooms[i*d : (i+1)*d : (i+1)*d], o.sold()}
		for j, d := range c.dims {
			g.room[j] = c.net(o, d)
		}
		beaten := g.zones == 0
		for k := 0; k < len(out) && !beaten; k++ {
			beaten = out[k].beats(&g, wheres)
		}
		if !beaten {
			out = append(out, g)
		}
	}
	return out
}

// beats says whether each column of the other is beaten by one of these, and
// comes behind it; see dropBeaten.
func (g *goods) beats(o *goods, wheres []Where) bool {
	ahead := g.Name < o.Name
	for d, r := range o.room {
		if g.room[d] < r {
			return false
		}
		ahead = ahead || g.room[d] > r
	}
	if g.Nodes >= 0 || g.Large && !o.Large || o.zones&^g.zones != 0 {
		return false
	}
	for zones := o.zones; zones != 0; zones &= zones - 1 {
		z := bits.TrailingZeros64(zones)
		if g.Prices[z] > o.Prices[z] || g.Prices[z] == o.Prices[z] && !ahead {
			return false
		}
	}
	for _, w := range wheres {
		if w.zones(o.index)&o.zones&^w.zones(g.index) != 0 {
			return false
		}
	}
	return true
}

// zones are those of the offer in which the classes may run.
func (w *Where) zones(offer int) uint64 {
	if offer < len(w.Zones) {
		return w.Zones[offer]
	}
	return 0
}

func (c *core) findColumns(wheres []Where) {
	words := (len(wheres) + 63) / 64
	for _, g := range c.goods(wheres) {
		first := len(c.columns)
		for zones := g.zones; zones != 0; zones &= zones - 1 {
			z := bits.TrailingZeros64(zones)
			set := make([]uint64, words)
			for w := range wheres {
				set[w>>6] |= wheres[w].zones(g.index) >> z & 1 << (w & 63)
			}
			price := int64(g.Prices[z])
			same := slices.IndexFunc(c.columns[first:], func(other column) bool { return slices.Equal(other.wheres, set) })
			if same >= 0 {
				c.columns[first+same].price = min(c.columns[first+same].price, price)
				continue
			}
			c.columns = append(c.columns, column{offer: g.index, price: price, room: g.room, wheres: set, large: g.Large, nodes: g.Nodes})
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
		beaten := false
		for i := 0; i < len(kept) && !beaten; i++ {
			beaten = kept[i].beats(&col)
		}
		if !beaten {
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

// manyColumns is how many the search looks at without thinning them out.
const manyColumns = 128

// thin chooses columns that stand for the others: of those that the same
// classes may use, and that are alike in price and in the proportions of their
// room, the one with the most room for its price. Nodes shrink to any column.
func (c *core) thin() {
	c.sample = make([]bool, len(c.columns))
	type like struct {
		wheres       string
		price, ratio int
		large        bool
	}
	best := map[like]int{}
	var b []byte
	for i := range c.columns {
		col := &c.columns[i]
		if len(c.columns) <= manyColumns || col.nodes >= 0 {
			c.sample[i] = true
			continue
		}
		b = b[:0]
		for _, w := range col.wheres {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		key := like{string(b), quarters(uint64(col.price)), c.proportion(col), col.large}
		j, ok := best[key]
		if ok && !c.roomier(col, &c.columns[j]) {
			continue
		}
		if ok {
			c.sample[j] = false
		}
		best[key], c.sample[i] = i, true
	}
}

// quarters is four times the logarithm to base 2, about.
func quarters(v uint64) int {
	n := bits.Len64(v)
	if n < 3 {
		return 4 * n
	}
	return 4*n + int(v>>(n-3)&3)
}

// proportion tells apart offers that have more of one resource for another.
func (c *core) proportion(col *column) int {
	n := 0
	for d := range c.dims {
		share := uint64(col.room[d]) >> c.shift[d] << 10 / max(1, uint64(c.largest[d])>>c.shift[d])
		first := uint64(col.room[0]) >> c.shift[0] << 10 / max(1, uint64(c.largest[0])>>c.shift[0])
		n = n*64 + bits.Len64(share<<10/max(1, first))
	}
	return n
}

// roomier says whether a has more of the first resource for its price.
func (c *core) roomier(a, b *column) bool {
	if len(c.dims) == 0 {
		return a.price < b.price
	}
	return dearer(b.price, uint64(b.room[0]), a.price, uint64(a.room[0]))
}

// takes says whether an empty node holds one pod of the kind.
func (col *column) takes(k *kind) bool {
	if !col.in(k.where) {
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
	return c.p.Where[c.p.Classes[class].Where].zones(offer) & c.p.Offers[offer].sold()
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
