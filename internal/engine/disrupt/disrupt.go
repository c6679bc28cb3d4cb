package disrupt

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// retirer deletes NodeClaims together with their nodes.
type retirer struct {
	view.View
	*journal.Journal
	memory  *memory.Memory
	room    *room.Room
	settled map[string]int // by node that goes: its pods that have a place on a node that is up
	actions []plan.Action
}

// Retire deletes the NodeClaims that are interrupted, have been empty for long
// enough, or never came up. All of them are in View.Claims.
func Retire(v view.View, m *memory.Memory, j *journal.Journal, in *room.Room) []plan.Action {
	r := retirer{View: v, Journal: j, memory: m, room: in, settled: map[string]int{}}
	for _, h := range in.Nodes {
		if h != nil && h.Stage == room.StageNode {
			for _, p := range h.Displaced {
				r.settled[p.Node]++
			}
		}
	}
	for _, claim := range v.Claims {
		c := *claim
		switch {
		case c.Deleting:
		case c.Interruption != nil:
			r.retireInterrupted(c)
		case r.expectsPods(c):
			r.memory.EmptySince = memory.Forget(r.memory.EmptySince, c.Name)
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

// retireInterrupted cordons the node at once. It drains the node when its own pods
// have another place that is up, or when the rest of the notice is just enough to
// drain: pods that found no room run as long as they can.
func (r *retirer) retireInterrupted(c cluster.Claim) {
	node, up := r.Snapshot.Node(c.Node)
	if up && !node.Disrupted {
		r.actions = append(r.actions, plan.Disrupt{
			Claim: c.Name, ClaimUID: c.UID, Node: node.Name, NodeUID: node.UID, Why: plan.Interrupted, Detail: c.Interruption.Reason,
		})
	}
	notice := c.Interruption.Deadline.Sub(c.Interruption.Noticed)
	last := c.Interruption.Deadline.Add(-min(r.Policy.DrainReserve, notice/2))
	if up && r.Now.Before(last) && !r.replaced(node.Name) {
		r.WaitUntil(last, plan.Replacement)
		return
	}
	r.delete(c, plan.Interrupted, c.Interruption.Reason, r.Now.Sub(c.Interruption.Noticed))
}

// replaced says whether every pod of the node that needs another place has one on a
// node that is up.
func (r *retirer) replaced(node string) bool {
	moving := 0
	state, _ := r.Snapshot.State(node)
	for p := range state.Pods() {
		if p.Moves() {
			moving++
		}
	}
	return r.settled[node] >= moving
}

func (r *retirer) retireLate(c cluster.Claim) {
	why := plan.RegistrationTimeout
	if !c.Launched {
		why = plan.LaunchTimeout
	}
	if !r.Late(c) {
		r.WaitUntil(r.RegisteredBy(c), plan.LaunchToFinish)
		return
	}
	r.delete(c, why, "", r.Now.Sub(c.Created))
}

// retireStuck deletes a node that registered but does not become ready for its
// pods. Else the node would stay beside the one that is launched in its place.
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
	if !c.Initialized || !ok || pool.Disruption.Never || node.DoNotDisrupt || runs || r.awaitsPods(c) {
		r.memory.EmptySince = memory.Forget(r.memory.EmptySince, c.Name)
		return
	}
	var at time.Time
	r.memory.EmptySince, at = memory.Remember(r.memory.EmptySince, c.Name, r.Now)
	wait := pool.Disruption.After
	if slots, _ := r.memory.PlannedFor(c.Name); len(slots) > 0 {
		// No pod that the node was launched for has come yet. Evicted pods do not
		// exist for a moment until their controller creates them again.
		wait = max(wait, r.Policy.ArrivalPatience)
	}
	if end := at.Add(wait); r.Now.Before(end) {
		r.WaitUntil(end, plan.EmptyLongEnough)
		return
	}
	r.delete(c, plan.Empty, "", r.Now.Sub(at))
}

// expectsPods says whether others than the daemon nominated pods for the node.
func (r *retirer) expectsPods(c cluster.Claim) bool {
	state, up := r.Snapshot.State(c.Node)
	if !up {
		return false
	}
	for p := range state.Nominated() {
		if r.Expected(&p) {
			return true
		}
	}
	return false
}

// awaitsPods says whether this plan puts any pod on the node.
func (r *retirer) awaitsPods(c cluster.Claim) bool {
	if h := r.room.Nodes[c.Node]; h != nil {
		return h.Demand() > 0
	}
	return slices.ContainsFunc(r.room.Coming, func(h *room.Host) bool { return h.Claim.Name == c.Name && h.Demand() > 0 })
}

func (r *retirer) delete(c cluster.Claim, why plan.DeleteReason, detail string, waited time.Duration) {
	out := plan.Delete{Claim: c.Name, ClaimUID: c.UID, Why: why, Detail: detail, Waited: waited}
	if c.Launched {
		out.Saves, _ = r.PriceOf(c)
	}
	r.actions = append(r.actions, out)
}
