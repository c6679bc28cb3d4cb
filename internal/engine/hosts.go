package engine

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/spread"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Stages of a host, nearest to running pods first.
const (
	stageNode    = iota // a node that takes pods now
	stageKept           // a node that is up and kept for its pods
	stageComing         // a launched NodeClaim, or its node while it starts
	stageOrdered        // a NodeClaim that is not launched yet
)

// host is room that exists or is on its way.
type host struct {
	stage  int
	node   cluster.Node       // zero while there is none
	state  *cluster.NodeState // nil while there is no node
	claim  cluster.Claim      // zero for nodes that are not ours
	labels []label.Lookup     // a pod must accept all of them: one, or one for each type it may become
	taints []cluster.Taint
	free   quantity.Resources
	most   quantity.Resources // free before this plan; where the type is open, at the most
	ports  []cluster.HostPort // taken
	either *spread.Either     // of the labels, where they are several

	opens bool               // for the pods gathered on it
	real  quantity.Resources // of that, taken by pods that exist

	pods      []podRef // assigned: pending pods, in order of assignment
	displaced int64
	declared  int64
	hardness  int // see unnominated.go
}

func (h *host) name() string {
	if h.node.Name != "" {
		return h.node.Name
	}
	return h.claim.Name
}

func (h *host) demand() int64 { return int64(len(h.pods)) + h.displaced + h.declared }

// place is the host as topology rules see it.
func (h *host) place() spread.Place {
	if len(h.labels) > 1 && h.either == nil {
		h.either = spread.NewEither(slices.Values(h.labels))
	}
	return spread.Place{Name: h.name(), Taints: h.taints, Labels: h.labels[0], Either: h.either}
}

// accepts says whether the class at this level may run there, its size and
// other pods aside.
func (h *host) accepts(l *level) bool {
	if len(l.shape.Unsupported) > 0 || len(h.labels) == 0 || l.avoid && cluster.Avoided(h.taints, l.shape.Tolerations) {
		return false
	}
	return !slices.ContainsFunc(h.labels, func(x label.Lookup) bool { return !fit.Node(l.shape, x, h.taints) })
}

// could says whether the level's pods could run there whatever it becomes.
func (h *host) could(l *level) bool {
	return slices.ContainsFunc(h.labels, func(x label.Lookup) bool { return fit.Node(l.shape, x, h.taints) })
}

// gatherHosts collects the room that is on its way: NodeClaims without a node,
// and nodes that start or are kept. Nodes that run are looked at when a class
// asks for room (see candidates). One that is cordoned, goes, or was up and is
// not Ready is never among them.
func (s *step) gatherHosts() {
	for _, c := range s.claims {
		state, up := s.in.Snapshot.State(c.Node)
		switch {
		case !up && !c.Leaving():
			s.hosts = append(s.hosts, s.claimHost(c))
		case up && !c.Initialized:
			s.trace.Objects++
			s.node(state)
		}
	}
	slices.SortFunc(s.hosts, sooner)
}

// node returns the host of a node, nil where it takes no pods. Hosts are made
// once in a Step.
func (s *step) node(state *cluster.NodeState) *host {
	if h, known := s.nodeHosts[state.Node.Name]; known {
		return h
	}
	s.trace.Hosts++
	c, known := s.in.Snapshot.Claim(state.Node.Claim)
	if !known {
		c, _ = state.Claim()
	}
	h := s.nodeHost(state, c)
	s.nodeHosts[state.Node.Name] = h
	if h != nil && h.stage != stageNode {
		s.hosts = append(s.hosts, h)
	}
	return h
}

func (s *step) nodeHost(state *cluster.NodeState, c cluster.Claim) *host {
	n := state.Node
	if n.Cordoned || n.Leaving(&c) {
		return nil
	}
	h := &host{stage: stageNode, node: n, state: state, claim: c, labels: []label.Lookup{n.Labels}, taints: s.lasting(n.Taints)}
	switch {
	case c.Name == "" || c.Initialized:
		if !n.Ready {
			return nil
		}
	case s.kept(n, c):
		h.stage, h.taints = stageKept, c.Taints
	case s.stuck(n, c):
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
	daemons, room := s.in.Snapshot.Supply().DaemonSets, s.attachableOf(capacity, c).Sub(state.Used)
	missing := func(daemons []cluster.DaemonSet) quantity.Resources {
		return fit.Overhead(daemons, h.labels[0], h.taints).Sub(state.Daemons).Max(quantity.Resources{})
	}
	room = room.Sub(s.preempted[n.Name])
	h.free, h.most = room.Sub(missing(daemons)), room.Sub(missing(fit.Certain(daemons)))
	if s.portsMatter {
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

// stuck says whether a node that has registered had time enough to become ready
// for its pods, and did not: they must not wait for it for ever.
func (s *step) stuck(n cluster.Node, c cluster.Claim) bool {
	return c.Registered && !c.Initialized && !s.usable(n, c) && !s.in.Now.Before(s.initialized(c))
}

// initialized is when the node of the claim ought to be ready for its pods.
func (s *step) initialized(c cluster.Claim) time.Time {
	return c.Created.Add(2 * s.in.Policy.RegistrationTimeout)
}

// kept says whether the node is up and only the daemon's own taint keeps pods
// away.
func (s *step) kept(n cluster.Node, c cluster.Claim) bool {
	return s.usable(n, c) && slices.Contains(n.Taints, s.in.Policy.StartupTaint)
}

// usable says whether pods could run on the node but for the daemon's own taint.
func (s *step) usable(n cluster.Node, c cluster.Claim) bool {
	if !n.Ready || !c.Registered {
		return false
	}
	if slices.ContainsFunc(c.Requests.Extended, func(a quantity.Amount) bool { return n.Allocatable.Get(a.Name) == 0 }) {
		return false // a device that its pods need has not been reported
	}
	return !slices.ContainsFunc(n.Taints, func(t cluster.Taint) bool {
		return t != s.in.Policy.StartupTaint && !slices.Contains(c.Taints, t) && t.Effect != cluster.PreferNoSchedule
	})
}

func (s *step) claimHost(c cluster.Claim) *host {
	s.trace.Hosts++
	h := &host{stage: stageComing, claim: c, taints: c.Taints}
	daemons := s.in.Snapshot.Supply().DaemonSets
	if c.Launched {
		h.labels = []label.Lookup{c.Labels}
		room := s.attachableOf(c.Allocatable, c)
		h.free = room.Sub(fit.Overhead(daemons, c.Labels, c.Taints))
		h.most = room.Sub(fit.Overhead(fit.Certain(daemons), c.Labels, c.Taints))
		return h
	}
	h.stage = stageOrdered
	class, _ := s.in.Snapshot.Class(c.Class)
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
			room := s.attachable(t.Allocatable, &t)
			net := room.Sub(fit.Overhead(daemons, labels, c.Taints))
			h.most = h.most.Max(room.Sub(fit.Overhead(fit.Certain(daemons), labels, c.Taints)))
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
	return filter(c.Requirements, func(r label.Requirement) bool {
		_, own := c.Labels.Get(r.Key())
		return own || label.OfOffering(r.Key()) ||
			slices.ContainsFunc(class.Types, func(t catalog.InstanceType) bool { _, ok := t.Labels.Get(r.Key()); return ok })
	})
}
