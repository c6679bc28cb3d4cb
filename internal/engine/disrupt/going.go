package disrupt

import (
	"iter"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Every voluntary removal has the same steps: places for the node's pods, the taint, a last
// look at the pods, the deletion. Until the deletion everything can be taken back.

// lastLook is how long after the taint the pods of a node are looked at for the last
// time. Pods that the scheduler was just binding ignore the taint.
const lastLook = time.Second

// advance takes the next step with a node that is about to be deleted.
func (r *retirer) advance(c cluster.Claim) {
	why := r.Going[c.Name]
	node, up := r.Snapshot.Node(c.Node)
	announced := c.Disrupting != nil && node.Disrupted
	moving := r.movingFrom(c.Node)
	ended := view.Ended(&c, why)
	stays, until := r.staysNow(&c, why)
	switch {
	case !up:
		return // the NodeClaim is deleted in another way
	case Forced(&c, r.Now) && !paused(r.View, &c): // whatever it is deleted for
		r.delete(c, plan.Expired, "", r.Now.Sub(c.Created))
	case ended.Reason != "":
		r.restore(c, node, ended)
	case stays.Reason != "":
		if !until.IsZero() {
			r.WaitUntil(until, plan.QuietLongEnough)
		}
		r.restore(c, node, stays)
	case r.stay[node.Name] && why.Announced().Asked:
		r.delete(c, why, "", r.Now.Sub(c.Created)) // no other pool takes its pods
	case r.stay[node.Name] || why.Traits().Empty && len(moving) > 0:
		r.restore(c, node, plan.Stay{Reason: plan.NoPlace})
	case r.ready[node.Name] < len(moving) || r.awaitsSuccessor(c):
		r.giveUp(&c, &node) // the places are on nodes that are not ready yet
	case !announced:
		if !r.announce(c, node, why) {
			r.giveUp(&c, &node)
		}
	case r.Now.Before(r.lookAgain(&c)):
		r.WaitUntil(r.lookAgain(&c), plan.LastLook)
	case why.Traits().EvictsToSave() && r.memory.Landing.Late(r.Now):
		// Nodes have been closed for so long that they open soon, and only then close again.
	default:
		planDeletion(r, &c, &node, why, moving)
	}
}

// declinedFor is how long the deletion of an announced node may be declined until the node
// stays: a last look found what the snapshot does not show.
const declinedFor = 5 * time.Minute

// planDeletion deletes the NodeClaim of an announced node whose pods have other places.
func planDeletion(r *retirer, c *cluster.Claim, node *cluster.Node, why plan.DeleteReason, moving []string) {
	var first time.Time
	if first, r.again[node.Name] = memory.FirstSeen(r.memory.Asked, c.Name); r.again[node.Name] && !r.Now.Before(first.Add(declinedFor)) {
		r.restore(*c, *node, plan.Stay{Reason: plan.Declined})
		return
	}
	r.memory.Asked, _ = memory.Remember(r.memory.Asked, c.Name, r.Now)
	out := plan.Delete{
		Claim: c.Name, ClaimUID: c.UID, Node: node.Name, Why: why, Waited: r.Now.Sub(c.Disrupting.Since), Checked: true, Pods: moving,
	}
	out.Saves, _ = r.PriceOf(*c)
	planEvictions(r, c, why)
	r.actions = append(r.actions, out)
}

// staysNow says why a node that is about to be deleted has to stay after all. A
// PodDisruptionBudget keeps no node that is announced: the budget changes while other nodes
// drain, and the drain waits for it.
func (r *retirer) staysNow(c *cluster.Claim, why plan.DeleteReason) (stays plan.Stay, until time.Time) {
	stays, until = r.judge.Stays(c, why)
	node, _ := r.Snapshot.Node(c.Node)
	if stays.Reason == plan.PodBudget && c.Disrupting != nil && node.Disrupted {
		stays = plan.Stay{}
	}
	return stays, until
}

// awaitsSuccessor says whether the NodeClaim is a source of a move of which a node is not
// up yet, whether its own pods need that node or not. All sources of a move are tainted at
// the same time: else pods of the first would land on the others.
func (r *retirer) awaitsSuccessor(c cluster.Claim) bool {
	return slices.ContainsFunc(r.Claims, func(x *cluster.Claim) bool {
		node, up := r.Snapshot.Node(x.Node)
		return !x.Initialized && !(up && r.room.Opens(&node, x)) &&
			slices.ContainsFunc(r.Snapshot.SourcesOf(x), func(s cluster.Claim) bool { return s.Name == c.Name })
	})
}

// lookAgain returns when the pods of a node that is tainted are looked at for the last
// time. The condition of the NodeClaim alone does not say when the taint came: its time is
// in whole seconds, and a daemon that ends after the condition leaves the taint to the next
// one. A daemon that starts counts from then.
func (r *retirer) lookAgain(c *cluster.Claim) time.Time {
	var asked time.Time
	r.memory.TaintedAt, asked = memory.Remember(r.memory.TaintedAt, c.Name, r.Now)
	return pick.Latest(asked, c.Disrupting.Since).Add(lastLook)
}

// announce says that the node is about to go, if it awaits no drains and the budgets of its
// pool allow it. They are asked again for a node that is going already: others may have
// failed since. It says whether it does.
func (r *retirer) announce(c cluster.Claim, node cluster.Node, why plan.DeleteReason) bool {
	if r.judge.AwaitsDrains(&c, why).Reason != "" {
		return false // a node that others replace waits, and is not restored
	}
	if !r.mayBegin(&c, why) {
		if at := r.ledger.Changes(); !at.IsZero() {
			r.WaitUntil(at, plan.BudgetToOpen)
		}
		return false
	}
	r.judge.Promise(&c)
	saves, _ := r.PriceOf(c)
	r.memory.TaintedAt, _ = memory.Remember(memory.Forget(r.memory.TaintedAt, c.Name), c.Name, r.Now)
	r.actions = append(r.actions, plan.Disrupt{Claim: c.Name, ClaimUID: c.UID, Node: node.Name, NodeUID: node.UID, Why: why, Saves: saves})
	return true
}

// mayBegin says whether the budgets of the pool allow that the node is announced, and
// charges them.
func (r *retirer) mayBegin(c *cluster.Claim, why plan.DeleteReason) bool {
	if r.IsGoing(c.Name) { // and so charged
		return r.ledger.Announces(r.View, c, why)
	}
	_, allowed := r.ledger.Allows(c.Pool, why)
	if allowed {
		r.ledger.Charge(c.Pool)
	}
	return allowed
}

// NoteEvictions remembers which kinds of pods are evicted from the node of the NodeClaim,
// which is deleted for the reason.
func NoteEvictions(v view.View, m *memory.Memory, c *cluster.Claim, why plan.DeleteReason) {
	controllers := controllersOn(v, c.Node)
	for g := range movingOn(v, c.Node) {
		m.Evict(g.Kind, c.Pool, why.Traits().EvictsToSave(), v.Now, controllers[g.Kind]...)
	}
}

// planEvictions remembers which kinds of pods the deletion of the NodeClaim evicts, if the
// last look does not decline it.
func planEvictions(r *retirer, c *cluster.Claim, why plan.DeleteReason) {
	if r.staying == nil { // few Steps plan deletions
		r.staying = memory.Staying(r.Snapshot)
	}
	var pods []memory.EvictingPods
	controllers := controllersOn(r.View, c.Node)
	for g, n := range movingOn(r.View, c.Node) {
		pods = append(pods, memory.EvictingPods{Slot: cluster.Slot{Kind: g.Kind, Count: n}, Of: r.staying(g), Controllers: controllers[g.Kind]})
	}
	if len(pods) > 0 {
		r.memory.Evicting = append(slices.Clip(r.memory.Evicting), memory.Evicting{
			Claim: c.Name, UID: c.UID, Pool: c.Pool, Pods: pods, Saves: why.Traits().EvictsToSave(), At: r.Now,
		})
	}
}

// movingOn returns the groups with pods that have to move when the node is deleted, and
// their number.
func movingOn(v view.View, node string) iter.Seq2[*cluster.Group, int64] {
	state, up := v.Snapshot.State(node)
	if !up {
		return func(func(*cluster.Group, int64) bool) {}
	}
	return state.Moving()
}

// controllersOn returns, by kind, the controllers of the pods that have to move when the node
// is deleted.
func controllersOn(v view.View, node string) map[string][]string {
	state, up := v.Snapshot.State(node)
	if !up {
		return nil
	}
	out := map[string][]string{}
	for p := range state.Pods() {
		if !p.Moves() {
			continue
		}
		if c := p.Controller(); c != "" {
			g, _ := v.Snapshot.GroupOf(p.ID())
			if !slices.Contains(out[g.Kind], c) {
				out[g.Kind] = append(out[g.Kind], c)
			}
		}
	}
	return out
}

// restore takes back what was said about a node that stays.
func (r *retirer) restore(c cluster.Claim, node cluster.Node, why plan.Stay) {
	r.memory.Restored, _ = memory.Remember(memory.Forget(r.memory.Restored, c.Name), c.Name, r.Now)
	r.memory.TaintedAt, r.memory.Asked = memory.Forget(r.memory.TaintedAt, c.Name), memory.Forget(r.memory.Asked, c.Name)
	if c.Disrupting != nil || node.Disrupted {
		r.actions = append(r.actions, plan.Restore{Claim: c.Name, ClaimUID: c.UID, Node: node.Name, NodeUID: node.UID, Why: why.Explain()})
	}
}

// marked takes back the taint of a node that nothing disrupts, and says whether there was
// one. A Karpenter that ends between its two writes leaves such a node, which takes no pod. A
// taint that somebody else has put there stays, so that is not tried again at once.
func marked(r *retirer, c cluster.Claim) bool {
	node, up := r.Snapshot.Node(c.Node)
	if _, lately := memory.FirstSeen(r.memory.Restored, c.Name); !up || !node.Disrupted || node.Leaving(&c) || lately {
		return false
	}
	r.memory.Restored, _ = memory.Remember(r.memory.Restored, c.Name, r.Now)
	r.actions = append(r.actions, plan.Restore{Claim: c.Name, ClaimUID: c.UID, Node: node.Name, NodeUID: node.UID, Why: "nothing disrupts the node"})
	return true
}

// recall restores a node that was announced as surplus and that its static pool needs
// again.
func (r *retirer) recall(c cluster.Claim) {
	node, _ := r.Snapshot.Node(c.Node)
	pool, _ := r.Snapshot.Pool(c.Pool)
	r.restore(c, node, plan.OfStatic(pool.Name, pool.Replicas))
}
