package room

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Room is what exists or is on its way for the demand of one try of a Step.
type Room struct {
	view.View
	*journal.Journal
	demand *demand.Demand

	Slots  AttachSlots
	Coming []*Host          // what is on its way, soonest first; see sooner
	Nodes  map[string]*Host // that were looked at, by name; nil for one that takes no pods

	known   *Known
	ordered map[order]*open // what NodeClaims that are not launched may become
}

// New returns the room of the demand as nobody has looked at it yet.
func New(v view.View, d *demand.Demand, j *journal.Journal, known *Known) *Room {
	return &Room{
		View: v, Journal: j, demand: d, Slots: gatherSlots(v, j, d.Classes), Nodes: map[string]*Host{}, known: known, ordered: map[order]*open{},
	}
}

// Gather collects the room that is on its way: NodeClaims without a node,
// and nodes that start or are kept. Nodes that run are looked at when a class
// asks for room (see candidates). One that is cordoned, goes, or was up and is
// not Ready is never among them.
func Gather(v view.View, d *demand.Demand, j *journal.Journal, known *Known) *Room {
	r := New(v, d, j, known)
	r.Coming = make([]*Host, 0, len(r.Claims))
	for _, c := range r.Claims {
		state, up := r.Snapshot.State(c.Node)
		switch {
		case !up && !c.Leaving():
			r.Coming = append(r.Coming, r.claimHost(c))
		case up && !c.Initialized:
			r.Trace.Objects++
			r.Node(state)
		}
	}
	slices.SortFunc(r.Coming, Sooner)
	return r
}

// Node returns the host of a node, nil where it takes no pods. Hosts are made
// once in a Step.
func (r *Room) Node(state *cluster.NodeState) *Host {
	if h, known := r.Nodes[state.Node.Name]; known {
		return h
	}
	r.Trace.Hosts++
	c, known := r.Snapshot.Claim(state.Node.Claim)
	if !known {
		c, _ = state.Claim()
	}
	h := r.HostOf(state, c)
	r.Nodes[state.Node.Name] = h
	if h != nil && h.Stage != StageNode {
		r.Coming = append(r.Coming, h)
	}
	return h
}

// HostOf returns a host of the node, whose NodeClaim is given, nil where it takes no
// pods.
func (r *Room) HostOf(state *cluster.NodeState, c cluster.Claim) *Host {
	n := state.Node
	if n.Cordoned || n.Leaving(&c) {
		return nil
	}
	h := &Host{Stage: StageNode, Node: n, State: state, Claim: &c, Labels: []label.Lookup{n.Labels}, taints: lasting(n.Taints)}
	switch {
	case c.Name == "" || c.Initialized:
		if !n.Ready {
			return nil
		}
	case r.Kept(n, c):
		h.Stage, h.taints = StageKept, c.Taints
	case r.Stuck(n, c):
		return nil
	default:
		// Still starting: what the NodeClaim promises holds, not yet what the
		// kubelet has reported.
		h.Stage, h.taints = stageComing, c.Taints
		h.Labels[0] = c.Labels.Merge(n.Labels)
	}
	capacity := n.Allocatable
	if h.Stage == stageComing {
		capacity = promised(capacity, c.Allocatable)
	}
	// DaemonSet pods that are still to come keep their share.
	daemons, left := r.Snapshot.Supply().DaemonSets, r.Slots.onNode(capacity, r.View, c).Sub(state.Used)
	missing := func(daemons []cluster.DaemonSet) quantity.Resources {
		return fit.Overhead(daemons, h.Labels[0], h.taints).Sub(state.Daemons).Max(quantity.Resources{})
	}
	left = left.Sub(r.demand.Preempted[n.Name])
	h.Free, h.Most = left.Sub(missing(daemons)), left.Sub(missing(fit.Certain(daemons)))
	if r.demand.PortsMatter {
		for g, n := range state.Groups() {
			if n > 0 {
				h.ports = append(h.ports, g.Shape.Ports...)
			}
		}
	}
	return h
}

// promised is the capacity of a node that starts: what its kubelet has reported,
// and of devices, whose plugins report later, what the NodeClaim promises.
func promised(reported, claim quantity.Resources) quantity.Resources {
	if reported.MilliCPU == 0 {
		return claim
	}
	for _, a := range claim.Extended {
		if reported.Get(a.Name) == 0 {
			reported = reported.Extend(a.Name, a.Count)
		}
	}
	return reported
}

func (r *Room) claimHost(c *cluster.Claim) *Host {
	r.Trace.Hosts++
	h := &Host{Stage: stageComing, Claim: c, taints: c.Taints}
	if c.Launched {
		daemons := r.Snapshot.Supply().DaemonSets
		h.Labels = []label.Lookup{c.Labels}
		left := r.Slots.onNode(c.Allocatable, r.View, *c)
		h.Free = left.Sub(fit.Overhead(daemons, c.Labels, c.Taints))
		h.Most = left.Sub(fit.Overhead(fit.Certain(daemons), c.Labels, c.Taints))
		return h
	}
	x := r.optionsOf(c)
	h.Stage, h.open, h.Labels, h.Free, h.Most = stageOrdered, x, x.labels, x.free, x.most
	return h
}

// Touched lists the hosts on their way and the nodes looked at that are wanted,
// sorted by readiness, then name.
func (r *Room) Touched(want func(*Host) bool) []*Host {
	list := slices.Clone(r.Coming)
	for _, h := range r.Nodes {
		if h != nil && h.Stage == StageNode && want(h) {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b *Host) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), strings.Compare(a.Name(), b.Name()))
	})
	return list
}
