package disrupt

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// retirer deletes nodes.
type retirer struct {
	view.View
	*journal.Journal
	memory   *memory.Memory
	demand   *demand.Demand
	room     *room.Room
	launches int // of this plan
	actions  []plan.Action
}

// Retire deletes the NodeClaims that are interrupted, empty for long enough, or
// that never came up: all of them are unsettled.
func Retire(v view.View, m *memory.Memory, j *journal.Journal, d *demand.Demand, in *room.Room, launches int) []plan.Action {
	r := retirer{View: v, Journal: j, memory: m, demand: d, room: in, launches: launches}
	for _, claim := range v.Claims {
		c := *claim
		switch {
		case c.Deleting:
		case c.Interruption != nil:
			r.retireInterrupted(c)
		case !c.Registered:
			r.retireLate(c)
		case !c.Initialized && !r.RunsPods(c):
			r.retireStuck(c)
		default:
			r.retireEmpty(c)
		}
	}
	return r.actions
}

// retireInterrupted cordons the node at once and drains it when its pods have
// another place that is up, or when the notice leaves just enough time to drain.
func (r *retirer) retireInterrupted(c cluster.Claim) {
	node, up := r.Snapshot.Node(c.Node)
	if up && !node.Cordoned {
		r.actions = append(r.actions, plan.Cordon{Node: node.Name, NodeUID: node.UID, Why: plan.Interrupted})
	}
	notice := c.Interruption.Deadline.Sub(c.Interruption.Noticed)
	last := c.Interruption.Deadline.Add(-min(r.Policy.DrainReserve, notice/2))
	if up && r.Now.Before(last) && !r.replaced() {
		r.WaitUntil(last, plan.Replacement)
		return
	}
	r.delete(c, plan.Interrupted, c.Interruption.Reason, r.Now.Sub(c.Interruption.Noticed))
}

// replaced says whether every displaced pod has a place on a node that is up.
func (r *retirer) replaced() bool {
	if r.launches > 0 || r.demand.Refused.Homeless > 0 {
		return false // those that found no room at all run while they can
	}
	for _, h := range r.room.Coming { // those on nodes that run have their place
		if h.Displaced > 0 && h.Stage != room.StageNode {
			return false
		}
	}
	return true
}

func (r *retirer) retireLate(c cluster.Claim) {
	limit, why := r.Policy.RegistrationTimeout, plan.RegistrationTimeout
	if !c.Launched {
		limit, why = r.Policy.LaunchTimeout, plan.LaunchTimeout
	}
	if end := c.Created.Add(limit); r.Now.Before(end) {
		r.WaitUntil(end, plan.LaunchToFinish)
		return
	}
	r.delete(c, why, "", r.Now.Sub(c.Created))
}

// retireStuck ends a node that has registered and never becomes ready for its
// pods, so that those launched in its place do not come on top of it.
func (r *retirer) retireStuck(c cluster.Claim) {
	r.memory.EmptySince = memory.Forget(r.memory.EmptySince, c.Name)
	node, up := r.Snapshot.Node(c.Node)
	switch {
	case !up || r.Usable(node, c) || node.DoNotDisrupt:
	case r.Stuck(node, c):
		r.delete(c, plan.InitializationTimeout, "", r.Now.Sub(c.Created))
	default:
		r.WaitUntil(r.ReadyBy(c), plan.LaunchToFinish)
	}
}

func (r *retirer) retireEmpty(c cluster.Claim) {
	pool, ok := r.Snapshot.Pool(c.Pool)
	runs := r.RunsPods(c)
	node, _ := r.Snapshot.Node(c.Node)
	if runs {
		r.memory.Arrived(c.Name)
	}
	if !c.Initialized || !ok || pool.KeepEmpty || node.DoNotDisrupt || runs || r.awaitsPods(c) {
		r.memory.EmptySince = memory.Forget(r.memory.EmptySince, c.Name)
		return
	}
	var at time.Time
	r.memory.EmptySince, at = memory.Remember(r.memory.EmptySince, c.Name, r.Now)
	wait := pool.EmptyAfter
	if slots, _ := r.memory.PlannedFor(c.Name); len(slots) > 0 {
		// Nothing of what it was launched for has come yet. Evicted pods are gone
		// for a moment before their controller creates them anew.
		wait = max(wait, r.Policy.ArrivalPatience)
	}
	if end := at.Add(wait); r.Now.Before(end) {
		r.WaitUntil(end, plan.EmptyLongEnough)
		return
	}
	r.delete(c, plan.Empty, "", r.Now.Sub(at))
}

// awaitsPods says whether anything is on its way to the node.
func (r *retirer) awaitsPods(c cluster.Claim) bool {
	if h := r.room.Nodes[c.Node]; h != nil {
		return h.Demand() > 0
	}
	return slices.ContainsFunc(r.room.Coming, func(h *room.Host) bool { return h.Claim.Name == c.Name && h.Demand() > 0 })
}

func (r *retirer) delete(c cluster.Claim, why plan.DeleteReason, detail string, waited time.Duration) {
	r.actions = append(r.actions, plan.Delete{Claim: c.Name, ClaimUID: c.UID, Why: why, Detail: detail, Waited: waited, Saves: r.PriceOf(c)})
}
