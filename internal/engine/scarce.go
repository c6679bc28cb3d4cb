package engine

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// finished is a plan that is whole and leaves pods without a place, because limits
// or reservations are short. Another one is made that spares what is limited, and
// in which pods of high priority come first and declared ones last; the better of
// the two is carried out.
type finished struct {
	out      Output
	unplaced map[rank]int64
}

// rank says who comes first where there is too little for all.
type rank struct {
	real     bool // pods that exist, before those that are only declared
	priority int32
}

func (r rank) compare(o rank) int {
	if r.real != o.real {
		if r.real {
			return 1
		}
		return -1
	}
	return cmp.Compare(r.priority, o.priority)
}

// short says whether the refusal is for want of what a pool may have.
func short(r plan.Refusal) bool {
	return r.Cause == plan.LimitReached || r.Cause == plan.NoCapacity && r.Detail != ""
}

// ample is how many times the demand must fit into what pools may have for that not
// to be taken for scarce.
const ample = 2

// scarcity says whether some of the demand can only go to pools whose limits and
// reservations may be too short for it. Then nothing is launched before the plan
// is whole.
func (s *step) scarcity() bool {
	asked := make([]quantity.Resources, len(s.fleet.Pools)) // of each pool, if all went there
	pools := map[*uint64][]bool{}
	for _, c := range s.classes {
		for i, runs := range s.poolsOf(c, pools) {
			if runs {
				asked[i] = asked[i].Add(withoutAttach(c.shape().Requests).Times(c.count()).Times(ample))
			}
		}
	}
	enough := make([]bool, len(asked))
	for i := range enough {
		enough[i] = s.suffices(i, asked[i])
	}
	return slices.ContainsFunc(s.classes, func(c *demandClass) bool {
		somewhere := false
		for i, runs := range s.poolsOf(c, pools) {
			if runs && enough[i] {
				return false
			}
			somewhere = somewhere || runs
		}
		return somewhere && c.count() > 0
	})
}

// suffices says whether what the pool may yet have is as much as asked for.
func (s *step) suffices(pool int, asked quantity.Resources) bool {
	var largest quantity.Resources
	var nodes int64
	reserved := map[string]bool{}
	for i := range s.fleet.Rows {
		r := &s.fleet.Rows[i]
		if r.Pool != pool {
			continue
		}
		largest = largest.Max(r.Net)
		switch {
		case r.Left < 0:
			nodes = math.MaxInt64
		case !reserved[r.Reservation]:
			reserved[r.Reservation] = true
			nodes += min(r.Left, math.MaxInt64-nodes)
		}
	}
	b := s.budget(s.fleet.Pools[pool])
	for _, l := range b.limits {
		if l.Name == limitNodes {
			nodes = min(nodes, max(0, l.Count-b.nodes))
		} else if asked.Get(l.Name) > l.Count-b.used.Get(l.Name) {
			return false
		}
	}
	return nodes == math.MaxInt64 || asked.Fits(largest.Times(nodes))
}

// beats says whether the plan is better than the other: fewer pods without a
// place, those of the highest rank first, then the cost.
func (s *step) beats(other *finished) bool {
	ranks := slices.Collect(maps.Keys(s.unplaced))
	for r := range other.unplaced {
		ranks = append(ranks, r)
	}
	slices.SortFunc(ranks, rank.compare)
	for _, r := range slices.Backward(ranks) {
		if a, b := s.unplaced[r], other.unplaced[r]; a != b {
			return a < b
		}
	}
	return s.cost < other.out.Plan.Cost
}

// least is the priority down to which pods are packed first where there is too
// little for all: the highest of which one found no place.
func (f *finished) least() int32 {
	top := rank{priority: math.MinInt32}
	for r, n := range f.unplaced {
		if n > 0 && r.compare(top) > 0 {
			top = r
		}
	}
	return top.priority
}

// lower lets pods of the next priority be packed, too. It returns false where
// there is none.
func (s *step) lower(t *tier) bool {
	next, found := int32(math.MinInt32), false
	for _, c := range s.classes {
		if p := c.group.Shape.Priority; c.count() > 0 && p < t.least {
			next, found = max(next, p), true
		}
	}
	t.least = next
	return found
}

// gives says whether another plan could give room to others: that of launches, or
// what declared pods take of nodes that run.
func (s *step) gives() bool {
	for _, h := range s.nodeHosts {
		if h != nil && h.stage == stageNode && h.declared > 0 {
			return true
		}
	}
	return len(s.launches) > 0
}

// putAside takes the declared pods out of the demand.
func (s *step) putAside() {
	for _, c := range s.classes {
		c.aside, c.declared = c.declared, 0
	}
}

// bringBack puts them in again, with all their preferences.
func (s *step) bringBack() {
	for _, c := range s.classes {
		if c.aside > 0 && c.count() == 0 {
			c.level = 0
		}
		c.declared += c.aside
		c.aside = 0
	}
}

// spareFactor is how many times the dearest offer costs what is scarce.
const spareFactor = 100

// spare makes offers of limited pools dearer, by what they take of the limits,
// than any price: so that as much as possible is placed before these are reached.
// It does nothing for the first plan.
func (s *step) spare(t *tier) map[int]quantity.Money {
	if s.scarce == nil {
		return nil
	}
	extra := map[int]quantity.Money{}
	var dearest quantity.Money
	largest := map[string]int64{}
	for _, x := range t.rows {
		r := &s.fleet.Rows[x]
		dearest = max(dearest, slices.Max(r.Prices))
		for _, l := range s.fleet.Pools[r.Pool].Limits {
			largest[l.Name] = max(largest[l.Name], r.Type.Capacity.Get(l.Name))
		}
	}
	dearest = min(max(dearest, quantity.NanoDollars), 1000*quantity.NanoDollars)
	for _, x := range t.rows {
		r := &s.fleet.Rows[x]
		for _, l := range s.fleet.Pools[r.Pool].Limits {
			taken := int64(whole)
			if l.Name != limitNodes {
				taken = part(r.Type.Capacity.Get(l.Name), max(1, largest[l.Name]))
			}
			extra[x] += dearest * spareFactor / 1024 * quantity.Money(taken>>22)
		}
	}
	slices.SortStableFunc(t.rows, func(a, b int) int {
		return cmp.Compare(s.fleet.Rows[a].Price+extra[a], s.fleet.Rows[b].Price+extra[b])
	})
	return extra
}

// offers writes the tier's rows as the packer's offers, some of them dearer.
func (s *step) offers(t *tier, extra map[int]quantity.Money) []pack.Offer {
	out := make([]pack.Offer, len(t.rows))
	t.nets = make([][]int64, len(t.rows))
	for i, x := range t.rows {
		r := &s.fleet.Rows[x]
		t.nets[i] = t.dims.vector(s.net(r))
		out[i] = pack.Offer{Name: r.Name, Group: r.Group, Net: t.nets[i], Prices: r.Prices, Zones: s.sale[x], Large: s.large(r), Nodes: -1}
		if r.Left >= 0 {
			out[i].Nodes = r.Left - s.reservationUse(r)
		}
		if more := extra[x]; more > 0 {
			out[i].Prices = slices.Clone(r.Prices)
			for z := range out[i].Prices {
				if r.Zones>>z&1 == 1 {
					out[i].Prices[z] += more
				}
			}
		}
	}
	return out
}
