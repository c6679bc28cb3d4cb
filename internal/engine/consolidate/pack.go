package consolidate

import (
	"cmp"
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

// kindOfRow returns the kind of new nodes of the row in the zone.
func (s *Search) kindOfRow(row, zone int) int {
	k := &s.kinds.fresh[row*len(s.Fleet.Zones)+zone]
	if *k == 0 {
		*k = int32(s.kinds.next())
	}
	return int(*k)
}

// room is what a new node of the row has free.
func (s *shadow) room(r *offer.Row) vector {
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
		if r := &f.Rows[i]; !r.StandIn && (r.Price > 0 || r.Reserved()) && (largest <= 0 || r.Type.Capacity.MilliCPU <= largest) {
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

// pack opens new nodes for the pods, which are sorted by worth: again and again the node
// whose content is worth most for its price. It says whether all pods have a place, and
// overwrites the list.
func (s *Search) pack(rest []part) bool {
	for len(rest) > 0 {
		s.counts, s.best = slices.Grow(s.counts[:0], len(rest))[:len(rest)], slices.Grow(s.best[:0], len(rest))[:len(rest)]
		found := false
		var bestWorth int64
		var row, zone int
		var price quantity.Money
		all, pods := wish(rest, s) // no node holds more
		for ri, r := range s.rows {
			if s.work++; found && quantity.MulDiv(int64(r.Price), bestWorth, all) >= int64(price) {
				continue
			}
			if found && !r.Reserved() && quantity.MulDiv(int64(r.Price), bestWorth, mostWorth(r.Net, s.perMilliCPU, s.perMiB, pods)) >= int64(price) {
				s.work += len(rest) // as fill counts it: where the search ends does not depend on what is skipped
				continue
			}
			minWorth := int64(0)
			if found {
				minWorth = quantity.MulDiv(int64(r.Price), bestWorth, int64(price)) // of what is worth no more, nothing is found below
			}
			worth, where := s.fill(ri, r, minWorth)
			if worth == 0 {
				continue
			}
			if p, z := r.PriceIn(where); !found || quantity.MulDiv(int64(p), bestWorth, worth) < int64(price) {
				found, bestWorth, row, zone, price = true, worth, ri, z, p
				s.counts, s.best = s.best, s.counts
			}
		}
		if !found {
			return false
		}
		left := rest[:0]
		s.content = s.content[:0]
		for i, p := range rest {
			if s.best[i] > 0 {
				s.content = append(s.content, part{p.class, s.best[i]})
			}
			if p.n -= s.best[i]; p.n > 0 {
				left = append(left, p)
			}
		}
		s.open(row, zone, price, s.content)
		rest = left
	}
	return true
}

// mostWorth is at least what those of so many pods are worth that a new node takes: what all its
// CPU and memory are worth, and one for each pod, which is at least that.
func mostWorth(net quantity.Resources, perMilliCPU, perMiB, pods int64) int64 {
	return (max(0, net.MilliCPU)*perMilliCPU+max(0, net.MemoryBytes>>20)*perMiB)/1000 + pods
}

// wanted is a part that is being packed. What fill reads for each row is in one place.
type wanted struct {
	need           vector
	n, most, worth int64
	taken          []uint64 // see class
	rest           int64    // what this part and those after it are worth
}

// wish notes what fill packs, and returns what all of it is worth, and how many pods it is.
func wish(parts []part, s *Search) (all, pods int64) {
	s.wanted = slices.Grow(s.wanted[:0], len(parts))[:len(parts)]
	for i, p := range slices.Backward(parts) {
		c := &s.classes[p.class]
		all, pods = all+c.worth*p.n, pods+p.n
		s.wanted[i] = wanted{c.need, p.n, c.most, c.worth, s.takes(p.class), all}
	}
	return all, pods
}

// fill notes in counts how many pods of each part that is wanted a node of the row takes, the
// dearest first. It returns what they are worth, and the zones where the node may be; nothing
// once it is certain that they are not worth more than minWorth.
func (s *Search) fill(ri int, r *offer.Row, minWorth int64) (worth int64, where uint64) {
	clear(s.counts)
	if r.Reserved() && isFull(s, r.Reservation) {
		return 0, 0
	}
	free, where := s.room(r), uint64(math.MaxUint64)&r.Zones
	s.work += len(s.wanted) // also of those at which it need not look
	for i := range s.wanted {
		p := &s.wanted[i]
		if worth+p.rest <= minWorth {
			return 0, 0
		}
		in := where & p.taken[ri]
		if in == 0 {
			continue
		}
		n := min(p.need.count(&free, p.n), p.most)
		if n == 0 {
			continue
		}
		s.counts[i], where = n, in
		free.add(&p.need, -n)
		worth += p.worth * n
	}
	return worth, where
}

// isFull says whether the new nodes of the shadow take all that the reservation has room for.
func isFull(s *Search, reservation string) bool {
	left := s.Left[reservation]
	for i := len(s.Nodes); i < len(s.nodes) && left > 0; i++ {
		if n := &s.nodes[i]; !n.removed && n.in == reservation {
			left--
		}
	}
	return left <= 0
}

// takes returns, by row, the zones where new nodes take pods of the class.
func (s *Search) takes(class int) (zones []uint64) {
	c := &s.classes[class]
	if c.taken == nil {
		taken := make([]uint64, len(s.rows))
		for i, r := range s.rows {
			if c.spot && spot(r) {
				continue
			}
			for m := r.Zones; m != 0; m &= m - 1 {
				z := bits.TrailingZeros64(m)
				if (c.zone == "" || c.zone == s.Fleet.Zones[z]) && fit.Node(c.group.Shape, r.Labels(z), s.Fleet.Pools[r.Pool].Taints) {
					taken[i] |= 1 << z
				}
			}
		}
		c.taken = taken
	}
	return c.taken
}

func spot(r *offer.Row) bool { return r.CapacityType == label.Spot }
