package disrupt

import (
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Judge says which nodes may be disrupted, for reasons that budgets bound.
type Judge struct {
	view.View
	memory   *memory.Memory
	budgets  map[string]*budgetsIn        // by namespace
	promised map[*cluster.PodBudget]int64 // evictions of nodes that go; see AwaitsDrains
	short    shortages
}

// NewJudge returns a judge of the view's nodes.
func NewJudge(v view.View, m *memory.Memory) *Judge {
	j := &Judge{View: v, memory: m, budgets: budgetsByNamespace(v.Snapshot.PodBudgets()), promised: map[*cluster.PodBudget]int64{}}
	j.promiseLeaving()
	return j
}

// Stays says why the node of the NodeClaim may not be disrupted for the reason, and when
// that may change by time alone; the zero time if it does not. What it returns is empty if
// the node may be deleted.
func (j *Judge) Stays(c *cluster.Claim, reason plan.DeleteReason) (why plan.Stay, until time.Time) {
	state, up := j.Snapshot.State(c.Node)
	pool, known := j.Snapshot.Pool(c.Pool)
	traits := reason.Announced()
	switch {
	case !up || !c.Initialized:
		return plan.Stay{Reason: plan.NotInitialized}, time.Time{}
	case c.Leaving() || state.Node.Deleting:
		return plan.Stay{Reason: plan.IsLeaving}, time.Time{}
	case j.Policy.CloudAway:
		return plan.Stay{Reason: plan.CloudAway}, time.Time{}
	case j.Policy.PauseDisruption && traits.Budgets:
		return plan.Stay{Reason: plan.DaemonPaused}, time.Time{}
	case !known || pool.Deleting != traits.WithPool || !pool.Ready && !pool.Deleting:
		return plan.Stay{Reason: plan.PoolUnready, Detail: c.Pool}, time.Time{}
	case pool.Disruption.Paused:
		return plan.Stay{Reason: plan.PoolPaused, Detail: c.Pool}, time.Time{}
	case !traits.AsksNode && !traits.AsksPods: // the drain waits for what protects pods
		return plan.Stay{}, time.Time{}
	case traits.AsksNode && state.Node.Protected(j.Now):
		if !state.Node.DoNotDisrupt {
			until = state.Node.ProtectedUntil
		}
		return plan.Stay{Reason: plan.NodeProtected}, until
	case state.Node.Stays && traits.Saves:
		return plan.Stay{Reason: plan.NodeStays}, time.Time{}
	}
	if pod, expects := state.Expects(c); expects {
		return plan.Stay{Reason: plan.PodExpected, Detail: pod}, time.Time{}
	}
	keep := traits.PodsKeep(c.Grace)
	why, until = j.podsStay(state, keep)
	if (why.Reason == "" || why.Reason == plan.PodBudget) && keep && traits.Pace == plan.Careful {
		if replicas := j.replicasStay(state); replicas.Reason != "" {
			return replicas, time.Time{}
		}
	}
	return why, until
}

// podsStay says which pod of the node must not be disrupted. Where pods do not keep the
// node, it asks only whether a pod settles. A PodDisruptionBudget that allows nothing now comes last: an
// announced node waits for it, and must not wait if another pod keeps it for good.
func (j *Judge) podsStay(state *cluster.NodeState, keep bool) (why plan.Stay, until time.Time) {
	var budgeted plan.Stay
	for p := range state.EachPod() {
		if p.Deleting {
			continue
		}
		if at, cooling := j.memory.CoolsDown(kindOf(p, j.Snapshot), p, j.Now); cooling && p.Moves() {
			return plan.Stay{Reason: plan.PodSettles, Detail: p.ID()}, at
		}
		if !keep {
			continue
		}
		if p.Protected(j.Now) {
			if !p.DoNotDisrupt {
				until = pick.Latest(until, p.ProtectedUntil)
			}
			return plan.Stay{Reason: plan.PodProtected, Detail: p.ID()}, until
		}
		if p.Pinned {
			continue
		}
		if p.Shape.Gang.Name != "" {
			return plan.Stay{Reason: plan.PodOfGang, Detail: p.ID()}, time.Time{}
		}
		switch list := j.budgetsOf(p); {
		case len(list) > 1 && !p.NotStarted:
			return plan.Stay{Reason: plan.PodBudgets, Detail: p.ID() + ": " + names(list)}, time.Time{}
		case len(list) == 1 && !list[0].Evicts(p) && budgeted.Reason == "":
			budgeted = plan.Stay{Reason: plan.PodBudget, Detail: list[0].ID() + " of pod " + p.ID()}
		}
	}
	return budgeted, time.Time{}
}

// kindOf returns the kind of a pod that has no owner; "" for others, as their controllers tell
// when they were evicted.
func kindOf(p *cluster.Pod, s cluster.Snapshot) string {
	if p.Owner != (cluster.Owner{}) {
		return ""
	}
	g, _ := s.GroupOf(p.ID())
	return g.Kind
}

// names returns the names of the budgets, sorted.
func names(list []*cluster.PodBudget) string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = b.ID()
	}
	slices.Sort(out)
	return strings.Join(out, " and ")
}

// Quiet says whether no pod has come to the node or left it for as long as its
// pool asks before a node is deleted to save money; if not, since when it may be.
func (j *Judge) Quiet(c *cluster.Claim, pool *cluster.Pool) (at time.Time, quiet bool) {
	at = pick.Latest(c.LastPodEvent, c.InitializedAt).Add(pool.Disruption.After)
	return at, !j.Now.Before(at)
}

// MaySave says whether the pool lets a node with pods be deleted to save money.
func MaySave(p *cluster.Pool) bool {
	return !p.Static && !p.Disruption.Never && slices.Contains([]cluster.Policy{cluster.WhenEmptyOrUnderutilized, cluster.Balanced}, p.Disruption.Policy)
}
