package moves

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/launch"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// A move that saves money costs less than it frees whatever EC2 launches: the dearest
// nodes that its launches may become cost less together than the nodes that are deleted.

// narrower narrows one launch to what costs little.
type narrower struct {
	fleet *offer.Fleet
	pool  *cluster.Pool
	rows  []*offer.Row // what the launch may become; the first is what the plan counts
	zones uint64
	asked []cluster.MinValues // of the pool; no more than the plan's launch has
}

// cheaper narrows the launches among the actions until they cost less together than what
// is freed, and says whether that can be. They keep as many types and zones as the price
// and the pools' minValues allow.
func cheaper(fleet *offer.Fleet, actions []plan.Action, frees quantity.Money) bool {
	var list []*narrower
	var at []int
	left := frees - 1
	for i, a := range actions {
		l, ok := a.(plan.Launch)
		if !ok {
			continue
		}
		n := newNarrower(fleet, l)
		if n == nil {
			return false
		}
		lowest, can := n.floor()
		if left -= lowest; !can || left < 0 {
			return false
		}
		list, at = append(list, n), append(at, i)
	}
	for i, n := range list {
		lowest, _ := n.floor()
		share := left / quantity.Money(len(list)-i)
		rows, zones, _ := n.under(lowest.Add(share))
		left -= worst(rows, zones) - lowest
		actions[at[i]] = n.narrowed(actions[at[i]], rows, zones)
	}
	return true
}

// newNarrower returns the narrower of the launch; nil if the fleet does not have all that
// it may become, or if the price that the plan counts stands in for one that nobody knows.
// Other types with such a price are left out.
func newNarrower(fleet *offer.Fleet, l plan.Launch) *narrower {
	n := &narrower{fleet: fleet}
	for i, z := range fleet.Zones {
		if slices.Contains(l.Zones, z) {
			n.zones |= 1 << i
		}
	}
	var all []*offer.Row
	for _, t := range l.Types {
		i := slices.IndexFunc(fleet.Rows, func(r offer.Row) bool {
			return r.Type.Name == t.Type && r.CapacityType == l.CapacityType && r.Reservation == l.Reservation &&
				fleet.Pools[r.Pool].Name == l.Pool && r.Template.Compare(l.Labels) == 0
		})
		if i < 0 {
			return nil
		}
		all = append(all, &fleet.Rows[i])
	}
	if n.rows = pick.Those(all, func(r *offer.Row) bool { return !r.StandIn }); all[0].StandIn {
		return nil
	}
	n.pool = &fleet.Pools[n.rows[0].Pool]
	n.asked = n.variety(n.pool.MinValues, all).Attained()
	return n
}

// variety returns the variety of the rows in the zones of the launch.
func (n *narrower) variety(asked []cluster.MinValues, rows []*offer.Row) *offer.Variety {
	v := offer.NewVariety(asked)
	for _, r := range rows {
		v.Add(r, n.zones)
	}
	return v
}

// floor returns the least that the launch may cost at worst, and whether there is one.
func (n *narrower) floor() (quantity.Money, bool) {
	var prices []quantity.Money
	for _, r := range n.rows {
		for m := r.Zones & n.zones; m != 0; m &= m - 1 {
			prices = append(prices, r.Prices[bits.TrailingZeros64(m)])
		}
	}
	slices.Sort(prices)
	for _, limit := range slices.Compact(prices) {
		if rows, zones, can := n.under(limit); can {
			return worst(rows, zones), true
		}
	}
	return 0, false
}

// under returns those rows and zones that cost at most the limit and give EC2 the widest
// choice, and whether they are enough. The cheapest zone of the first row stays, as the
// plan counts its price. A pool that asks for several zones gets all of them, as in every
// launch.
func (n *narrower) under(limit quantity.Money) (rows []*offer.Row, zones uint64, can bool) {
	all := offer.WantsZones(n.pool)
	widest := 0
	for among := n.zones; among != 0; among &^= n.dearest(among) {
		var list []*offer.Row
		choice := 0
		for _, r := range n.rows {
			if in := r.Zones & among; in != 0 && in&^r.ZonesWithin(limit) == 0 {
				list = append(list, r)
				choice += bits.OnesCount64(in)
			}
		}
		if choice > widest && list[0] == n.rows[0] && n.variety(n.asked, list).Enough() {
			rows, zones, can, widest = list, among, true, choice
		}
		if all {
			break
		}
	}
	return rows, zones, can
}

// dearest returns that one of the zones where the first row costs most, or is not for
// sale.
func (n *narrower) dearest(zones uint64) (out uint64) {
	var most quantity.Money
	for m := zones; m != 0; m &= m - 1 {
		z := bits.TrailingZeros64(m)
		if n.rows[0].Zones>>z&1 == 0 {
			return 1 << z
		}
		if p := n.rows[0].Prices[z]; out == 0 || p >= most {
			out, most = 1<<z, p
		}
	}
	return out
}

// worst is the most that a row costs in one of the zones.
func worst(rows []*offer.Row, zones uint64) (most quantity.Money) {
	for _, r := range rows {
		for m := r.Zones & zones; m != 0; m &= m - 1 {
			most = max(most, r.Prices[bits.TrailingZeros64(m)])
		}
	}
	return most
}

// narrowed returns the launch with these rows and zones alone.
func (n *narrower) narrowed(a plan.Action, rows []*offer.Row, zones uint64) plan.Action {
	l, ok := a.(plan.Launch)
	if !ok {
		return a
	}
	l.Types, l.Zones = nil, nil
	for _, r := range rows {
		l.Types = append(l.Types, r.ChoiceIn(zones))
	}
	slices.SortStableFunc(l.Types, func(a, b plan.Choice) int { return cmp.Compare(a.Price, b.Price) })
	for i, z := range n.fleet.Zones {
		if zones>>i&1 == 1 {
			l.Zones = append(l.Zones, z)
		}
	}
	l.Price, l.Why.Best, l.Why.RunnerUp = l.Types[0].Price, l.Types[0], launch.RunnerUp(l.Types)
	return l
}
