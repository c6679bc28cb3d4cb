package proof

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// place is one node as pods see it. The node exists or is to be launched.
type place struct {
	node   string // name of the node; "" for a new one
	labels label.Labels
	open   label.Requirements // requirements on labels that may get any value that these admit
	taints []cluster.Taint
	room   quantity.Resources
}

// openKeys are the pool's requirements on label keys that instance types do not
// have. A new node gets a value of such a key when it is launched for pods that
// ask for the value.
func openKeys(pool cluster.Pool, class cluster.Class) label.Requirements {
	var open label.Requirements
	for _, r := range pool.Requirements {
		fixed := label.OfOffering(r.Key()) ||
			slices.ContainsFunc(class.Types, func(t catalog.InstanceType) bool { _, ok := t.Labels.Get(r.Key()); return ok })
		if _, ok := pool.Labels.Get(r.Key()); !ok && !fixed {
			open = append(open, r)
		}
	}
	return open
}

// overhead is what DaemonSets are still to take of the place, if they are certain to run
// there. used is what pods of each have, by UID.
func (p *proof) overhead(x place, used map[string]quantity.Resources) quantity.Resources {
	var sum quantity.Resources
	for _, d := range p.objects.DaemonSets {
		if len(d.Shape.Unsupported) == 0 && x.accepts(d.Shape, true) {
			sum = sum.Add(d.Shape.Requests.Sub(used[d.UID]).Max(quantity.Resources{}))
		}
	}
	return sum
}

// holds says whether the place may take one pod of the shape, by the pod's size
// and by the rules between this pod and the node alone.
func (x place) holds(s cluster.Shape) bool {
	if lacking := s.Requests.Lacking(x.room); slices.ContainsFunc(lacking, func(l quantity.Shortage) bool { return !cluster.IsAttachSlots(l.Resource) }) {
		return false
	}
	return x.accepts(s, false)
}

// accepts says whether taints, labels and volumes allow a pod of the shape.
func (x place) accepts(s cluster.Shape, certain bool) bool {
	if _, untolerated := cluster.Untolerated(x.taints, s.Tolerations); untolerated || !x.selected(s, certain) {
		return false
	}
	return !slices.ContainsFunc(s.Volumes, func(v []label.Requirements) bool { return !x.meetsAny(v, certain) })
}

// selected says whether the node selector and the node affinity of the shape allow
// the place.
func (x place) selected(s cluster.Shape, certain bool) bool {
	return x.meets(s.Selector, certain) && (len(s.NodeAffinity) == 0 || x.meetsAny(s.NodeAffinity, certain))
}

// meetsAny says whether the place meets one of several alternatives. It never
// meets an alternative without requirements (core/v1 NodeSelectorTerm).
func (x place) meetsAny(alternatives []label.Requirements, certain bool) bool {
	return slices.ContainsFunc(alternatives, func(rs label.Requirements) bool { return len(rs) > 0 && x.meets(rs, certain) })
}

// meets says whether some value of the open labels meets the requirements. With
// certain, it says whether every value does.
func (x place) meets(rs label.Requirements, certain bool) bool {
	for _, r := range rs {
		open, isOpen := x.open.Get(r.Key())
		if !isOpen && !r.MetBy(x.labels) {
			return false
		}
		if isOpen {
			both := open.Intersect(r)
			if both.Contradicts() || certain && both.Compare(open) != 0 {
				return false
			}
		}
	}
	return true
}
