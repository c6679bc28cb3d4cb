package certify

import (
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/bound"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// question is what a certificate answers: the least that the demand costs, on
// everything that can be launched and on the room that is there.
type question struct {
	bound.Problem
	demand    []*demand.Class        // sorted by key; the first classes of the problem
	levels    []*demand.Level        // by index of Where
	dims      demand.Dimensions      // of the vectors
	exclusive []exclusive            // sets of pods; each adds one dimension
	rest      []int                  // by last classes of the problem: the demand they come from; see withExclusive
	joined    map[*demand.Class]bool // demand whose pods must share one node; see sharesOne
}

// pose returns the question about the demand, without hosts. It sorts the demand by
// key.
func (k *certifier) pose(classes []*demand.Class) *question {
	slices.SortStableFunc(classes, func(a, b *demand.Class) int { return strings.Compare(a.Group.Key, b.Group.Key) })
	q := &question{demand: classes, dims: demand.DimensionsOf(classes), joined: map[*demand.Class]bool{}}
	sets := exclusiveOf(classes)
	for i := range k.market.Fleet.Rows {
		r := &k.market.Fleet.Rows[i]
		q.Offers = append(q.Offers, pack.Offer{Name: r.Name, Group: r.Group, Net: q.dims.Vector(r.Most), Prices: r.Prices, Zones: r.Zones, Nodes: r.Left})
	}
	levels, where := demand.PlacesOf(classes)
	q.levels = levels
	for _, l := range levels {
		q.Where = append(q.Where, pack.Where{Zones: k.everyVariant(k.market.Places(l))})
	}
	q.Classes = make([]pack.Class, 0, len(classes))
	for i, c := range classes {
		need, n := demand.WithoutAttach(c.Levels[c.Last()].Shape.Requests), c.Placed()
		if k.sharesOne(c) {
			q.joined[c] = true
			need, n = need.Times(n), 1
		}
		q.Classes = append(q.Classes, pack.Class{Key: c.Group.Key, Need: q.dims.Vector(need), Count: n, Where: where[i]})
		if x, ok := k.spreadOf(c); ok {
			sets = append(sets, x)
		}
	}
	q.withExclusive(largest(sets))
	return q
}

// everyVariant returns the zones where the rows or other variants of them take a pod, if
// the fleet lacks rows for combinations of what different pods ask for. So the bound also
// holds for plans with nodes that are for all of these pods.
func (k *certifier) everyVariant(zones []uint64) []uint64 {
	if !k.market.Fleet.Partial {
		return zones
	}
	type kind struct {
		pool                            int
		name, capacityType, reservation string
	}
	of := func(r *offer.Row) kind { return kind{r.Pool, r.Type.Name, r.CapacityType, r.Reservation} }
	all, out := map[kind]uint64{}, make([]uint64, len(zones))
	for i := range zones {
		all[of(&k.market.Fleet.Rows[i])] |= zones[i]
	}
	for i := range out {
		out[i] = all[of(&k.market.Fleet.Rows[i])]
	}
	return out
}

// withExclusive adds the sets to a problem without hosts; each set is one more
// dimension. If only some pods of a class need a node each, the other pods become
// another class at the end of the problem.
func (q *question) withExclusive(sets []exclusive) {
	q.exclusive = sets
	number := map[*demand.Class]int{}
	for i, c := range q.demand {
		number[c] = i
	}
	for range sets {
		for i := range q.Offers {
			q.Offers[i].Net = append(q.Offers[i].Net, 1)
		}
		for i := range q.Classes {
			q.Classes[i].Need = append(q.Classes[i].Need, 0)
		}
	}
	for i := range sets {
		for _, c := range sets[i].members {
			need := q.Classes[number[c]].Need
			need[len(need)-len(sets)+i] = 1
		}
	}
	for i := range sets {
		x := &sets[i]
		if x.spread == nil {
			continue
		}
		at := number[x.members[0]]
		rest := q.Classes[at]
		rest.Need, rest.Count = slices.Clone(rest.Need), rest.Count-x.pods
		rest.Need[len(rest.Need)-len(sets)+i] = 0
		q.Classes[at].Count = x.pods
		q.rest, q.Classes = append(q.rest, at), append(q.Classes, rest)
	}
}

// hosts returns the room of the hosts before this plan, for the hosts that a pod of
// any level could use.
func (q *question) hosts(hosts []*room.Host, levels []*demand.Level) []pack.Host {
	var out []pack.Host
	for _, h := range hosts {
		x := pack.Host{Free: q.room(h), Holds: make([]uint64, (len(levels)+63)/64)}
		found := false
		for w, l := range levels {
			if h.Could(l) {
				x.Holds[w>>6] |= 1 << (w & 63)
				found = true
			}
		}
		if found {
			out = append(out, x)
		}
	}
	return out
}

// room returns the vector of what was free on the host before this plan.
func (q *question) room(h *room.Host) []int64 {
	v := q.dims.Vector(h.Most)
	for i := range q.exclusive {
		v = append(v, q.exclusive[i].room(h))
	}
	return v
}

// told writes the certificate with the names of objects. The pods of an exclusive set
// are those that have a price for it. The fleet supplies the node cost and the
// offerings without a price.
func (q *question) told(c bound.Certificate, fleet *offer.Fleet) plan.Certificate {
	c = q.asTold(c)
	out := plan.Certificate{NodeCost: fleet.NodeCost, Bound: c.Bound, Scale: c.Scale, Unpriced: fleet.Unpriced}
	names := q.dims.Names()
	var told []int
	for i, x := range c.Dimensions {
		set := x.Resource - len(names)
		if set >= 0 && !slices.ContainsFunc(c.Prices, func(prices []int64) bool { return len(prices) > 0 && prices[i] > 0 }) {
			continue
		}
		d := plan.Dimension{Resource: plan.Exclusive(set + 1), Unit: x.Unit}
		if set < 0 {
			d.Resource = names[x.Resource]
		}
		told, out.Dimensions = append(told, i), append(out.Dimensions, d)
	}
	for i, d := range q.demand {
		prices := c.Prices[i]
		switch {
		case len(prices) == 0:
			prices = make([]int64, len(told))
		case len(q.exclusive) > 0:
			prices = make([]int64, len(told))
			for j, k := range told {
				if q.Classes[i].Need[c.Dimensions[k].Resource] > 0 {
					prices[j] = c.Prices[i][k]
				}
			}
		}
		x := plan.DemandPrice{Group: d.Group.Key, Count: d.Placed(), Together: q.joined[d], Prices: prices}
		if c.Surcharge != nil {
			x.Surcharge = c.Surcharge[i]
		}
		out.Demand = append(out.Demand, x)
	}
	return out
}

// asTold changes the certificate so that its prices alone describe it. A pod without
// a price for an exclusive set leaves the set. All pods of one class get the same
// prices. If anything changed, asTold proves the bound again.
func (q *question) asTold(c bound.Certificate) bound.Certificate {
	changed := len(q.rest) > 0
	for k, i := range q.rest {
		c.Prices[len(q.Classes)-len(q.rest)+k] = c.Prices[i]
	}
	for n := range q.exclusive {
		set := len(q.dims.Names()) + n
		at := slices.IndexFunc(c.Dimensions, func(d price.Dimension) bool { return d.Resource == set })
		for i := range q.Classes {
			need := q.Classes[i].Need
			if need[set] > 0 && (at < 0 || len(c.Prices[i]) == 0 || c.Prices[i][at] == 0) {
				need[set], changed = 0, true
			}
		}
	}
	if changed {
		proven, err := bound.Proven(q.Problem, c)
		if err != nil {
			proven = 0
		}
		c.Bound = min(c.Bound, proven)
	}
	return c
}
