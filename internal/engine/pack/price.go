package pack

import (
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
)

// How exact prices are. Prices for a bound may have many cuts. Prices that steer a
// search are asked for again and again: after the first time, they have fewer groups
// and no cuts.
const (
	boundCuts   = 12
	firstGroups = 16
	someGroups  = 6
)

// Prices asks what resources are worth to the classes where there are hosts
// besides the offers.
func Prices(p Problem, hosts []Host) price.Prices {
	c := newCore(&p)
	all := newPlan(c)
	return c.widen(c.ask(all, question{left: all.left, cuts: boundCuts, more: c.pooled(hosts)}))
}

// WholePrices is Prices with surcharges for pods of which few fit a node.
func WholePrices(p Problem, hosts []Host) price.Prices {
	c := newCore(&p)
	all := newPlan(c)
	return c.widen(c.ask(all, question{left: all.left, more: c.pooled(hosts), whole: manyBig, exact: true}))
}

// pooled adds up the room of hosts that the same classes may use. One offer for all
// of them keeps the linear program small, and makes its prices only a little worse.
func (c *core) pooled(hosts []Host) []price.Offer {
	var out []price.Offer
	for i := range hosts {
		h := &hosts[i]
		holds := make([]uint64, (len(c.p.Where)+63)/64)
		for w, of := range c.placeOf {
			if w>>6 < len(h.Holds) && h.Holds[w>>6]>>(w&63)&1 == 1 {
				holds[of>>6] |= 1 << (of & 63)
			}
		}
		at := slices.IndexFunc(out, func(o price.Offer) bool { return slices.Equal(o.Holds, holds) })
		if at < 0 {
			at = len(out)
			out = append(out, price.Offer{Capacity: make([]int64, len(c.resources.dims)), Holds: holds, Limit: 1})
		}
		for j, d := range c.resources.dims {
			free := max(0, valueAt(h.Free, d))
			out[at].Capacity[j] += min(free, math.MaxInt64-out[at].Capacity[j])
		}
	}
	return out
}

// question is what resources are worth to the pods that are left.
type question struct {
	left    []int64       // pods per kind
	cuts    int           // as in price.Problem
	groups  int           // as in price.Problem; above 0, the prices are to steer a search
	highest int64         // steering prices look at no column with a higher price; 0: no limit
	more    []price.Offer // room besides the columns
	of      [][]int64     // space for the answer, or nil
	whole   int           // as in price.Problem
	big     []int         // the kinds that may be counted whole; nil: any may
	exact   bool          // as in price.Problem
	known   []price.Content
}

// ask gets the answer from package price: Of per kind, Buys per column. It leaves
// out columns that the plan may not buy. Steering prices look only at the sample.
func (c *core) ask(p *plan, q question) price.Prices {
	steering := q.groups > 0
	columns := c.supply.columns
	offers := make([]price.Offer, 0, len(columns)+len(q.more))
	from := make([]int, 0, len(columns))
	for i := range columns {
		col := &columns[i]
		if !p.usable(i) || steering && (!c.supply.sample[i] || q.highest > 0 && col.price > q.highest) {
			continue
		}
		limit := int64(-1)
		if col.nodes >= 0 {
			limit = p.nodesLeft[col.offer]
		}
		offers = append(offers, price.Offer{Capacity: col.room, Price: col.price, Holds: col.wheres, Limit: limit})
		from = append(from, i)
	}
	for i := range c.demand.shapes {
		c.demand.shapes[i].Divides = q.big != nil
	}
	for _, k := range q.big {
		c.demand.shapes[c.demand.kinds[k].shape].Divides = false
	}
	out := price.Solve(price.Problem{
		Resources: len(c.resources.dims), Offers: append(offers, q.more...), Classes: c.demand.counted(q.left), Cuts: q.cuts, Groups: q.groups, Steer: steering,
		Whole: q.whole, Exact: q.exact, Known: q.known,
	})
	c.trace.Pivots += out.Pivots
	c.trace.Contents += out.Steps
	of := q.of
	if of == nil {
		of = make([][]int64, len(c.demand.kinds))
	}
	for i := range c.demand.kinds {
		of[i] = out.Of[c.demand.kinds[i].shape]
	}
	if out.Surcharge != nil {
		each := make([]int64, len(c.demand.kinds))
		for i := range each {
			each[i] = out.Surcharge[c.demand.kinds[i].shape]
		}
		out.Surcharge = each
	}
	buys := make([]int64, len(columns))
	for i, column := range from {
		buys[column] = out.Buys[i]
	}
	out.Of, out.Buys = of, buys
	for i := range out.Contents {
		out.Contents[i].Offer = from[out.Contents[i].Offer]
	}
	return out
}

// whole is what the prices of the whole demand have shown.
type whole struct {
	prices *price.Prices // the prices, where they are as good for steering; else nil
	cuts   int           // how many dimensions with larger units have been of use
}

// priceAll prices the whole demand. Where an earlier call did, it takes prices and
// trace from the result.
func (c *core) priceAll(r *Result) (price.Prices, whole) {
	var prices price.Prices
	if len(r.Prices.Of) == len(c.p.Classes) && r.Searches > 0 {
		prices, c.trace = c.narrow(r.Prices), r.Trace
	} else {
		p := newPlan(c)
		prices, r.whole = c.ask(p, question{left: p.left, cuts: boundCuts}), nil
		if !prices.Corner && !p.large && !slices.Contains(c.supply.sample, false) {
			r.whole = &prices
		}
	}
	return prices, whole{r.whole, len(prices.Dimensions) - len(c.resources.dims)}
}
