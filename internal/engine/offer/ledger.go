package offer

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// LimitNodes is the limit that counts nodes (karpenter.sh/v1 NodePool).
const LimitNodes = "nodes"

// ledger counts what limits and reservations have left, after this plan's launches.
// It counts each pool and reservation once, when it is first asked about.
type ledger struct {
	snapshot cluster.Snapshot
	*journal.Journal
	pools        map[string]Usage // pools with limits, by name
	reservations map[string]int64 // launches into each reservation
}

func newLedger(v view.View, j *journal.Journal) *ledger {
	return &ledger{snapshot: v.Snapshot, Journal: j, pools: map[string]Usage{}, reservations: map[string]int64{}}
}

// Usage is a pool's limits and what counts against them: the capacity of its
// NodeClaims and of this plan's launches, each at the largest type that it may
// become.
type Usage struct {
	limits []quantity.Amount
	used   quantity.Resources
	nodes  int64
}

// Usage returns the usage of the pool; the zero value if the pool has no limits.
func (k *ledger) Usage(p cluster.Pool) Usage {
	if len(p.Limits) == 0 {
		return Usage{}
	}
	b, known := k.pools[p.Name]
	if !known {
		b.limits = p.Limits
		for l := range k.snapshot.Lots(p.Name) {
			k.Trace.Objects++
			b.nodes += l.Count
			b.used = b.used.Add(k.largest(l).Times(l.Count))
		}
		k.pools[p.Name] = b
	}
	return b
}

// Used returns what counts against the pool's limits, and how many NodeClaims it has.
func Used(s cluster.Snapshot, p cluster.Pool) (quantity.Resources, int64) {
	u := newLedger(view.View{Snapshot: s}, &journal.Journal{}).Usage(p)
	return u.used, u.nodes
}

// largest returns the most that a NodeClaim of the lot may count for.
func (k *ledger) largest(lot cluster.Lot) quantity.Resources {
	class, _ := k.snapshot.Class(lot.Class)
	most := lot.Allocatable.Max(lot.Capacity) // known even where the class is not ready
	for _, t := range class.Types {
		if t.Name == lot.InstanceType || lot.InstanceType == "" && lot.Requirements.Admits(label.InstanceType, t.Name) {
			most = most.Max(t.Capacity)
		}
	}
	return most
}

// Refuses returns the limit that a node of this capacity would exceed, if any.
func (b Usage) Refuses(capacity quantity.Resources) (limit plan.Limit, exceeded bool) {
	return b.refuses(1, capacity)
}

func (b Usage) refuses(nodes int64, capacity quantity.Resources) (limit plan.Limit, exceeded bool) {
	for _, x := range b.limits {
		have, add := b.used.Get(x.Name), capacity.Get(x.Name)
		if x.Name == LimitNodes {
			have, add = b.nodes, nodes
		}
		if add > 0 && (have > x.Count || add > x.Count-have) {
			return plan.Limit{Name: x.Name, Max: x.Count, Used: have}, true
		}
	}
	return plan.Limit{}, false
}

// Spend counts a launch against the limits of its pool and against its reservation.
func (k *ledger) Spend(l plan.Launch, carried []*Row) {
	if l.Reservation != "" {
		k.reservations[l.Reservation] = k.reservationUse(carried[0]) + 1
	}
	b, limited := k.pools[l.Pool]
	if !limited {
		return
	}
	var most quantity.Resources
	for _, r := range carried {
		most = most.Max(r.Type.Capacity)
	}
	b.nodes++
	b.used = b.used.Add(most)
	k.pools[l.Pool] = b
}

// NodesLeft returns how many nodes the row's reservation still has room for, and -1
// without a reservation.
func (k *ledger) NodesLeft(r *Row) int64 {
	if !r.Reserved() {
		return -1
	}
	return max(0, r.Left-k.reservationUse(r))
}

// reservationUse returns how many instances of the row's reservation are used
// beyond the count that EC2 reported: NodeClaims launched later or not launched
// yet, and this plan's launches.
func (k *ledger) reservationUse(r *Row) int64 {
	n, known := k.reservations[r.Reservation]
	if !known {
		var seen int
		n, seen = r.uncounted(k.snapshot)
		k.Trace.Objects += seen
		k.reservations[r.Reservation] = n
	}
	return n
}

// uncounted returns how many NodeClaims in the row's reservation the count that EC2 reported
// lacks, and how many NodeClaims are in it.
func (r *Row) uncounted(s cluster.Snapshot) (n int64, seen int) {
	for c := range s.InReservation(r.Reservation) {
		seen++
		if c.Launched && c.LaunchedAt.After(r.Counted) || !c.Launched && !c.Deleting {
			n++
		}
	}
	return n, seen
}

// LeftIn returns how many nodes each reservation of the fleet has room for now, by id.
func (f *Fleet) LeftIn(s cluster.Snapshot) map[string]int64 {
	out := map[string]int64{}
	for i := range f.Rows {
		r := &f.Rows[i]
		if _, known := out[r.Reservation]; known || !r.Reserved() {
			continue
		}
		n, _ := r.uncounted(s)
		out[r.Reservation] = max(0, r.Left-n)
	}
	return out
}
