package certify

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// exclusive is a set of pods that need a node each, for one of three reasons. All
// pods of the set take one host port. Or all have one required anti-affinity, over
// hostnames or zones, that selects all of them. Or all are of one class that is
// spread over zones, so that some zones must receive a pod. One pod in each such zone
// needs its own node. The bound treats a set as a resource of which each node has one
// unit.
type exclusive struct {
	key     string            // identifies the rule
	port    *cluster.HostPort // one of port, term and spread is set
	term    *cluster.PodTerm
	spread  *cluster.Spread
	members []*demand.Class
	pods    int64 // members that need a node each
}

// mostExclusive is how many sets a bound looks at, the largest first. A small set
// seldom needs more nodes than all pods do together.
const mostExclusive = 16

// exclusiveOf returns the sets of the demand that share a port or an anti-affinity.
func exclusiveOf(classes []*demand.Class) []exclusive {
	var all []exclusive
	index := map[string]int{}
	enter := func(x exclusive, c *demand.Class) {
		i, known := index[x.key]
		if !known {
			i, index[x.key] = len(all), len(all)
			all = append(all, x)
		}
		if set := &all[i]; len(set.members) == 0 || set.members[len(set.members)-1] != c {
			set.members = append(set.members, c)
			set.pods += min(c.Placed(), math.MaxInt64-set.pods)
		}
	}
	for _, c := range classes {
		shape := &c.Group.Shape
		for i := range shape.Ports {
			enter(exclusive{key: cluster.Shape{Ports: shape.Ports[i : i+1]}.Key(), port: &shape.Ports[i]}, c)
		}
		for i := range shape.PodAntiAffinity {
			x := exclusive{term: &shape.PodAntiAffinity[i]}
			if x.term.Weight == 0 && (x.term.Key == label.Hostname || x.term.Key == label.Zone) && x.repels(c.Group) {
				x.key = cluster.Shape{PodAntiAffinity: shape.PodAntiAffinity[i : i+1]}.Key()
				enter(x, c)
			}
		}
	}
	return all
}

// largest returns the sets that a bound looks at. Of several sets with the same
// classes it keeps one.
func largest(all []exclusive) []exclusive {
	slices.SortFunc(all, func(a, b exclusive) int { return cmp.Or(cmp.Compare(b.pods, a.pods), cmp.Compare(a.key, b.key)) })
	var out []exclusive
	for _, x := range all {
		same := func(o exclusive) bool { return slices.Equal(o.members, x.members) }
		if x.pods > 1 && len(out) < mostExclusive && !slices.ContainsFunc(out, same) {
			out = append(out, x)
		}
	}
	return out
}

// repels says whether a pod of the group on a node keeps the pods of the set away.
// It looks only at the namespaces that the term lists, because the labels of
// namespaces may change.
func (x *exclusive) repels(g *cluster.Group) bool {
	switch {
	case x.port != nil:
		return slices.ContainsFunc(g.Shape.Ports, x.port.Conflicts)
	case x.term != nil:
		return slices.Contains(x.term.Namespaces, g.Namespace) && x.term.Selector.Selects(g.Labels)
	}
	return false
}

// room returns how many pods of the set the host may take. A term does not restrict
// a node that lacks its label, but a node to come will have a hostname.
func (x *exclusive) room(h *room.Host) int64 {
	free := x.term != nil && (h.State != nil || x.term.Key != label.Hostname) &&
		slices.ContainsFunc(h.Labels, func(l label.Lookup) bool { _, named := l.Get(x.term.Key); return !named })
	switch {
	case free:
		return max(0, h.Most.PodSlots)
	case h.State == nil:
		return 1
	}
	for g, n := range h.State.Groups() {
		if n > 0 && x.repels(g) {
			return 0
		}
	}
	return 1
}
