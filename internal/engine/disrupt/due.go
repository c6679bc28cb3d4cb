package disrupt

import (
	"cmp"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/static"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Due is a NodeClaim that is to be deleted because of what it is, whatever that costs.
type Due struct {
	Claim *cluster.Claim
	Why   plan.DeleteReason
	since time.Time
}

// Overdue returns the NodeClaims that are due, in the order of plan.Traits.Precedence: those
// that static pools have too many of, then those of pools that are being deleted, the oldest
// first, then those that expire, those first that end first, and then those that drifted, those
// first that drifted first. It also returns when the next one expires; zero for never.
func Overdue(v view.View) (list []Due, next time.Time) {
	deleted, surplus := deletedPools(v), map[string]bool{}
	for _, c := range static.Surplus(v) {
		surplus[c.Name] = true
	}
	for c := range v.Snapshot.EachClaim() {
		why, by := v.Due(c)
		switch {
		case c.Leaving():
		case surplus[c.Name]:
			list = append(list, Due{c, plan.Surplus, c.Created})
		case deleted[c.Pool]:
			list = append(list, Due{c, plan.PoolDeleted, c.Created})
		case why != "":
			list = append(list, Due{c, why, by})
		}
		next = view.NextExpiry(v.Now, c, next)
	}
	slices.SortStableFunc(list, func(a, b Due) int {
		return cmp.Or(cmp.Compare(b.Why.Traits().Precedence, a.Why.Traits().Precedence), a.since.Compare(b.since))
	})
	return list, next
}

// Forced says whether the node has come to the end of its life and has a
// terminationGracePeriod: it is deleted even if its pods have no other place, and asks no
// budget.
func Forced(c *cluster.Claim, now time.Time) bool {
	return c.Grace > 0 && !c.ExpiresAt.IsZero() && !now.Before(c.ExpiresAt)
}

// deletedPools names the pools that are being deleted; nil if there are none.
func deletedPools(v view.View) (out map[string]bool) {
	for _, p := range v.Snapshot.Supply().Pools {
		if p.Deleting {
			if out == nil {
				out = map[string]bool{}
			}
			out[p.Name] = true
		}
	}
	return out
}

// WithUnwanted returns the view in which those NodeClaims of deleted pools are about to
// be deleted that are deleted at once: they are not up yet and run nothing, or their pool
// is to be terminated.
func WithUnwanted(v view.View) view.View {
	if len(deletedPools(v)) == 0 {
		return v
	}
	going := map[string]plan.DeleteReason{}
	for c := range v.Snapshot.EachClaim() {
		if p, _ := v.Snapshot.Pool(c.Pool); unwanted(v, &p, c) {
			going[c.Name] = plan.PoolDeleted
		}
	}
	if len(going) == 0 {
		return v
	}
	return v.With(going)
}

func unwanted(v view.View, p *cluster.Pool, c *cluster.Claim) bool {
	return p.Deleting && (p.Terminate || !c.Initialized && !v.RunsPods(*c))
}
