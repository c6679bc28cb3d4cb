package disrupt

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// A PodDisruptionBudget bounds how many pods are evicted at once, and so nodes that share
// one cannot drain together. Those that the budget allows are announced, and the others
// run their pods until these have drained: a node that is tainted takes no pods.

// evictions is how many pods of a node one PodDisruptionBudget has to allow to be evicted.
type evictions struct {
	budget *cluster.PodBudget
	pods   int64
	first  string // of the pods
}

// evictionsOf returns what the drain of the node asks of each PodDisruptionBudget, in the
// order of its pods. Pods that the API evicts in any case ask for nothing, and pods that
// several budgets select are not evicted at all.
func (j *Judge) evictionsOf(state *cluster.NodeState) (out []evictions) {
	if len(j.budgets) == 0 {
		return nil
	}
	index := map[*cluster.PodBudget]int{}
	for p := range state.EachPod() {
		list := j.budgetsOf(p)
		if !p.Moves() || len(list) != 1 || list[0].EvictsFreely(p) {
			continue
		}
		i, known := index[list[0]]
		if !known {
			i = len(out)
			index[list[0]] = i
			out = append(out, evictions{budget: list[0], first: p.ID()})
		}
		out[i].pods++
	}
	return out
}

// promiseLeaving promises evictions to the nodes that drain or are announced. A drain that
// waits for a pod which must not be disrupted gets none: nobody knows when it continues,
// and others would wait as long.
func (j *Judge) promiseLeaving() {
	if len(j.budgets) == 0 {
		return
	}
	for _, c := range j.Claims {
		state, up := j.Snapshot.State(c.Node)
		if !up || !(c.Leaving() || c.Disrupting != nil || state.Node.Deleting) {
			continue
		}
		protected := false
		for p := range state.EachPod() {
			protected = protected || !p.Deleting && p.Protected(j.Now)
		}
		if !protected {
			j.Promise(c)
		}
	}
}

// Promise promises the NodeClaim's node the evictions that its drain needs: what other
// nodes ask for later has to be allowed beside them.
func (j *Judge) Promise(c *cluster.Claim) {
	if state, up := j.Snapshot.State(c.Node); up {
		for _, x := range j.evictionsOf(state) {
			j.promised[x.budget] += x.pods
		}
	}
}

// AwaitsDrains says why the node of the NodeClaim, which Stays lets go, has to wait until
// others have drained: a PodDisruptionBudget allows fewer evictions than its pods need beside
// those that are promised. What it returns is empty if the node need not wait. A node to
// whose budgets nothing is promised never waits, however many pods it has: they are
// evicted one after the other. Nor does a node whose drain is bounded by
// terminationGracePeriod, or that a static pool has too many of.
func (j *Judge) AwaitsDrains(c *cluster.Claim, reason plan.DeleteReason) plan.Stay {
	state, up := j.Snapshot.State(c.Node)
	if !up || !reason.Announced().PodsKeep(c.Grace) {
		return plan.Stay{}
	}
	for _, x := range j.evictionsOf(state) {
		if promised := j.promised[x.budget]; promised > 0 && promised+x.pods > x.budget.Allowed {
			return plan.Stay{Reason: plan.PodBudget, Detail: x.budget.ID() + " of pod " + x.first + ", beside the evictions of nodes that are leaving already,"}
		}
	}
	return plan.Stay{}
}
