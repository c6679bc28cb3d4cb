package disrupt

import (
	"maps"
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// The scheduler puts an evicted pod that comes back on the emptiest node, at once. In a
// fleet that is to be nearly full in the end, the holes that this leaves fit no large pod,
// and nodes stay that the plan does without. So the nodes with room close for the moment in
// which the pods come back. Each pod is bound to its place, and the nodes open again.
// Package open has the second half; there pods of others end the wait at once.

// mostClosed is how many nodes a fleet has at most in which nodes are closed: as many as the
// daemon may write at once. In a larger fleet a hole costs less, and the writes cost more.
const mostClosed = 300

// Closes says whether nodes are closed for evicted pods in the cluster.
func Closes(v view.View) bool {
	return v.Snapshot.NodeCount() <= mostClosed && !v.Policy.CannotBind
}

// closing closes the nodes with room for the pods of nodes that this plan deletes to save
// money, and promises these pods their places there. A deletion that was declined before
// may be declined again, and closes none.
func closing(r *retirer) (out []plan.Action) {
	if !Closes(r.View) {
		return nil
	}
	leaving := evictsMore(r)
	for _, a := range r.actions {
		if d, is := a.(plan.Delete); is && d.Why.Traits().EvictsToSave() && len(d.Pods) > 0 && !r.again[d.Node] {
			leaving[d.Node] = true
		}
	}
	if len(leaving) == 0 {
		return nil
	}
	found, can := toClose(r, leaving)
	if !can {
		return nil
	}
	promised := map[string][]cluster.Slot{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		state := found[name]
		out = append(out, plan.Close{Node: name, NodeUID: state.Node.UID, Taint: r.Policy.StartupTaint})
		var slots []cluster.Slot
		if h := r.room.Nodes[name]; h != nil {
			for _, p := range h.Displaced {
				if g, known := r.Snapshot.GroupOf(p.ID); known && leaving[p.Node] {
					slots = append(slots, cluster.Slot{Kind: g.Kind, Count: 1})
				}
			}
		}
		slots = room.Merged(slots)
		for i := range slots {
			slots[i].Count += state.CountOf(slots[i].Kind)
		}
		promised[r.ClaimOf(state).Name] = slots
	}
	r.memory.Promise(promised)
	r.memory.Landing = r.memory.Landing.Again(r.Now)
	return out
}

// evictsMore returns the nodes of which a drain to save money is about to evict more pods:
// those that it evicted before are ready elsewhere.
func evictsMore(r *retirer) map[string]bool {
	out := map[string]bool{}
	if l := r.memory.Landing; !l.More || !l.Since.IsZero() {
		return out
	}
	var unready map[string]bool // controllers with pods that are not ready, by UID
	for _, c := range r.Claims {
		state, up := r.Snapshot.State(c.Node)
		if !up || !c.Deleting || !announcedFor(c).Traits().EvictsToSave() {
			continue
		}
		if unready == nil {
			unready = map[string]bool{}
			for p := range r.Snapshot.EachPod() {
				unready[p.Owner.UID] = unready[p.Owner.UID] || p.Node == "" || p.NotReady
			}
		}
		for p := range state.Pods() {
			if p.Moves() && !p.Deleting && !p.Protected(r.Now) && p.Owner.UID != "" && !unready[p.Owner.UID] && len(r.judge.budgetsOf(&p)) == 0 {
				out[c.Node] = true
			}
		}
	}
	return out
}

// toClose returns the nodes to close, by name: those of ours on which a pod of the leaving
// nodes could land. That is where it has room, and where it has more priority than a pod that
// runs there: while the nodes with room are closed, the scheduler would preempt that pod. It
// says whether all such nodes can be closed.
func toClose(r *retirer, leaving map[string]bool) (found map[string]*cluster.NodeState, can bool) {
	needs := map[*cluster.Group]quantity.Resources{} // of the pods of leaving nodes
	for name := range leaving {
		if state, up := r.Snapshot.State(name); up {
			for g := range state.Moving() {
				needs[g] = demand.WithoutAttach(g.Shape.Requests)
			}
		}
	}
	found = map[string]*cluster.NodeState{}
	for state := range r.Snapshot.States() {
		n, c := &state.Node, r.ClaimOf(state)
		if leaving[n.Name] || n.Disrupted || n.Deleting || r.Closed(n, &c) {
			continue
		}
		closable := c.Name != "" && c.Initialized && n.Ready && n.TakesPods(&c)
		least := leastPriority(state)
		for g, need := range needs {
			preempts := g.Shape.Priority > least
			if !preempts && !(closable && need.Fits(state.Free)) || !fit.Node(g.Shape, n.Labels, n.Taints) {
				continue
			}
			if !closable {
				return nil, false
			}
			found[n.Name] = state
			break
		}
	}
	return found, true
}

// leastPriority returns the least priority of the pods that run on the node.
func leastPriority(state *cluster.NodeState) int32 {
	least := int32(math.MaxInt32)
	for g := range state.Groups() {
		least = min(least, g.Shape.Priority)
	}
	return least
}
