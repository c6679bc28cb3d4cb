package budget

import (
	"iter"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Ledger says how many more nodes of each pool may be disrupted.
type Ledger struct {
	now   time.Time
	pools map[string]*account
}

// account is one pool.
type account struct {
	pool *cluster.Pool
	size int64 // initialized nodes whose instances are not being terminated
	used int64 // those about to be deleted, or not ready
	// Those of them that a move is to take away and that are not announced yet.
	waiting int64
}

// Open counts the nodes of every pool. The nodes of NodeClaims in View.Going are used.
func Open(v view.View) *Ledger {
	l := &Ledger{now: v.Now, pools: map[string]*account{}}
	pools := v.Snapshot.Supply().Pools
	for i := range pools {
		a := &account{pool: &pools[i]}
		for lot := range v.Snapshot.Lots(pools[i].Name) {
			a.size += lot.Count
		}
		l.pools[pools[i].Name] = a
	}
	for _, c := range v.Claims { // all other NodeClaims are initialized, and stay
		a := l.pools[c.Pool]
		node, up := v.Snapshot.Node(c.Node)
		switch {
		case a == nil:
		case !c.Initialized || c.Ending:
			a.size--
		case c.Leaving() || c.Disrupting != nil || v.IsGoing(c.Name) || !up || !node.Ready || node.Deleting:
			a.used++
			if waits(v, c) {
				a.waiting++
			}
		}
	}
	return l
}

// waits says whether the node, which is used, is one that a move is to take away and that
// is not announced yet.
func waits(v view.View, c *cluster.Claim) bool {
	node, up := v.Snapshot.Node(c.Node)
	return v.IsGoing(c.Name) && c.Disrupting == nil && !c.Leaving() && up && node.Ready && !node.Deleting
}

// Refusal says which budget allows no more, and when its window changes; zero if it
// does not change by time.
type Refusal struct {
	Budget cluster.Budget
	Until  time.Time
}

// Allows says whether one more node of the pool may be disrupted for the reason. If
// not, it returns the budget that does not allow it.
func (l *Ledger) Allows(pool string, why plan.DeleteReason) (*Refusal, bool) {
	a := l.pools[pool]
	if a == nil {
		return nil, false
	}
	return l.allows(a, why, a.used)
}

// Announces says whether the node of the NodeClaim, which is about to be deleted and
// used, may be announced for the reason, and notes that it is. Nodes that are not
// announced yet do not count: a budget that has become smaller lets the sources of a move
// be deleted one after the other.
func (l *Ledger) Announces(v view.View, c *cluster.Claim, why plan.DeleteReason) bool {
	a := l.pools[c.Pool]
	if a == nil {
		return false
	}
	waiting := a.waiting
	if waits(v, c) {
		waiting--
	}
	_, allowed := l.allows(a, why, a.used-waiting-1)
	allowed = allowed || !why.Announced().Budgets
	if allowed {
		a.waiting = waiting
	}
	return allowed
}

// allows says whether one more node may be disrupted beside those that are used.
func (l *Ledger) allows(a *account, why plan.DeleteReason, used int64) (*Refusal, bool) {
	for x := range l.bounds(a, why) {
		if x.Budget.Invalid != "" || used >= x.most {
			return &x.Refusal, false
		}
	}
	return nil, true
}

// bound is a budget that bounds the nodes of a pool now.
type bound struct {
	Refusal // what it says where it allows no more

	most int64 // nodes at once
}

// bounds returns the budgets that bound the nodes of the pool for the reason now. One that
// cannot be read allows none.
func (l *Ledger) bounds(a *account, why plan.DeleteReason) iter.Seq[bound] {
	return func(yield func(bound) bool) {
		for i := range a.pool.Disruption.Budgets {
			b := &a.pool.Disruption.Budgets[i]
			if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, string(why)) {
				continue
			}
			open, until := active(b, l.now)
			x := bound{Refusal: Refusal{*b, until}}
			if b.Invalid == "" {
				x.most = most(b, a.size)
			}
			if (open || b.Invalid != "") && !yield(x) {
				return
			}
		}
	}
}

// Charge notes that one more node of the pool is disrupted.
func (l *Ledger) Charge(pool string) {
	if a := l.pools[pool]; a != nil {
		a.used++
	}
}

// Changes returns when the next window of any budget opens or closes; zero for never.
func (l *Ledger) Changes() (at time.Time) {
	for _, a := range l.pools {
		for i := range a.pool.Disruption.Budgets {
			if _, until := active(&a.pool.Disruption.Budgets[i], l.now); !until.IsZero() {
				if at.IsZero() {
					at = until
				}
				at = pick.Earliest(at, until)
			}
		}
	}
	return at
}

// most is how many nodes of a pool of this size the budget allows at once.
func most(b *cluster.Budget, size int64) int64 {
	if !b.Percent {
		return b.Most
	}
	return (size*b.Most + 99) / 100
}
