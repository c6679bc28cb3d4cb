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
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Room is the room that exists or is on its way, for the demand of one try of a
// Step.
type Room struct {
	view.View
	*journal.Journal
	demand *demand.Demand

	Slots  AttachSlots
	Coming []*Host          // hosts that do not take pods yet, in the order of Sooner
	Nodes  map[string]*Host // nodes looked at so far, by name; nil for a node that takes no pods
	// GivenUp did not come up in time, and gets no pods any more. It may come up yet,
	// so to a proof it is room like any other.
	GivenUp []*Host

	known    *Known
	ordered  map[order]*open // what NodeClaims that are not launched may become
	repelled map[string]bool // by NodeClaim; see keepsOff
}

// New returns a Room in which no node has been looked at.
func New(v view.View, d *demand.Demand, j *journal.Journal, known *Known) *Room {
	return &Room{
		View: v, Journal: j, demand: d, Slots: gatherSlots(v, j, d.Classes), Nodes: map[string]*Host{}, known: known, ordered: map[order]*open{}, repelled: map[string]bool{},
	}
}

// Gather returns the Room with everything that is on its way: NodeClaims without a
// node, and nodes that are starting or kept. Running nodes are looked at only when
// a class asks for room: see Room.Node.
func Gather(v view.View, d *demand.Demand, j *journal.Journal, known *Known) *Room {
	r := New(v, d, j, known)
	r.Coming = make([]*Host, 0, len(r.Claims))
	for _, c := range r.Claims {
		state, up := r.Snapshot.State(c.Node)
		switch {
		case !up && !c.Leaving() && !r.IsGoing(c.Name):
			r.file(r.claimHost(c))
		case up && (!c.Initialized || r.Closed(&state.Node, c)):
			r.Trace.Objects++
			r.Node(state)
		}
	}
	slices.SortFunc(r.Coming, Sooner)
	return r
}

// Expect tells the rules of the demand where nodes are on their way: a zone that is
// empty until then counts in the skew of pods that may run there and find a place on
// their way from now on.
func (r *Room) Expect() {
	for _, c := range r.demand.Classes {
		if c.Table == nil {
			return
		}
		for i := range c.Levels {
			l := &c.Levels[i]
			if len(l.Shape.Spread) == 0 {
				continue
			}
			for _, h := range r.Coming {
				if len(h.Labels) > 0 { // else no instance type is left that it could become
					c.Table.Expect(c.Rules[i], h.Place(), func() bool { return h.Accepts(l) })
				}
			}
		}
	}
}

// Node returns the host of a node; nil if the node takes no pods. Each host is made
// once in a try.
func (r *Room) Node(state *cluster.NodeState) *Host {
	if h, known := r.Nodes[state.Node.Name]; known {
		return h
	}
	r.Trace.Hosts++
	h := r.file(r.HostOf(state, r.ClaimOf(state)))
	r.Nodes[state.Node.Name] = h
	return h
}

// NodeFor makes the host of a node if pods of one of the levels could run there. Where
// they could not, it does not look at what the node has free.
func (r *Room) NodeFor(state *cluster.NodeState, levels []*demand.Level) {
	if _, known := r.Nodes[state.Node.Name]; known {
		return
	}
	if h := r.outline(state, r.ClaimOf(state)); h != nil && slices.ContainsFunc(levels, h.Could) {
		r.Trace.Hosts++
		r.Nodes[state.Node.Name] = r.file(r.fill(h))
	}
}

// file lists the host where it belongs, and returns it unless it gets no pods.
func (r *Room) file(h *Host) *Host {
	switch {
	case h == nil || h.Stage == StageNode:
	case h.Stage == stageGivenUp:
		r.GivenUp = append(r.GivenUp, h)
		return nil
	default:
		r.Coming = append(r.Coming, h)
	}
	return h
}

// HostOf returns a new host for the node and its NodeClaim c; nil if the node takes
// no pods. A host that was given up takes none either, but may once it is up. Nodes of a
// pool that is being deleted take none: the pods would have to move again soon. Such a
// node still opens if it runs pods, as it is deleted only when it is initialized; so it
// is a host without room until then.
func (r *Room) HostOf(state *cluster.NodeState, c cluster.Claim) *Host {
	return r.fill(r.outline(state, c))
}

// outline returns the host of HostOf without its room and ports.
func (r *Room) outline(state *cluster.NodeState, c cluster.Claim) *Host {
	n := state.Node
	if !n.TakesPods(&c) || r.IsGoing(c.Name) || c.Initialized && r.ofDeletedPool(&c) {
		return nil
	}
	h := &Host{Stage: StageNode, Node: n, State: state, Claim: &c, Labels: []label.Lookup{n.Labels}, taints: lasting(n.Taints)}
	switch {
	case c.Name == "" || c.Initialized:
		if !n.Ready {
			return nil
		}
		if r.Closed(&n, &c) {
			h.Stage, h.taints = StageKept, pick.Those(h.taints, func(t cluster.Taint) bool { return t != r.Policy.StartupTaint })
		}
	case r.Opens(&n, &c):
		h.Stage, h.taints = StageKept, slices.Concat(c.Taints, c.Undeclared(n.Taints))
		h.Labels[0] = &label.Layers{n.Labels, label.OfReady()}
	default:
		// The node is starting. Its NodeClaim says which taints and labels it
		// will have; the node itself may not have them yet.
		h.Stage, h.taints = stageComing, expected(r, &n, &c)
		h.Labels[0] = &label.Layers{c.Labels, n.Labels, label.OfReady()}
		if r.Late(c) || !r.IsUsable(&n, &c) && r.Stuck(c) {
			h.Stage = stageGivenUp
		}
	}
	return h
}

// fill works out what the host, if there is one, has free.
func (r *Room) fill(h *Host) *Host {
	if h == nil || r.ofDeletedPool(h.Claim) {
		return h
	}
	state, c, capacity := h.State, *h.Claim, h.Node.Allocatable
	if h.Stage == stageComing || h.Stage == stageGivenUp {
		capacity = promised(capacity, c.Allocatable)
	}
	// Keep room for DaemonSet pods that are still to come.
	daemons, left := r.Snapshot.Supply().DaemonSets, r.Slots.onNode(capacity, r.View, c).Sub(state.Used)
	missing := func(daemons []cluster.DaemonSet) quantity.Resources {
		return fit.Missing(daemons, h.Labels[0], h.taints, state.UsedBy)
	}
	for p := range state.Nominated() {
		left = left.Sub(p.Shape.Requests)
	}
	h.Free, h.Most = left.Sub(missing(daemons)), left.Sub(missing(fit.Certain(daemons)))
	r.takePorts(h)
	return h
}

// MissingDaemons is what the DaemonSet pods ask for that are still to come to a node that
// runs.
func MissingDaemons(v view.View, state *cluster.NodeState) quantity.Resources {
	daemons := v.Snapshot.Supply().DaemonSets
	if len(daemons) == 0 {
		return quantity.Resources{}
	}
	return fit.Missing(daemons, state.Node.Labels, lasting(state.Node.Taints), state.UsedBy)
}

// ofDeletedPool says whether the NodeClaim's pool is being deleted.
func (r *Room) ofDeletedPool(c *cluster.Claim) bool {
	pool, _ := r.Snapshot.Pool(c.Pool)
	return pool.Deleting
}

// takePorts takes the host ports of the pods that run on the host or are nominated
// for it, and of the DaemonSets that may run there: their pods come with the node.
func (r *Room) takePorts(h *Host) {
	if !r.demand.PortsMatter {
		return
	}
	if h.State != nil {
		for g := range h.State.Groups() {
			h.ports = append(h.ports, g.Shape.Ports...)
		}
		for p := range h.State.Nominated() {
			h.ports = append(h.ports, p.Shape.Ports...)
		}
	}
	if h.open != nil {
		h.ports = h.open.ports
		return
	}
	h.ports = append(h.ports, r.daemonPorts(h.Labels, h.taints)...)
}

// daemonPorts returns the host ports of the DaemonSets that may run on nodes with any
// of the labels.
func (r *Room) daemonPorts(labels []label.Lookup, taints []cluster.Taint) (ports []cluster.HostPort) {
	for _, d := range r.Snapshot.Supply().DaemonSets {
		if len(d.Shape.Ports) > 0 && slices.ContainsFunc(labels, func(x label.Lookup) bool { return fit.Node(d.Shape, x, taints) }) {
			ports = append(ports, d.Shape.Ports...)
		}
	}
	return ports
}

// promised returns the capacity of a starting node. That is the NodeClaim's
// capacity until the kubelet has reported. The kubelet reports its disk later than the
// rest, and device plugins report later than the kubelet: until then the disk and a device
// count as the NodeClaim promises.
func promised(reported, claim quantity.Resources) quantity.Resources {
	if reported.MilliCPU == 0 {
		return claim
	}
	if reported.EphemeralBytes == 0 {
		reported.EphemeralBytes = claim.EphemeralBytes
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
	h := r.promisedBy(c)
	if r.Late(*c) {
		h.Stage = stageGivenUp
	}
	r.takePorts(h)
	return h
}

// promisedBy is the host that the NodeClaim becomes, or the least of those that it
// may become.
func (r *Room) promisedBy(c *cluster.Claim) *Host {
	h := &Host{Stage: stageComing, Claim: c, taints: c.Taints}
	if c.Launched {
		daemons := r.Snapshot.Supply().DaemonSets
		labels := &label.Layers{c.Labels, label.OfReady()}
		h.Labels = []label.Lookup{labels}
		left := r.Slots.onNode(c.Allocatable, r.View, *c)
		h.Free = left.Sub(fit.Overhead(daemons, labels, c.Taints))
		h.Most = left.Sub(fit.Overhead(fit.Certain(daemons), labels, c.Taints))
		return h
	}
	x := r.optionsOf(c)
	h.Stage, h.open, h.Labels, h.Free, h.Most = stageOrdered, x, x.labels, x.free, x.most
	return h
}

// Placed returns what the plan puts on nodes that take pods, by node.
func (r *Room) Placed() map[string]quantity.Resources {
	out := map[string]quantity.Resources{}
	for name, h := range r.Nodes {
		if h != nil && h.Stage == StageNode && h.Demand() > 0 {
			out[name] = h.Most.Sub(h.Free)
		}
	}
	return out
}

// Touched returns all hosts that are on their way, and the running nodes looked at
// so far that are wanted. They are sorted by stage, then name.
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
