package view

import (
	"hash/fnv"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Due says why the node of the NodeClaim is to be deleted because of what it is, whatever
// that costs: it expires, or has drifted. It also returns by when nodes with the same
// reason take turns: the end of the node's life, or when it drifted. What it returns is
// empty if the node is not due.
func (v View) Due(c *cluster.Claim) (why plan.DeleteReason, by time.Time) {
	switch {
	case !c.ExpiresAt.IsZero() && !v.Now.Before(earliest(c)) && !v.Now.Before(ExpiresFrom(c)):
		return plan.Expired, c.ExpiresAt
	case c.Drift != nil:
		return plan.Drifted, c.Drift.Since
	}
	return "", time.Time{}
}

// Ended says why the reason for which the NodeClaim was to be deleted holds no more: drift
// ends when its pool and class ask for the node again as it is. What it returns is empty
// where the reason still holds.
func Ended(c *cluster.Claim, why plan.DeleteReason) plan.Stay {
	if why == plan.Drifted && c.Drift == nil {
		return plan.Stay{Reason: plan.NotDrifted}
	}
	return plan.Stay{}
}

// ExpiresFrom returns when the node of the NodeClaim begins to expire; zero for never. That
// is before expireAfter has passed, so that other nodes can take its pods in time: between
// nine tenths of it and 19 twentieths, each node at a time of its own.
func ExpiresFrom(c *cluster.Claim) time.Time {
	if c.ExpiresAt.IsZero() {
		return time.Time{}
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(c.UID))
	return earliest(c).Add(tenth(c) / 2 / 1000 * time.Duration(h.Sum32()%1000))
}

// NextExpiry returns the earlier of next, zero for never, and of when the node of the NodeClaim
// begins to expire or ends, whichever is to come. Of nodes that expire later than next, their
// own time is not worked out: those are almost all, and each Step asks for all.
func NextExpiry(now time.Time, c *cluster.Claim, next time.Time) time.Time {
	if c.ExpiresAt.IsZero() || !next.IsZero() && !earliest(c).Before(next) {
		return next
	}
	for _, at := range []time.Time{ExpiresFrom(c), c.ExpiresAt} {
		if now.Before(at) {
			return pick.Earliest(next, at)
		}
	}
	return next
}

// earliest is when any node that lives as long may begin to expire.
func earliest(c *cluster.Claim) time.Time { return c.ExpiresAt.Add(-tenth(c)) }

func tenth(c *cluster.Claim) time.Duration { return c.ExpiresAt.Sub(c.Created) / 10 }
