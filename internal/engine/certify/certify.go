package certify

import (
	"maps"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/bound"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/launch"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// certifier proves the least that plans cost.
type certifier struct {
	view.View
	*journal.Journal
	room   *room.Room
	market *offer.Market

	launches []plan.Launch
	alike    map[string][]alike // all pods, by namespace; filled by gatherAlike
}

// Launches proves a lower bound on the cost of the launches. The bound is what all
// pods with a place in this plan are worth, less the worth of the room that was
// there before. It counts requirements only, and allows every pool and every
// offering, whatever the weight of the pool and even if the offering lacks capacity
// now. So the bound holds for any plan.
func Launches(v view.View, j *journal.Journal, r *room.Room, classes []*demand.Class, l *launch.Launcher) []plan.Certificate {
	if len(l.Launches) == 0 {
		return nil // nothing is launched, so there is nothing to prove
	}
	k := certifier{View: v, Journal: j, room: r, market: l.Market, launches: l.Launches}
	q := k.pose(pick.Those(classes, func(c *demand.Class) bool { return c.Placed() > 0 }))
	q.Hosts = k.boundHosts(q)
	out := q.told(prove(q, l.Packed, l.Cost.Add(l.Extra.Total())), l.Market.Fleet)
	out.Going = slices.Sorted(maps.Keys(v.Going))
	return []plan.Certificate{out}
}

const (
	smallGap    = 50  // the inverse of the gap between bound and cost that is small enough
	fewUnpriced = 200 // the inverse of the part of the pods that may then have no price
	tight       = 200 // the inverse of the gap above which whole pods are looked at
)

// prove returns the bound. If the packer packed nearly all pods at once on new
// nodes, its own prices already prove a good bound.
func prove(q *question, packed []launch.Packed, cost quantity.Money) bound.Certificate {
	if len(packed) > 0 && len(q.Hosts) == 0 {
		if prices, ok := pricesOf(packed[0], q); ok {
			for _, i := range q.rest {
				prices.Of = append(prices.Of, prices.Of[i])
			}
			c := bound.With(q.Problem, prices)
			if c.Bound >= cost-cost/smallGap {
				return orWhole(q, c, cost)
			}
		}
	}
	return orWhole(q, bound.Of(q.Problem), cost)
}

// orWhole returns the certificate, or one that counts pods of which few fit a node
// whole, if that proves more. A certificate shows exclusive sets by their prices. A
// whole-pod certificate may lack these prices. So orWhole skips it if there are
// exclusive sets.
func orWhole(q *question, c bound.Certificate, cost quantity.Money) bound.Certificate {
	if c.Bound >= cost-cost/tight || len(q.exclusive) > 0 {
		return c
	}
	if w := bound.OfWhole(q.Problem); w.Bound > c.Bound {
		return w
	}
	return c
}

// pricesOf returns the packer's prices for the demand. Demand that was not one
// class of the packer gets the price zero. It returns false if too much demand has
// no price, or if the prices are not of resources alone.
func pricesOf(x launch.Packed, q *question) (price.Prices, bool) {
	resources := len(q.dims.Names())
	ofRule := func(d price.Dimension) bool { return d.Resource >= resources }
	if !slices.Equal(x.Dims.Extended, q.dims.Extended) || len(x.Dims.Slots) > 0 || slices.ContainsFunc(x.Prices.Dimensions, ofRule) {
		return price.Prices{}, false
	}
	whole := x.ByClass()
	out := x.Prices
	out.Of = make([][]int64, len(q.demand))
	nothing := make([]int64, len(out.Dimensions))
	var all, without int64
	for i, c := range q.demand {
		out.Of[i] = whole[c]
		all += c.Placed()
		if whole[c] == nil {
			out.Of[i] = nothing
			without += c.Placed()
		}
	}
	return out, without <= all/fewUnpriced
}

// boundHosts returns the room that was there before this plan and that a pod of the
// demand could use.
func (k *certifier) boundHosts(q *question) []pack.Host {
	smallest := q.demand[0].Group.Shape.Requests
	for _, c := range q.demand[1:] {
		smallest = smallest.Min(c.Group.Shape.Requests)
	}
	for state := range k.Snapshot.Roomy(demand.WithoutAttach(smallest)) {
		k.Trace.Objects++
		k.room.NodeFor(state, q.levels)
	}
	hosts := k.room.Touched(func(*room.Host) bool { return true })
	return q.hosts(slices.Concat(hosts, k.room.GivenUp), q.levels)
}
