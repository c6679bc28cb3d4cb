package disrupt

import (
	"maps"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// The scheduler puts an evicted pod that comes back on the emptiest node, at once. In a
// fleet that is to be nearly full in the end, the holes that this leaves fit no large pod,
// and nodes stay that the plan does without. So the nodes with room close for the moment in
// which the pods come back. Each pod is nominated for its place, and the nodes open again.
// Package open has the second half; there pods of others end the wait at once.

// MostClosed is how many nodes are closed at once at most. In a larger fleet a hole costs
// less, and the writes cost more.
const MostClosed = 100

// closing closes the nodes with room for the pods of nodes that this plan deletes to save
// money, and promises these pods their places there.
func (r *retirer) closing() (out []plan.Action) {
	leaving := r.evictsMore()
	for _, a := range r.actions {
		if d, is := a.(plan.Delete); is && d.Why == plan.Underutilized && len(d.Pods) > 0 {
			leaving[d.Node] = true
		}
	}
	if len(leaving) == 0 || r.Policy.CannotNominate {
		return nil
	}
	found := r.roomFor(leaving)
	if len(found) > MostClosed {
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
		for g, n := range state.Groups() {
			for i := range slots {
				if slots[i].Kind == g.Kind {
					slots[i].Count += n
				}
			}
		}
		promised[r.ClaimOf(state).Name] = slots
	}
	r.memory.Promise(promised)
	r.memory.Landing = memory.Landing{Since: r.Now, Moved: r.Now}
	return out
}

// evictsMore returns the nodes of which a drain to save money is about to evict more pods:
// those that it evicted before are ready elsewhere.
func (r *retirer) evictsMore() map[string]bool {
	out := map[string]bool{}
	if !r.memory.Landing.More || r.Snapshot.NodeCount() > MostClosed {
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
			for _, p := range r.Snapshot.Pods() {
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
func (r *retirer) roomFor(leaving map[string]bool) map[string]*cluster.NodeState {
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
				if found[n.Name] = state; len(found) > MostClosed {
					return found
				}
			}
		}
	}
	return found
}
