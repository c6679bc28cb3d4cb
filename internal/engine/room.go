package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// room is what exists or is on its way for the demand of one try of a Step.
type room struct {
	View
	*journal
	demand *demand

	slots  attachSlots
	coming []*host          // what is on its way, soonest first; see sooner
	nodes  map[string]*host // that were looked at, by name; nil for one that takes no pods
}

// newRoom returns the room of the demand as nobody has looked at it yet.
func newRoom(v View, d *demand, j *journal) *room {
	return &room{View: v, journal: j, demand: d, slots: gatherAttach(v, j, d.classes), nodes: map[string]*host{}}
}

// gatherRoom collects the room that is on its way: NodeClaims without a node,
// and nodes that start or are kept. Nodes that run are looked at when a class
// asks for room (see candidates). One that is cordoned, goes, or was up and is
// not Ready is never among them.
func gatherRoom(v View, d *demand, j *journal) *room {
	r := newRoom(v, d, j)
	for _, c := range r.Claims {
		state, up := r.Snapshot.State(c.Node)
		switch {
		case !up && !c.Leaving():
			r.coming = append(r.coming, r.claimHost(c))
		case up && !c.Initialized:
			r.trace.Objects++
			r.node(state)
		}
	}
	slices.SortFunc(r.coming, sooner)
	return r
}

// node returns the host of a node, nil where it takes no pods. Hosts are made
// once in a Step.
func (r *room) node(state *cluster.NodeState) *host {
	if h, known := r.nodes[state.Node.Name]; known {
		return h
	}
	r.trace.Hosts++
	c, known := r.Snapshot.Claim(state.Node.Claim)
	if !known {
		c, _ = state.Claim()
	}
	h := r.hostOf(state, c)
	r.nodes[state.Node.Name] = h
	if h != nil && h.stage != stageNode {
		r.coming = append(r.coming, h)
	}
	return h
}

func (r *room) hostOf(state *cluster.NodeState, c cluster.Claim) *host {
	n := state.Node
	if n.Cordoned || n.Leaving(&c) {
		return nil
	}
	h := &host{stage: stageNode, node: n, state: state, claim: c, labels: []label.Lookup{n.Labels}, taints: lasting(n.Taints)}
	switch {
	case c.Name == "" || c.Initialized:
		if !n.Ready {
			return nil
		}
	case r.Kept(n, c):
		h.stage, h.taints = stageKept, c.Taints
	case r.Stuck(n, c):
		return nil
	default:
		// Still starting: what the NodeClaim promises holds, not yet what the
		// kubelet has reported.
		h.stage, h.taints = stageComing, c.Taints
		h.labels[0] = c.Labels.Merge(n.Labels)
	}
	capacity := n.Allocatable
	if h.stage == stageComing {
		capacity = promised(capacity, c.Allocatable)
	}
	// DaemonSet pods that are still to come keep their share.
	daemons, left := r.Snapshot.Supply().DaemonSets, r.slots.onNode(capacity, r.View, c).Sub(state.Used)
	missing := func(daemons []cluster.DaemonSet) quantity.Resources {
		return fit.Overhead(daemons, h.labels[0], h.taints).Sub(state.Daemons).Max(quantity.Resources{})
	}
	left = left.Sub(r.demand.preempted[n.Name])
	h.free, h.most = left.Sub(missing(daemons)), left.Sub(missing(fit.Certain(daemons)))
	if r.demand.portsMatter {
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

func (r *room) claimHost(c cluster.Claim) *host {
	r.trace.Hosts++
	h := &host{stage: stageComing, claim: c, taints: c.Taints}
	daemons := r.Snapshot.Supply().DaemonSets
	if c.Launched {
		h.labels = []label.Lookup{c.Labels}
		left := r.slots.onNode(c.Allocatable, r.View, c)
		h.free = left.Sub(fit.Overhead(daemons, c.Labels, c.Taints))
		h.most = left.Sub(fit.Overhead(fit.Certain(daemons), c.Labels, c.Taints))
		return h
	}
	h.stage = stageOrdered
	class, _ := r.Snapshot.Class(c.Class)
	first, decided := true, decided(c, class)
	for _, t := range class.Types {
		if !c.Requirements.Admits(label.InstanceType, t.Name) {
			continue
		}
		for _, o := range t.Offerings {
			if !c.Requirements.Admits(label.Zone, o.Zone) || !c.Requirements.Admits(label.CapacityType, o.CapacityType) ||
				c.Reservation != "" && o.Reservation != c.Reservation {
				continue
			}
			labels := &label.Layers{c.Labels, t.Labels, o.Labels()}
			if _, no := decided.Unmet(labels); no {
				continue
			}
			h.labels = append(h.labels, labels)
			left := r.slots.onNew(t.Allocatable, &t)
			net := left.Sub(fit.Overhead(daemons, labels, c.Taints))
			h.most = h.most.Max(left.Sub(fit.Overhead(fit.Certain(daemons), labels, c.Taints)))
			if first {
				h.free, first = net, false
			} else {
				h.free = h.free.Min(net)
			}
		}
	}
	return h
}

// decided lists the requirements of the NodeClaim that its labels, instance types
// and offerings decide. What it may become meets them.
func decided(c cluster.Claim, class cluster.Class) label.Requirements {
	return pick.Those(c.Requirements, func(r label.Requirement) bool {
		_, own := c.Labels.Get(r.Key())
		return own || label.OfOffering(r.Key()) ||
			slices.ContainsFunc(class.Types, func(t catalog.InstanceType) bool { _, ok := t.Labels.Get(r.Key()); return ok })
	})
}

// touched lists the hosts on their way and the nodes looked at that are wanted,
// sorted by readiness, then name.
func (r *room) touched(want func(*host) bool) []*host {
	list := slices.Clone(r.coming)
	for _, h := range r.nodes {
		if h != nil && h.stage == stageNode && want(h) {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b *host) int {
		return cmp.Or(cmp.Compare(a.stage, b.stage), strings.Compare(a.name(), b.name()))
	})
	return list
}
