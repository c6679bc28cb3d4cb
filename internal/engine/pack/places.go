package pack

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// hardly is the inverse of the part of the whole cost that kinds may have in all
// that are not priced by where they may run.
const hardly = 1000

// muchMoney is more than kinds cost.
const muchMoney = quantity.Money(1) << 60

// joinPlaces prices kinds that hardly matter as if they could use all columns that
// some others can: so a few pods that are particular about where they run do not
// make it dearer to find prices for all. That lowers what is proven a little; where
// they may go stays as it is.
func (c *core) joinPlaces() {
	places := len(c.p.Where)
	costs, order := make([]quantity.Money, places), make([]int, 0, places)
	var total, joined quantity.Money
	for i := range c.shapes {
		if w := c.shapes[i].Signature; !slices.Contains(order, w) {
			order = append(order, w)
		}
	}
	if len(order) < 2 {
		return
	}
	for _, w := range order {
		costs[w] = c.leastCost(w)
		total = addMoney(total, int64(costs[w]), 1)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(costs[a], costs[b]), cmp.Compare(a, b)) })
	for n, w := range order {
		if joined = addMoney(joined, int64(costs[w]), 1); joined > total/hardly {
			return
		}
		for _, to := range slices.Backward(order[n+1:]) {
			if c.covers(to, w) {
				c.price(w, to)
				break
			}
		}
	}
}

// price prices the kinds of one place as those of another.
func (c *core) price(place, as int) {
	for i := range c.shapes {
		if c.shapes[i].Signature == place {
			c.shapes[i].Signature = as
		}
	}
}

// covers says whether the one place has every column of the other.
func (c *core) covers(place, other int) bool {
	return !slices.ContainsFunc(c.columns, func(col column) bool { return col.in(other) && !col.in(place) })
}

// in says whether kinds of the place may use the column.
func (col *column) in(place int) bool { return col.wheres[place>>6]>>(place&63)&1 == 1 }

// leastCost is about what the kinds of the place cost at least: by the resource
// that most must be paid for. Where that is not known, it is much.
func (c *core) leastCost(place int) quantity.Money {
	most, known := quantity.Money(0), false
	for d := range c.dims {
		var need price.Sum
		for i := range c.kinds {
			if k := &c.kinds[i]; k.where == place {
				need.Add(int64(k.units[d]), k.count)
			}
		}
		var cheapest int64
		var room uint64
		for i := range c.columns {
			col := &c.columns[i]
			units := uint64(col.room[d]) >> c.shift[d]
			if col.nodes >= 0 || units == 0 || !col.in(place) {
				continue
			}
			if known = true; room == 0 || dearer(cheapest, room, col.price, units) {
				cheapest, room = col.price, units
			}
		}
		if room > 0 {
			hi, lo := bits.Mul64(uint64(need.Unscaled(0)), uint64(cheapest))
			q, _ := bits.Div64(min(hi, room-1), lo, room)
			most = max(most, quantity.Money(min(q, uint64(muchMoney))))
		}
	}
	if !known {
		return muchMoney
	}
	return most
}
