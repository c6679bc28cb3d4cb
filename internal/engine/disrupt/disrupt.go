package disrupt

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/budget"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/static"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// retirer takes NodeClaims away together with their nodes.
type retirer struct {
	view.View
	*journal.Journal
	memory  *memory.Memory
	room    *room.Room
	judge   *Judge
	ledger  *budget.Ledger
	stay    map[string]bool // nodes about to be deleted, of which a pod found no place
	placed  map[string]int  // by node about to be deleted: its pods that have a place on a node that is open
	ready   map[string]int  // the same, with places on nodes that only the daemon's taint closes
	again   map[string]bool // nodes of which the deletion was planned before, and declined
	actions []plan.Action
	staying func(*cluster.Group) int64 // memory.Staying; nil until it is asked for
}

// Retire takes away the NodeClaims that are interrupted, never came up, have been
// empty for long enough, or are about to be deleted already. All of them are in
// View.Claims. The stay nodes are those of which a pod found no place.
func Retire(v view.View, m *memory.Memory, j *journal.Journal, in *room.Room, stay map[string]bool) []plan.Action {
	r := retirer{
		View: v, Journal: j, memory: m, room: in, judge: NewJudge(v, m), ledger: budget.Open(v), stay: stay, placed: map[string]int{}, ready: map[string]int{}, again: map[string]bool{},
	}
	r.countPlaces()
	for _, c := range v.Claims {
		switch {
		case c.Deleting:
			NoteEvictions(v, m, c, announcedFor(c))
		case r.unwanted(c):
			r.delete(*c, plan.PoolDeleted, "", 0)
		case c.Interruption != nil:
			r.retireInterrupted(*c)
		case v.Policy.CloudAway: // what has begun stays as it is
			r.memory.EmptySince = memory.Forget(r.memory.EmptySince, c.Name)
		case static.IsSurplus(v, c) && static.EndsAtOnce(v, c):
			r.delete(*c, plan.Surplus, "", 0)
		case v.IsGoing(c.Name):
			r.advance(*c)
		case c.Disrupting != nil:
			r.recall(*c)
		case marked(&r, *c):
		case r.endMove(*c):
		case r.expectsPods(c):
			r.memory.EmptySince = memory.Forget(r.memory.EmptySince, c.Name)
		case !c.Registered:
			r.retireLate(*c)
		case !c.Initialized && !r.RunsPods(*c):
			r.retireStuck(*c)
		default:
			r.retireEmpty(*c)
		}
	}
	return slices.Concat(closing(&r), r.actions)
}

// announcedFor returns the reason for which the NodeClaim was announced; empty if it was
// not, or EC2 takes it since.
func announcedFor(c *cluster.Claim) plan.DeleteReason {
	if c.Disrupting == nil || c.Interruption != nil {
		return ""
	}
	return plan.DeleteReason(c.Disrupting.Reason)
}

// unwanted says whether the NodeClaim is deleted at once with its pool.
func (r *retirer) unwanted(c *cluster.Claim) bool {
	pool, _ := r.Snapshot.Pool(c.Pool)
	return unwanted(r.View, &pool, c)
}

// countPlaces counts the places that this plan gives to pods that move from nodes about to
// be deleted.
func (r *retirer) countPlaces() {
	count := func(h *room.Host, in map[string]int) {
		for _, p := range h.Displaced {
			if p.Moves() {
				in[p.Node]++
			}
		}
	}
	for _, h := range r.room.Nodes {
		if h != nil && h.Stage == room.StageNode {
			count(h, r.placed)
			count(h, r.ready)
		}
	}
	for _, h := range r.room.Coming {
		if h.Stage == room.StageKept {
			count(h, r.ready)
		}
	}
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
// node that is open. If none needs one, those run as long as they can that nothing creates
// anew.
func (r *retirer) replaced(node string) bool {
	var moving, lost int
	if state, up := r.Snapshot.State(node); up {
		for p := range state.Pods() {
			switch {
			case p.Lost():
				lost++
			case p.Moves():
				moving++
			}
		}
	}
	return r.placed[node] >= moving && (moving > 0 || lost == 0)
}

// movingFrom returns the UIDs of the pods that need another place when the node is deleted,
// sorted.
func (r *retirer) movingFrom(node string) (uids []string) {
	if state, up := r.Snapshot.State(node); up {
		for p := range state.Pods() {
			if p.Moves() {
				uids = append(uids, p.UID)
			}
		}
	}
	slices.Sort(uids)
	return uids
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
	case !up || r.room.IsUsable(&node, &c) || r.protects(&node):
	case r.Stuck(c):
		r.delete(c, plan.InitializationTimeout, "", r.Now.Sub(c.Created))
	default:
		r.WaitUntil(r.ReadyBy(c), plan.LaunchToFinish)
	}
}

// protects says whether the node must not be disrupted now. If it may later, the plan asks
// for another Step.
func (r *retirer) protects(node *cluster.Node) bool {
	protected := node.Protected(r.Now)
	if protected && !node.DoNotDisrupt {
		r.WaitUntil(node.ProtectedUntil, plan.QuietLongEnough)
	}
	return protected
}

// retireEmpty announces the node once it has been empty for long enough.
func (r *retirer) retireEmpty(c cluster.Claim) {
	node, _ := r.Snapshot.Node(c.Node)
	runs := r.RunsPods(c)
	if runs && !r.Closed(&node, &c) {
		r.memory.Arrived(c.Name)
	}
	if runs || r.awaitsPods(c) || r.holds(r.judge.staysEmpty(&c), plan.QuietLongEnough) {
		r.memory.EmptySince = memory.Forget(r.memory.EmptySince, c.Name)
		return
	}
	r.memory.EmptySince, _ = memory.Remember(r.memory.EmptySince, c.Name, r.Now)
	if !r.holds(r.judge.restsEmpty(&c), plan.EmptyLongEnough) {
		r.announce(c, node, plan.Empty)
	}
}

// holds says whether something keeps the node. If it may be deleted later, the plan asks for
// another Step, for the reason.
func (r *retirer) holds(stays plan.Stay, why plan.WaitReason) bool {
	if !stays.Until.IsZero() {
		r.WaitUntil(stays.Until, why)
	}
	return stays.Reason != ""
}

// expectsPods says whether others than the daemon nominated pods for the node.
func (r *retirer) expectsPods(c *cluster.Claim) bool {
	state, up := r.Snapshot.State(c.Node)
	if !up {
		return false
	}
	_, expected := state.Expects(c)
	return expected
}

// awaitsPods says whether this plan puts any pod on the node.
func (r *retirer) awaitsPods(c cluster.Claim) bool {
	if h := r.room.Nodes[c.Node]; h != nil {
		return h.Demand() > 0
	}
	return slices.ContainsFunc(r.room.Coming, func(h *room.Host) bool { return h.Claim.Name == c.Name && h.Demand() > 0 })
}

func (r *retirer) delete(c cluster.Claim, why plan.DeleteReason, detail string, waited time.Duration) {
	out := plan.Delete{Claim: c.Name, ClaimUID: c.UID, Node: c.Node, Why: why, Detail: detail, Waited: waited}
	if c.Launched {
		out.Saves, _ = r.PriceOf(c)
	}
	NoteEvictions(r.View, r.memory, &c, why)
	r.actions = append(r.actions, out)
}
