package pack

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// findPlaces gives equal entries of Problem.Where one number. It returns the
// number of each, and the distinct ones in an order that depends on nothing but
// them.
func findPlaces(p *Problem) (of []int, places []Where) {
	index := make(map[string]int)
	var distinct []string
	keys := make([]string, len(p.Where))
	sold := make([]uint64, len(p.Offers))
	for o := range p.Offers {
		sold[o] = p.Offers[o].sold()
	}
	for i, w := range p.Where {
		b := make([]byte, 0, 8*len(p.Offers))
		for o := range p.Offers {
			var zones uint64
			if o < len(w.Zones) {
				zones = w.Zones[o] & sold[o]
			}
			b = binary.LittleEndian.AppendUint64(b, zones)
		}
		keys[i] = string(b)
		if _, ok := index[keys[i]]; !ok {
			index[keys[i]] = i
			distinct = append(distinct, keys[i])
		}
	}
	slices.Sort(distinct)
	places = make([]Where, len(distinct))
	for i, key := range distinct {
		places[i], index[key] = p.Where[index[key]], i
	}
	of = make([]int, len(p.Where))
	for i, key := range keys {
		of[i] = index[key]
	}
	return of, places
}

// hardly limits which kinds need prices of their own place. Kinds that together cost
// at most 1/hardly of the total need none.
const hardly = 1000

// muchMoney is more than kinds cost.
const muchMoney = quantity.Money(1) << 60

// joinPlaces prices cheap kinds at another place; see hardly. The other place must
// have every column of their own place. So a few pods that can run in few places do
// not make the prices of all pods more work. Where the pods may run does not change.
// The bound becomes a little lower.
func (c *core) joinPlaces() {
	places := len(c.p.Where)
	costs, order := make([]quantity.Money, places), make([]int, 0, places)
	var total, joined quantity.Money
	for i := range c.demand.shapes {
		if w := c.demand.shapes[i].Signature; !slices.Contains(order, w) {
			order = append(order, w)
		}
	}
	if len(order) < 2 {
		return
	}
	for _, w := range order {
		costs[w] = c.leastCost(w)
		total = total.Add(costs[w])
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(costs[a], costs[b]), cmp.Compare(a, b)) })
	for n, w := range order {
		if joined = joined.Add(costs[w]); joined > total/hardly {
			return
		}
		for _, to := range slices.Backward(order[n+1:]) {
			if c.supply.covers(to, w) {
				c.demand.priceAs(w, to)
				break
			}
		}
	}
}

// leastCost is about what the kinds of the place cost at least, by the resource
// that costs most. It is muchMoney where only columns with limited nodes are open to
// them.
func (c *core) leastCost(place int) quantity.Money {
	most, known := quantity.Money(0), false
	for d := range c.resources.dims {
		var need price.Sum
		for i := range c.demand.kinds {
			if k := &c.demand.kinds[i]; k.where == place {
				need.Add(int64(k.units[d]), k.count)
			}
		}
		var cheapest int64
		var room uint64
		for i := range c.supply.columns {
			col := &c.supply.columns[i]
			units := c.resources.units(d, col.room[d])
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
