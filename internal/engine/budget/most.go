package budget

import "github.com/karpenterd/terraform-provider-karpenter/internal/plan"

// Most returns how many nodes of the pool may be disrupted at once for the reason, those
// included that are, and whether any budget bounds that now.
func (l *Ledger) Most(pool string, why plan.DeleteReason) (nodes int64, bounded bool) {
	a := l.pools[pool]
	if a == nil {
		return 0, true
	}
	for x := range l.bounds(a, why) {
		if !bounded || x.most < nodes {
			nodes, bounded = x.most, true
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
