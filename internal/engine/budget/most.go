package budget

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Most returns how many nodes of the pool may be disrupted at once for the reason, those
// included that are, and whether any budget bounds that now.
func (l *Ledger) Most(pool string, why plan.DeleteReason) (nodes int64, bounded bool) {
	a := l.pools[pool]
	if a == nil {
		return 0, true
	}
	for i := range a.pool.Disruption.Budgets {
		b := &a.pool.Disruption.Budgets[i]
		if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, string(why)) {
			continue
		}
		n := most(b, a.size)
		if b.Invalid != "" {
			n = 0
		} else if open, _ := active(b, l.now); !open {
			continue
		}
		if !bounded || n < nodes {
			nodes, bounded = n, true
		}
	}
	return nodes, bounded
}

// Used returns how many nodes of the pool use its budgets up.
func (l *Ledger) Used(pool string) int64 {
	if a := l.pools[pool]; a != nil {
		return a.used
	}
	return 0
}
