package engine

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/bound"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// certifier proves what plans cost at least.
type certifier struct {
	View
	*journal
	room   *room
	market *market

	launches []plan.Launch
	alike    map[string][]alike // all pods, by namespace; see selected
}

// certify proves how much less the launches could cost at best: what all pods
// that this plan gave a place are worth, less the worth of the room that was
// there. Only requirements count, every pool and every offering, whatever its
// weight and whether it ran out a moment ago; so the bound holds for any plan.
func certify(v View, j *journal, r *room, classes []*demandClass, l *launcher) []plan.Certificate {
	if len(l.launches) == 0 {
		return nil // the least cost of nothing is nothing
	}
	k := certifier{View: v, journal: j, room: r, market: l.market, launches: l.launches}
	q := k.pose(pick.Those(classes, func(c *demandClass) bool { return c.placed() > 0 }))
	q.Hosts = k.boundHosts(q)
	return []plan.Certificate{q.told(prove(q, l.packed, l.cost), l.market.fleet.Unpriced)}
}

const (
	nearly = 50  // the inverse of the gap at which no better bound is looked for
	few    = 200 // the inverse of the part of the pods that may count nothing then
)

// prove finds the bound. Where nearly all was packed at once on new nodes, the
// packer's own prices prove it already.
func prove(q *question, packed []packed, cost quantity.Money) bound.Certificate {
	if len(packed) > 0 && len(q.Hosts) == 0 {
		if prices, ok := pricesOf(packed[0], q); ok {
			for _, i := range q.rest {
				prices.Of = append(prices.Of, prices.Of[i])
			}
			if c := bound.With(q.Problem, prices); c.Bound >= cost-cost/nearly {
				return c
			}
		}
	}
	return bound.Of(q.Problem)
}

// pricesOf returns the packer's prices for the classes, nothing for those that
// were not one of the packer's, where they are of resources alone.
func pricesOf(x packed, q *question) (price.Prices, bool) {
	resources := len(q.dims.names())
	ofRule := func(d price.Dimension) bool { return d.Resource >= resources }
	if !slices.Equal(x.dims.extended, q.dims.extended) || len(x.dims.slots) > 0 || slices.ContainsFunc(x.prices.Dimensions, ofRule) {
		return price.Prices{}, false
	}
	whole := map[*demandClass][]int64{}
	for i, it := range x.items {
		if _, twice := whole[it.class]; !twice && it.cell == nil && it.unit == 1 && it.with == nil {
			whole[it.class] = x.prices.Of[i]
		} else {
			whole[it.class] = nil
		}
	}
	out := x.prices
	out.Of = make([][]int64, len(q.demand))
	nothing := make([]int64, len(out.Dimensions))
	var all, without int64
	for i, c := range q.demand {
		out.Of[i] = whole[c]
		all += c.placed()
		if whole[c] == nil {
			out.Of[i] = nothing
			without += c.placed()
		}
	}
	return out, without <= all/few
}

// boundHosts is the room that was there before this plan, where a pod of the
// demand could use it.
func (k *certifier) boundHosts(q *question) []pack.Host {
	least := q.demand[0].group.Shape.Requests
	for _, c := range q.demand[1:] {
		least = least.Min(c.group.Shape.Requests)
	}
	for state := range k.Snapshot.Roomy(withoutAttach(least)) {
		k.trace.Objects++
		k.room.node(state)
	}
	return q.hosts(k.room.touched(func(*host) bool { return true }), q.levels)
}
