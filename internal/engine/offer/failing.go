package offer

import (
	"fmt"
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

// Tries counts the launches of a plan. A pool has Policy.MostUnlaunched NodeClaims at a time that
// wait for their launch, and a part of it of which the last launches failed has one, until one
// succeeds.
type Tries struct {
	market   *Market
	launches []plan.Launch // of this plan, before
	left     map[part]int64
	ahead    map[string]int64 // by pool
}

// part is the offerings of a pool that one quota is about.
type part struct{ pool, capacityType, quota string }

// NewTries returns the Tries of a plan that has the launches so far.
func (m *Market) NewTries(launches []plan.Launch) *Tries {
	return &Tries{market: m, launches: launches, left: map[part]int64{}, ahead: map[string]int64{}}
}

// Take returns how many of the nodes of the row may be launched now, counts them, and says what
// the others wait for.
func (t *Tries) Take(r *Row, nodes int64) (now int64, why plan.Refusal) {
	pool, most := t.market.Fleet.Pools[r.Pool].Name, t.market.Policy.MostUnlaunched
	part, failing := part{pool, r.CapacityType, catalog.QuotaOf(r.Type.Name)}, t.market.Failing(r)
	now = nodes
	if _, known := t.ahead[pool]; most > 0 && !known {
		t.ahead[pool] = max(0, most-t.unlaunched(pool))
	}
	if most > 0 && t.ahead[pool] < now {
		now, why = t.ahead[pool], plan.Refusal{Pool: pool, Cause: plan.LaunchesFirst, Detail: fmt.Sprintf("%d at a time", most)}
	}
	if _, known := t.left[part]; failing && !known {
		t.left[part] = t.untaken(part)
	}
	if failing && t.left[part] < nodes {
		now, why = min(now, t.left[part]), plan.Refusal{Pool: pool, Cause: plan.NoCapacity, Detail: OneTry}
	}
	t.ahead[pool] -= now
	t.left[part] -= now
	return now, why
}

// OneTry says what launches wait for after one like them has failed.
const OneTry = "after failed launches one node at a time is tried, and the rest waits for it"

// unlaunched is how many NodeClaims of the pool wait for their launch, those of this plan
// included.
func (t *Tries) unlaunched(pool string) (n int64) {
	for i := range t.launches {
		if t.launches[i].Pool == pool {
			n++
		}
	}
	for _, c := range t.market.Claims {
		if c.Pool == pool && !c.Launched && !c.Deleting {
			n++
		}
	}
	return n
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
