package disrupt

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// An empty node is deleted by one rule: a Step asks it to decide, and the gates of package
// moves ask it to explain.

// KeepsEmpty says why the node of the NodeClaim does not go although it runs no pod that needs
// another place, and until when where time alone may change that. The reason is empty where
// nothing keeps the node but, perhaps, AwaitsDrains and the budgets of its pool.
func (j *Judge) KeepsEmpty(c *cluster.Claim) plan.Stay {
	if stays := j.staysEmpty(c); stays.Reason != "" {
		return stays
	}
	return j.restsEmpty(c)
}

// staysEmpty says why the node stays however long it is empty.
func (j *Judge) staysEmpty(c *cluster.Claim) plan.Stay {
	pool, _ := j.Snapshot.Pool(c.Pool)
	if j.Snapshot.Replaces(c) {
		return plan.Stay{Reason: plan.Replaces, Detail: c.Move.ID}
	}
	if pool.Static && c.Initialized {
		return plan.OfStatic(pool.Name, pool.Replicas)
	}
	if pool.Disruption.Never {
		return plan.Stay{Reason: plan.PolicyForbids}
	}
	stays, until := j.Stays(c, plan.Empty)
	stays.Until = until
	return stays
}

// restsEmpty says until when the node has not been empty for long enough.
func (j *Judge) restsEmpty(c *cluster.Claim) plan.Stay {
	since, empty := memory.FirstSeen(j.memory.EmptySince, c.Name)
	if !empty {
		return plan.Stay{Reason: plan.NotQuiet}
	}
	pool, _ := j.Snapshot.Pool(c.Pool)
	wait := pool.Disruption.After
	slots, known := j.memory.PlannedFor(c.Name)
	if len(slots) > 0 {
		// No pod that the node was launched for has come yet. Evicted pods do not
		// exist for a moment until their controller creates them again.
		wait = max(wait, j.Policy.ArrivalPatience)
	}
	end := since.Add(wait)
	if !known && len(c.Planned) > 0 && c.LastPodEvent.IsZero() {
		// No memory, and no pod has ever come: the NodeClaim itself says that some will.
		end = pick.Latest(end, c.InitializedAt.Add(j.Policy.ArrivalPatience))
	}
	stays := plan.Stay{Reason: plan.NotQuiet, Until: end}
	switch {
	case !j.Now.Before(end):
		return plan.Stay{}
	case end.After(since.Add(pool.Disruption.After)):
		stays.Detail = "the pods that the node was launched for have not come yet"
	}
	return stays
}
