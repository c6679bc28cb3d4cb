package pack

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// supply is the nodes that can be had. Columns that another column beats are not
// in it.
type supply struct {
	columns []column // by price
	sample  []bool   // per column: searches begin with it
}

// newSupply lists what the offers have for sale to the places.
func newSupply(p *Problem, places []Where, r *resources) supply {
	columns := unbeaten(findColumns(p, places, r))
	return supply{columns, thin(columns, r)}
}

// covers says whether the place has every column of the other.
func (s *supply) covers(place, other int) bool {
	return !slices.ContainsFunc(s.columns, func(col column) bool { return col.in(other) && !col.in(place) })
}

// column is an offer in zones that are alike in price and in who may use them.
type column struct {
	offer  int
	price  int64
	room   []int64  // per dimension in use
	wheres []uint64 // places that may use it, as bits
	large  bool     // as in Offer
	nodes  int64    // as in Offer
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

// goods is an offer with the zones in which it is for sale.
type goods struct {
	*Offer
	index int
	room  []int64
	zones uint64
}

// findGoods lists the offers that no earlier offer beats in every zone.
func findGoods(p *Problem, places []Where, r *resources) []goods {
	var out []goods
	var kinds []*alike
	n := len(r.dims)
	rooms := make([]int64, n*len(p.Offers))
	for i := range p.Offers {
		o := &p.Offers[i]
		g := goods{o, i, rooms[i*n : (i+1)*n : (i+1)*n], o.sold()}
		for j, d := range r.dims {
			g.room[j] = r.net(o, d)
		}
		if g.zones == 0 {
			continue
		}
		open := openTo(&g, places)
		at := slices.IndexFunc(kinds, func(x *alike) bool { return slices.Equal(x.open, open) })
		if at < 0 {
			at, kinds = len(kinds), append(kinds, &alike{open: open})
		}
		if !slices.ContainsFunc(kinds, func(x *alike) bool { return x.beats(&g, open, out, places) }) {
			kinds[at].goods = append(kinds[at].goods, len(out))
			out = append(out, g)
		}
	}
	return out
}

// alike is goods that are open to the same places. Goods of many variants are seldom
// compared: those that are open to fewer places beat none.
type alike struct {
	open  []uint64
	goods []int
}

// openTo returns the set of places in which a class may run on the goods.
func openTo(g *goods, places []Where) []uint64 {
	open := make([]uint64, (len(places)+63)/64)
	for w := range places {
		if places[w].zones(g.index)&g.zones != 0 {
			open[w>>6] |= 1 << (w & 63)
		}
	}
	return open
}

// beats says whether one of them beats the goods, which are open to these places.
func (a *alike) beats(o *goods, open []uint64, all []goods, places []Where) bool {
	for i, w := range open {
		if w&^a.open[i] != 0 {
			return false
		}
	}
	return slices.ContainsFunc(a.goods, func(i int) bool { return all[i].beats(o, places) })
}

// beats says whether a column of these goods beats each column of the others, and
// comes before it. See unbeaten.
func (g *goods) beats(o *goods, places []Where) bool {
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
	for _, w := range places {
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

// findColumns makes a column of the zones of each offer that have one price and
// are open to the same places.
func findColumns(p *Problem, places []Where, r *resources) []column {
	var columns []column
	length := (len(places) + 63) / 64
	for _, g := range findGoods(p, places, r) {
		first := len(columns)
		for zones := g.zones; zones != 0; zones &= zones - 1 {
			z := bits.TrailingZeros64(zones)
			set := make([]uint64, length)
			for w := range places {
				set[w>>6] |= places[w].zones(g.index) >> z & 1 << (w & 63)
			}
			price := int64(g.Prices[z])
			same := slices.IndexFunc(columns[first:], func(other column) bool { return slices.Equal(other.wheres, set) })
			if same >= 0 {
				columns[first+same].price = min(columns[first+same].price, price)
				continue
			}
			columns = append(columns, column{offer: g.index, price: price, room: g.room, wheres: set, large: g.Large, nodes: g.Nodes})
		}
	}
	slices.SortFunc(columns, func(a, b column) int {
		return cmp.Or(cmp.Compare(a.price, b.price), slices.Compare(b.room, a.room),
			cmp.Compare(p.Offers[a.offer].Name, p.Offers[b.offer].Name), slices.Compare(a.wheres, b.wheres))
	})
	return columns
}

// unbeaten leaves out columns that another column beats: at most the price, at
// least the room, for at least the same classes. A column with limited nodes
// beats nothing, since it can run out.
func unbeaten(columns []column) []column {
	rest := columns[:0]
	for _, col := range columns {
		beaten := false
		for i := 0; i < len(rest) && !beaten; i++ {
			beaten = rest[i].beats(&col)
		}
		if !beaten {
			rest = append(rest, col)
		}
	}
	return rest
}

func (col *column) beats(o *column) bool {
	if col.nodes >= 0 || col.large && !o.large || !quantity.Fits(o.room, col.room) {
		return false
	}
	for w, set := range o.wheres {
		if set&^col.wheres[w] != 0 {
			return false
		}
	}
	return true
}

// manyColumns is how many columns searches look at without thinning them out.
const manyColumns = 128

// thin chooses a sample that stands for all columns. Of columns that the same
// classes may use, and that are alike in price and in the proportions of their
// room, the sample has the one with the most room for its price. Nodes shrink to
// columns outside the sample, too.
func thin(columns []column, r *resources) []bool {
	sample := make([]bool, len(columns))
	type like struct {
		wheres       string
		price, ratio int
		large        bool
	}
	best := map[like]int{}
	var b []byte
	for i := range columns {
		col := &columns[i]
		if len(columns) <= manyColumns || col.nodes >= 0 {
			sample[i] = true
			continue
		}
		b = b[:0]
		for _, w := range col.wheres {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		key := like{string(b), quarters(uint64(col.price)), r.proportion(col), col.large}
		j, ok := best[key]
		if ok && !col.roomier(&columns[j]) {
			continue
		}
		if ok {
			sample[j] = false
		}
		best[key], sample[i] = i, true
	}
	return sample
}

// quarters is about four times the logarithm to base 2.
func quarters(v uint64) int {
	n := bits.Len64(v)
	if n < 3 {
		return 4 * n
	}
	return 4*n + int(v>>(n-3)&3)
}

// roomier says whether the column has more of the first resource for its price.
func (col *column) roomier(o *column) bool {
	if len(col.room) == 0 {
		return col.price < o.price
	}
	return dearer(o.price, uint64(o.room[0]), col.price, uint64(col.room[0]))
}

// in says whether kinds of the place may use the column.
func (col *column) in(place int) bool { return col.wheres[place>>6]>>(place&63)&1 == 1 }

// takes says whether an empty node holds one pod of the kind.
func (col *column) takes(k *kind) bool {
	return col.in(k.where) && quantity.Fits(k.need, col.room)
}

// zonesFor are the zones in which the offer can be had and the class may run.
func (p *Problem) zonesFor(offer, class int) uint64 {
	return p.Where[p.Classes[class].Where].zones(offer) & p.Offers[offer].sold()
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
