package landing

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// bind closes the nodes with room for the moment in which evicted pods come back, and binds
// each to its place. Else the scheduler puts such a pod on the emptiest node, at once. In a
// fleet that is to be nearly full in the end, the holes that this leaves fit no large pod,
// and nodes stay that the plan does without.
type bind struct {
	ground
	back []plan.Bind // the pods that are back and may be bound
}

// Close closes the nodes where the pods could land, if all of them can be closed.
func (b *bind) Close(leaving map[string]bool) (out []plan.Action) {
	if len(leaving) == 0 {
		return nil
	}
	found, can := b.toClose(leaving)
	if !can {
		return nil
	}
	v, promised := &b.view, map[string][]cluster.Slot{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		state := found[name]
		out = append(out, plan.Close{Node: name, NodeUID: state.Node.UID, Taint: v.Policy.StartupTaint})
		var slots []cluster.Slot
		if h := b.room.Nodes[name]; h != nil {
			for _, p := range h.Displaced {
				if g, known := v.Snapshot.GroupOf(p.ID); known && leaving[p.Node] {
					slots = append(slots, cluster.Slot{Kind: g.Kind, Count: 1})
				}
			}
		}
		slots = room.Merged(slots)
		for i := range slots {
			slots[i].Count += state.CountOf(slots[i].Kind)
		}
		promised[v.ClaimOf(state).Name] = slots
	}
	b.memory.Promise(promised)
	b.memory.Landing = b.memory.Landing.Again(v.Now)
	return out
}

// toClose returns the nodes to close, by name: those of ours on which a pod of the leaving
// nodes could land. That is where it has room, and where it has more priority than a pod that
// runs there: while the nodes with room are closed, the scheduler would preempt that pod. It
// says whether all such nodes can be closed.
func (b *bind) toClose(leaving map[string]bool) (found map[string]*cluster.NodeState, can bool) {
	v := &b.view
	needs := map[*cluster.Group]quantity.Resources{} // of the pods of leaving nodes
	for name := range leaving {
		if state, up := v.Snapshot.State(name); up {
			for g := range state.Moving() {
				needs[g] = demand.WithoutAttach(g.Shape.Requests)
			}
		}
	}
	found = map[string]*cluster.NodeState{}
	for state := range v.Snapshot.States() {
		n, c := &state.Node, v.ClaimOf(state)
		if leaving[n.Name] || n.Disrupted || n.Deleting || v.Closed(n, &c) {
			continue
		}
		closable := c.Name != "" && c.Initialized && n.Ready && n.TakesPods(&c)
		lowest := leastPriority(state)
		for g, need := range needs {
			preempts := g.Shape.Priority > lowest
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
	lowest := int32(math.MaxInt32)
	for g := range state.Groups() {
		lowest = min(lowest, g.Shape.Priority)
	}
	return lowest
}

// Done notes which pods are back.
func (b *bind) Done(takes Takes) (opens []Opening, done bool) {
	for _, h := range b.hosts() {
		b.back = append(b.back, b.bindings(h, takes)...)
	}
	return b.done(len(b.back))
}

// bindings returns the bindings of evicted pods that are back to the closed host. A pod waits
// whose rules about other pods are not met yet.
func (b *bind) bindings(h *room.Host, takes Takes) (out []plan.Bind) {
	for _, p := range h.Pods {
		if g, known := b.view.Snapshot.GroupOf(p.ID); known && b.lands(g, p) && !p.Volumes && takes(h, p) {
			out = append(out, plan.Bind{Pod: p.ID, PodUID: p.UID, Node: h.Node.Name, NodeUID: h.Node.UID})
		}
	}
	return out
}

// Place binds the pods that are back.
func (b *bind) Place() (actions []plan.Action, again time.Time) {
	ok, at := b.mayBind()
	if ok {
		b.now.Bound = nil
		for _, x := range b.back {
			actions, b.now.Bound = append(actions, x), append(b.now.Bound, x.PodUID)
		}
	} else if !at.IsZero() {
		b.until = pick.Earliest(b.until, at)
	}
	b.memory.Landing = b.now
	return actions, b.until
}

// bindingTakes is how long a binding by the scheduler is on its way at most.
const bindingTakes = time.Second

// mayBind says whether the room that is seen on closed nodes is free: the snapshot shows all
// bindings of the last plan, and no pod waits that the scheduler may have assigned to one of
// the nodes just before it was closed. If not, it returns when that may be so without a
// change of the cluster; zero for never.
func (b *bind) mayBind() (ok bool, at time.Time) {
	if b.was.Since.IsZero() {
		return false, time.Time{}
	}
	later := b.was.Written.Add(bindingTakes)
	before := b.was.Since.Truncate(time.Second) // as the times of creation are
	for g := range b.view.Snapshot.PendingGroups() {
		for _, p := range g.Waiting() {
			// The scheduler has not refused the pod: it came before the nodes were closed.
			assigned := !p.Unschedulable && !p.Created.After(b.was.Written)
			switch older := p.Created.Before(before); {
			case slices.Contains(b.was.Bound, p.UID):
				return false, time.Time{}
			case assigned && p.Volumes: // the binding waits until the volume is made
				return false, time.Time{}
			case (assigned || older) && b.view.Now.Before(later):
				return false, later
			}
		}
	}
	return true, time.Time{}
}
