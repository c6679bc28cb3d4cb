package view

import (
	"hash/fnv"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Due says why the node of the NodeClaim is to be deleted because of what it is, whatever
// that costs: it expires, or has drifted. It also returns by when nodes with the same
// reason take turns: the end of the node's life, or when it drifted. What it returns is
// empty if the node is not due.
func (v View) Due(c *cluster.Claim) (why plan.DeleteReason, by time.Time) {
	switch begins := ExpiresFrom(c); {
	case !begins.IsZero() && !v.Now.Before(begins):
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
	tenth := c.ExpiresAt.Sub(c.Created) / 10
	return c.ExpiresAt.Add(-tenth).Add(tenth / 2 / 1000 * time.Duration(h.Sum32()%1000))
}
