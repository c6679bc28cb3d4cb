package plan

import "time"

// PoolStanding says why no more nodes of a NodePool are deleted now, or which are.
type PoolStanding struct {
	// Saves says that nodes of the pool with pods may be deleted to save money.
	Saves     bool
	Pool, UID string
	Reason    PoolReason
	Detail    string      // what is meant: a budget, numbers of nodes, why the pool is not ready
	Until     time.Time   // when that may change by time alone; zero where it does not, or where that is not known
	Nodes     int64       // NodeClaims of the pool
	Budgets   []Allowance // one for each reason that budgets bound
}

// Allowance is what the budgets of a pool allow for one reason.
type Allowance struct {
	Reason  DeleteReason
	Most    int64 // nodes that may be disrupted at once, those that are included
	Bounded bool  // a budget bounds the number; else Most says nothing
	Used    int64 // nodes that are disrupted, or not ready
}

// PoolReason is the kind of what a NodePool's standing is. Where a node may have the same
// reason, the text is the same.
type PoolReason string

// The standings of a NodePool.
const (
	PoolDeleting   PoolReason = "PoolDeleted"
	PoolNotUp      PoolReason = PoolReason(PoolUnready)
	PoolCloudAway  PoolReason = PoolReason(CloudAway)
	PoolAllPaused  PoolReason = PoolReason(DaemonPaused)
	PoolSelfPaused PoolReason = PoolReason(PoolPaused)
	PoolHasNone    PoolReason = "NoNodes"
	PoolBudgetUsed PoolReason = PoolReason(BudgetUsed)
	PoolLimitFull  PoolReason = PoolReason(LimitFull)
	PoolNodesGo    PoolReason = "NodesGo"
	PoolNext       PoolReason = PoolReason(NextToGo)
	PoolHeld       PoolReason = PoolReason(MovesHeld)
	PoolSearching  PoolReason = PoolReason(NotSearched)
	PoolNoSaving   PoolReason = PoolReason(NoSaving)
	PoolIsStatic   PoolReason = PoolReason(StaticPool)
	PoolPolicy     PoolReason = PoolReason(PolicyForbids)
	PoolNodesKept  PoolReason = "NodesKept"
)

// Explain says in one sentence what the pool's standing is.
func (p *PoolStanding) Explain() string { return p.explain() + until(p.Until) }

func (p *PoolStanding) explain() string {
	switch p.Reason {
	case PoolDeleting:
		return "the NodePool is being deleted: " + p.Detail
	case PoolNotUp:
		return "the NodePool is not ready: " + p.Detail
	case PoolCloudAway:
		return "EC2 does not answer: what has begun stays as it is"
	case PoolHeld:
		return Stay{Reason: MovesHeld, Detail: p.Detail}.Explain()
	case PoolAllPaused, PoolSelfPaused:
		return Stay{Reason: StayReason(p.Reason), Detail: p.Pool}.Explain()
	case PoolHasNone:
		return "the NodePool has no nodes"
	case PoolBudgetUsed:
		return "a disruption budget allows no more nodes now: " + p.Detail
	case PoolLimitFull:
		return Stay{Reason: LimitFull, Detail: p.Pool}.Explain()
	case PoolNodesGo:
		return "nodes are leaving: " + p.Detail
	case PoolNext:
		return "nodes are to be deleted as soon as their turn comes: " + p.Detail
	case PoolSearching:
		return Stay{Reason: NotSearched, Detail: p.Detail, Until: p.Until}.explain()
	case PoolNoSaving:
		return "the fleet has been searched, and no move saves enough: " + p.Detail
	case PoolIsStatic:
		return "the NodePool is static and keeps its nodes: " + p.Detail
	case PoolPolicy:
		return "consolidationPolicy or consolidateAfter keeps nodes with pods"
	case PoolNodesKept:
		return "every node stays for a reason of its own: " + p.Detail
	}
	return string(p.Reason)
}
