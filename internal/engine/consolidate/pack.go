package consolidate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// The search only has to know about what new nodes for some pods would cost. The plan
// that carries a move out packs them again, and better.

// bin is a new node and its content.
type bin struct {
	row   int
	zone  int // bit
	price quantity.Money
	parts []part
}

// open adds the new nodes of the trial to the shadow: others may go there, and another
// trial may do without them.
func (s *Search) open() {
	for _, b := range s.bins {
		r := s.rows[b.row]
		n := node{
			price: b.price, labels: r.Labels(b.zone), taints: s.Fleet.Pools[r.Pool].Taints, free: s.room(r), parts: b.parts,
			kind: s.kindOfRow(b.row, b.zone), zone: s.Fleet.Zones[b.zone], spot: r.CapacityType == label.Spot,
		}
		for _, p := range b.parts {
			n.free.add(&s.classes[p.class].need, -p.n)
			n.pods += p.n
		}
		s.order = append(s.order, len(s.nodes))
		s.nodes = append(s.nodes, n)
	}
}

// kindOfRow numbers the kinds of new nodes beside those that run.
func (s *Search) kindOfRow(row, zone int) int {
	key := fmt.Sprint("row ", row, " ", zone)
	k, known := s.kinds[key]
	if !known {
		k = len(s.kinds)
		s.kinds[key] = k
	}
	return k
}

// room is what a new node of the row has free.
func (s *Search) room(r *offer.Row) vector {
	free := s.vector(r.Net)
	for i, name := range s.resources {
		if cluster.IsAttachSlots(name) && free[4+i] == 0 { //nolint:gosec // as many resources as the vector has room for
			free[4+i] = cluster.UnlimitedSlots //nolint:gosec // as above
		}
	}
	return free
}

// goodRows returns the rows that no other row of their group is both as large as and as
// cheap as.
func goodRows(f *offer.Fleet, largest int64) []*offer.Row {
	byGroup := map[int][]*offer.Row{}
	for i := range f.Rows {
		if r := &f.Rows[i]; r.Price > 0 && !r.Reserved() && (largest <= 0 || r.Type.Capacity.MilliCPU <= largest) {
			byGroup[r.Group] = append(byGroup[r.Group], r)
		}
	}
	var out []*offer.Row
	for _, g := range slices.Sorted(maps.Keys(byGroup)) {
		list := byGroup[g]
		slices.SortStableFunc(list, func(a, b *offer.Row) int {
			return cmp.Or(cmp.Compare(a.Price, b.Price), cmp.Compare(b.Net.MilliCPU, a.Net.MilliCPU), cmp.Compare(b.Net.MemoryBytes, a.Net.MemoryBytes))
		})
		from := len(out)
		for _, r := range list {
			if !slices.ContainsFunc(out[from:], func(x *offer.Row) bool { return r.Net.Fits(x.Net) && r.Zones&^x.Zones == 0 }) {
				out = append(out, r)
			}
		}
	}
	return out
}

// pack returns what new nodes for the parts cost, by zone of pods that stay in theirs.
func (s *Search) pack(rest map[string][]part, noSpot bool) (cost quantity.Money, packed bool) {
	var free []part
	for _, zone := range slices.Sorted(maps.Keys(rest)) {
		var bound []part
		for _, p := range rest[zone] {
			if s.classes[p.class].inZone {
				bound = append(bound, p)
			} else {
				free = merge(free, []part{p})
			}
		}
		bit := slices.Index(s.Fleet.Zones, zone)
		if len(bound) > 0 && bit < 0 {
			return 0, false
		}
		if cost, packed = s.packIn(cost, bound, 1<<max(bit, 0), noSpot); !packed {
			return 0, false
		}
	}
	return s.packIn(cost, free, math.MaxUint64, noSpot)
}

// packIn adds the cost of new nodes for the parts in the zones: again and again the
// node whose content is worth most for its price.
func (s *Search) packIn(cost quantity.Money, parts []part, zones uint64, noSpot bool) (quantity.Money, bool) {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(s.classes[b.class].worth, s.classes[a.class].worth) })
	for len(parts) > 0 {
		var best []int64
		var found bin
		var bestWorth int64
		for ri, r := range s.rows {
			if noSpot && r.CapacityType == label.Spot {
				continue
			}
			counts, worth, where := s.fill(ri, r, parts, zones)
			if worth == 0 {
				continue
			}
			p, zone := r.PriceIn(where)
			if best == nil || quantity.MulDiv(int64(p), bestWorth, worth) < int64(found.price) {
				best, bestWorth, found = counts, worth, bin{row: ri, zone: zone, price: p}
			}
		}
		if best == nil {
			return 0, false
		}
		cost = cost.Add(found.price)
		var left []part
		for i, p := range parts {
			if best[i] > 0 {
				found.parts = append(found.parts, part{p.class, best[i]})
			}
			if p.n -= best[i]; p.n > 0 {
				left = append(left, p)
			}
		}
		parts = left
		s.bins = append(s.bins, found)
	}
	return cost, true
}

// fill returns how many pods of each part a node of the row takes, the dearest first,
// what they are worth, and the zones where the node may be.
func (s *Search) fill(ri int, r *offer.Row, parts []part, zones uint64) (counts []int64, worth int64, where uint64) {
	free, where := s.room(r), zones&r.Zones
	s.work += len(parts)
	for i, p := range parts {
		c := &s.classes[p.class]
		in := where & s.takes(p.class, ri)
		if in == 0 {
			continue
		}
		n := c.need.count(&free, p.n)
		if c.exclusive {
			n = min(n, 1)
		}
		if n == 0 {
			continue
		}
		if counts == nil {
			counts = make([]int64, len(parts))
		}
		counts[i], where = n, in
		free.add(&c.need, -n)
		worth += c.worth * n
	}
	return counts, worth, where
}

// takes returns the zones where new nodes of the row take pods of the class.
func (s *Search) takes(class, row int) (zones uint64) {
	c := &s.classes[class]
	if c.taken == nil {
		c.taken = make([]uint64, len(s.rows))
		for i, r := range s.rows {
			for m := r.Zones; m != 0; m &= m - 1 {
				z := bits.TrailingZeros64(m)
				if fit.Node(c.group.Shape, r.Labels(z), s.Fleet.Pools[r.Pool].Taints) {
					c.taken[i] |= 1 << z
				}
			}
		}
	}
	return c.taken[row]
}
