package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
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
	node   cluster.Node   // zero while there is none
	claim  cluster.Claim  // zero for nodes that are not ours
	labels []label.Lookup // a pod must accept all of them: one, or one for each type it may become
	taints []cluster.Taint
	free   quantity.Resources

	pods      []cluster.Pod // assigned: pending pods, in order of assignment
	displaced int64
	declared  int64
}

func (h host) name() string {
	if h.node.Name != "" {
		return h.node.Name
	}
	return h.claim.Name
}

func (h host) demand() int64 { return int64(len(h.pods)) + h.displaced + h.declared }

func (h host) accepts(shape cluster.Shape) bool {
	return len(shape.Unsupported) == 0 &&
		!slices.ContainsFunc(h.labels, func(l label.Lookup) bool { return !fit.Node(shape, l, h.taints) })
}

// gatherHosts collects the nodes and NodeClaims that can take pods. One that is
// cordoned, goes, or was up and is not Ready is not among them.
func (s *step) gatherHosts() {
	claimed := map[string]cluster.Claim{}
	for _, c := range s.in.Snapshot.Claims() {
		if c.Node != "" {
			claimed[c.Node] = c
		}
	}
	for _, n := range s.in.Snapshot.Nodes() {
		c := claimed[n.Name]
		if c.Name == "" && n.Claim != "" {
			c, _ = s.in.Snapshot.Claim(n.Claim)
			claimed[n.Name] = c
		}
		if h, ok := s.nodeHost(n, c); ok {
			s.hosts = append(s.hosts, h)
		}
	}
	for _, c := range s.in.Snapshot.Claims() {
		if _, up := s.in.Snapshot.Node(c.Node); up || c.Deleting || c.Interruption != nil {
			continue
		}
		s.hosts = append(s.hosts, s.claimHost(c))
	}
	slices.SortFunc(s.hosts, func(a, b host) int {
		return cmp.Or(cmp.Compare(a.stage, b.stage), strings.Compare(a.name(), b.name()))
	})
	s.trace.Hosts = len(s.hosts)
}

func (s *step) nodeHost(n cluster.Node, c cluster.Claim) (host, bool) {
	if n.Cordoned || n.Deleting || c.Deleting || c.Interruption != nil {
		return host{}, false
	}
	h := host{stage: stageNode, node: n, claim: c, labels: []label.Lookup{n.Labels}, taints: n.Taints}
	switch {
	case c.Name == "" || c.Initialized:
		if !n.Ready {
			return host{}, false
		}
	case s.kept(n, c):
		h.stage, h.taints = stageKept, c.Taints
	default:
		// Still starting: what the NodeClaim promises holds, not yet what the
		// kubelet has reported.
		h.stage, h.taints = stageComing, c.Taints
		h.labels[0] = c.Labels.Merge(n.Labels)
	}
	capacity := n.Allocatable
	if h.stage == stageComing && capacity.MilliCPU == 0 {
		capacity = c.Allocatable
	}
	h.free = capacity
	daemons := quantity.Resources{}
	for _, p := range s.in.Snapshot.PodsOn(n.Name) {
		h.free = h.free.Sub(p.Shape.Requests)
		if p.Owner.Kind == "DaemonSet" {
			daemons = daemons.Add(p.Shape.Requests)
		}
	}
	// DaemonSet pods that are still to come keep their share.
	missing := fit.Overhead(s.in.Snapshot.DaemonSets(), h.labels[0], h.taints).Sub(daemons)
	h.free = h.free.Sub(missing.Max(quantity.Resources{}))
	return h, true
}

// kept says whether the node is up and only the daemon's own taint keeps pods
// away.
func (s *step) kept(n cluster.Node, c cluster.Claim) bool {
	if !n.Ready || !c.Registered || !slices.Contains(n.Taints, s.in.Policy.StartupTaint) {
		return false
	}
	return !slices.ContainsFunc(n.Taints, func(t cluster.Taint) bool {
		return t != s.in.Policy.StartupTaint && !slices.Contains(c.Taints, t) && t.Effect != cluster.PreferNoSchedule
	})
}

func (s *step) claimHost(c cluster.Claim) host {
	h := host{stage: stageComing, claim: c, taints: c.Taints}
	daemons := s.in.Snapshot.DaemonSets()
	if c.Launched {
		h.labels = []label.Lookup{c.Labels}
		h.free = c.Allocatable.Sub(fit.Overhead(daemons, c.Labels, c.Taints))
		return h
	}
	h.stage = stageOrdered
	class, _ := s.in.Snapshot.Class(c.Class)
	first := true
	for _, t := range class.Types {
		if !carries(c.Requirements, label.InstanceType, t.Name) {
			continue
		}
		net := t.Allocatable.Sub(fit.Overhead(daemons, &label.Layers{c.Labels, t.Labels}, c.Taints))
		for _, o := range t.Offerings {
			if carries(c.Requirements, label.Zone, o.Zone) && carries(c.Requirements, label.CapacityType, o.CapacityType) {
				h.labels = append(h.labels, &label.Layers{c.Labels, t.Labels, offeringLabels(o)})
			}
		}
		if first {
			h.free, first = net, false
		} else {
			h.free = h.free.Min(net)
		}
	}
	return h
}

func carries(rs label.Requirements, key, value string) bool {
	r, ok := rs.Get(key)
	return !ok || r.Admits(value)
}

// offeringLabels are the labels that a node has by how it was bought.
func offeringLabels(o catalog.Offering) label.Labels {
	l := make(label.Labels, 0, 3)
	l = append(l, label.Label{Key: label.CapacityType, Value: o.CapacityType})
	if o.ZoneID != "" {
		l = append(l, label.Label{Key: label.ZoneID, Value: o.ZoneID})
	}
	return append(l, label.Label{Key: label.Zone, Value: o.Zone})
}
