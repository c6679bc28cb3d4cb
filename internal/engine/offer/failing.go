package offer

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Widened is the policy for a launch of the row: dearer types are carried too where
// launches have failed.
func (m *Market) Widened(r *Row) view.Policy {
	p, failures := m.Policy, m.failures(r)
	p.OnDemandTolerance, p.SpotTolerance = memory.Wider(p.OnDemandTolerance, failures), memory.Wider(p.SpotTolerance, failures)
	return p
}

// Tries counts launches of the parts of pools of which the last launches failed: one at a
// time, until one succeeds.
type Tries struct {
	market   *Market
	launches []plan.Launch // of this plan, before
	left     map[part]int64
}

// part is the offerings of a pool that one quota is about.
type part struct{ pool, capacityType, quota string }

// NewTries returns the Tries of a plan that has the launches so far.
func (m *Market) NewTries(launches []plan.Launch) *Tries {
	return &Tries{market: m, launches: launches, left: map[part]int64{}}
}

// Take returns how many of the nodes of the row may be launched now, and counts them.
func (t *Tries) Take(r *Row, nodes int64) int64 {
	if !t.market.Failing(r) {
		return nodes
	}
	p := part{t.market.Fleet.Pools[r.Pool].Name, r.CapacityType, catalog.QuotaOf(r.Type.Name)}
	left, known := t.left[p]
	if !known {
		left = t.untaken(p)
	}
	nodes = min(nodes, left)
	t.left[p] = left - nodes
	return nodes
}

// untaken returns what is left of the one try beside this plan's launches and the NodeClaims
// that have no instance yet.
func (t *Tries) untaken(p part) int64 {
	for i := range t.launches {
		if l := &t.launches[i]; l.Pool == p.pool && l.CapacityType == p.capacityType && catalog.QuotaOf(l.Types[0].Type) == p.quota {
			return 0
		}
	}
	for _, c := range t.market.Claims {
		if c.Pool == p.pool && !c.Launched && !c.Deleting && c.Requirements.Admits(label.CapacityType, p.capacityType) && mayCount(c.Requirements, p.quota) {
			return 0
		}
	}
	return 1
}

// mayCount says whether an instance with these requirements may count against the quota.
func mayCount(requirements label.Requirements, quota string) bool {
	r, asked := requirements.Get(label.InstanceType)
	types, listed := r.Values()
	return !asked || !listed || slices.ContainsFunc(types, func(t string) bool { return catalog.QuotaOf(t) == quota })
}

// Failing says whether the last launches of the row's pool, with its capacity type and
// quota, found no capacity.
func (m *Market) Failing(r *Row) bool { return m.failures(r) > 0 }

func (m *Market) failures(r *Row) int {
	if len(m.shortages.Failing) == 0 {
		return 0
	}
	return m.shortages.Failures(m.Fleet.Pools[r.Pool].Name, r.Offering(""))
}
