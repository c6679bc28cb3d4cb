package disrupt

import (
	"maps"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// The scheduler puts an evicted pod that comes back on the emptiest node, at once. In a
// fleet that is to be nearly full in the end, the holes that this leaves fit no large pod,
// and nodes stay that the plan does without. So the nodes with room close for the moment in
// which the pods come back. Each pod is nominated for its place, and the nodes open again.
// Package open has the second half; there pods of others end the wait at once.

// mostClosed is how many nodes a fleet has at most in which nodes are closed. In a larger
// fleet a hole costs less, and the writes cost more.
const mostClosed = 200

// Closes says whether nodes are closed for evicted pods in the cluster.
func Closes(v view.View) bool {
	return v.Snapshot.NodeCount() <= mostClosed && !v.Policy.CannotNominate
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
		if d, is := a.(plan.Delete); is && d.Why == plan.Underutilized && len(d.Pods) > 0 && !r.again[d.Node] {
			leaving[d.Node] = true
		}
	}
	if len(leaving) == 0 {
		return nil
	}
	found := roomFor(r, leaving)
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
	r.memory.Landing = memory.Landing{Since: r.Now, Moved: r.Now}
	return out
}

// evictsMore returns the nodes of which a drain to save money is about to evict more pods:
// those that it evicted before are ready elsewhere.
func evictsMore(r *retirer) map[string]bool {
	out := map[string]bool{}
	if !r.memory.Landing.More {
		return out
	}
	var unready map[string]bool // controllers with pods that are not ready, by UID
	for _, c := range r.Claims {
		state, up := r.Snapshot.State(c.Node)
		if !up || !c.Deleting || announcedFor(c) != plan.Underutilized {
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

// roomFor returns the open nodes of ours, by name, on which a pod of the leaving nodes could
// land.
func roomFor(r *retirer, leaving map[string]bool) map[string]*cluster.NodeState {
	groups := map[*cluster.Group]bool{}
	for name := range leaving {
		if state, up := r.Snapshot.State(name); up {
			for g := range state.Moving() {
				groups[g] = true
			}
		}
	}
	found := map[string]*cluster.NodeState{}
	for g := range groups {
		for state := range r.Snapshot.Roomy(demand.WithoutAttach(g.Shape.Requests)) {
			n, c := &state.Node, r.ClaimOf(state)
			if _, known := found[n.Name]; known || c.Name == "" || !c.Initialized || !n.Ready || !n.TakesPods(&c) || r.Closed(n, &c) {
				continue
			}
			if fit.Node(g.Shape, n.Labels, n.Taints) {
				found[n.Name] = state
			}
		}
	}
	return found
}
