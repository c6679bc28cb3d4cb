package engine

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fleet"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// limitNodes is the limit that counts nodes (karpenter.sh/v1 NodePool).
const limitNodes = "nodes"

// budget is a pool's limits and what counts against them: the capacity of its
// NodeClaims and of this plan's launches, each at the largest type that it may
// become.
type budget struct {
	limits []quantity.Amount
	used   quantity.Resources
	nodes  int64
}

// budget returns that of the pool; it is counted once in a Step.
func (s *step) budget(p cluster.Pool) budget {
	if len(p.Limits) == 0 {
		return budget{}
	}
	b, known := s.budgets[p.Name]
	if !known {
		b.limits = p.Limits
		for l := range s.in.Snapshot.Lots(p.Name) {
			s.trace.Objects++
			b.nodes += l.Count
			b.used = b.used.Add(s.largest(l).Times(l.Count))
		}
		s.budgets[p.Name] = b
	}
	return b
}

// largest is the most that a NodeClaim of the lot may count for.
func (s *step) largest(lot cluster.Lot) quantity.Resources {
	class, _ := s.in.Snapshot.Class(lot.Class)
	most := lot.Allocatable.Max(lot.Capacity) // known even where the class is not ready
	for _, t := range class.Types {
		if t.Name == lot.InstanceType || lot.InstanceType == "" && lot.Requirements.Admits(label.InstanceType, t.Name) {
			most = most.Max(t.Capacity)
		}
	}
	return most
}

// refuses says which limit a node of this capacity would exceed.
func (b budget) refuses(capacity quantity.Resources) (limit plan.Limit, over bool) {
	for _, x := range b.limits {
		have, add := b.used.Get(x.Name), capacity.Get(x.Name)
		if x.Name == limitNodes {
			have, add = b.nodes, 1
		}
		if add > 0 && (have > x.Count || add > x.Count-have) {
			return plan.Limit{Name: x.Name, Max: x.Count, Used: have}, true
		}
	}
	return plan.Limit{}, false
}

// spend counts a launch against its pool's limits and its reservation.
func (s *step) spend(l plan.Launch, carried []*fleet.Row) {
	if l.Reservation != "" {
		s.reserved[l.Reservation] = s.reservationUse(carried[0]) + 1
	}
	b, limited := s.budgets[l.Pool]
	if !limited {
		return
	}
	var most quantity.Resources
	for _, r := range carried {
		most = most.Max(r.Type.Capacity)
	}
	b.nodes++
	b.used = b.used.Add(most)
	s.budgets[l.Pool] = b
}

// reservationUse counts this plan's launches into the row's reservation and the
// NodeClaims in it that EC2 had not counted when it said how many are left.
func (s *step) reservationUse(r *fleet.Row) int64 {
	if r.Reservation == "" {
		return 0
	}
	n, known := s.reserved[r.Reservation]
	if !known {
		for c := range s.in.Snapshot.InReservation(r.Reservation) {
			s.trace.Objects++
			if c.Launched && c.LaunchedAt.After(r.Counted) || !c.Launched && !c.Deleting {
				n++
			}
		}
		s.reserved[r.Reservation] = n
	}
	return n
}
