package proof

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// place is one node as pods see it, there or to be launched.
type place struct {
	node    string // its name; "" for one to come
	forSale bool   // to be launched
	labels  label.Labels
	open    label.Requirements // on labels that may get any value these admit
	taints  []cluster.Taint
	room    quantity.Resources
}

// openKeys are the pool's requirements on keys that instance types say nothing
// about. A node gets a value of them when it is launched for pods that ask.
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

// overhead is what the DaemonSets take that are certain to run on the place.
func (p *proof) overhead(x place) quantity.Resources {
	var sum quantity.Resources
	for _, d := range p.objects.DaemonSets {
		if len(d.Shape.Unsupported) == 0 && x.accepts(d.Shape, true) {
			sum = sum.Add(d.Shape.Requests)
		}
	}
	return sum
}

// holds says whether the place may take one pod of the shape: its size and the
// rules that are between the two alone.
func (x place) holds(s cluster.Shape) bool {
	if lacking := s.Requests.Lacking(x.room); slices.ContainsFunc(lacking, func(l quantity.Shortage) bool { return !cluster.IsAttachSlots(l.Resource) }) {
		return false
	}
	return x.accepts(s, false)
}

// accepts says whether taints, labels and volumes allow a pod of the shape. Of
// several alternatives one must be met; one without requirements never is
// (core/v1 NodeSelectorTerm).
func (x place) accepts(s cluster.Shape, certain bool) bool {
	if _, kept := cluster.Untolerated(x.taints, s.Tolerations); kept || !x.meets(s.Selector, certain) {
		return false
	}
	needs := slices.Clone(s.Volumes)
	if len(s.Affinity) > 0 {
		needs = append(needs, s.Affinity)
	}
	met := func(rs label.Requirements) bool { return len(rs) > 0 && x.meets(rs, certain) }
	return !slices.ContainsFunc(needs, func(alternatives []label.Requirements) bool { return !slices.ContainsFunc(alternatives, met) })
}

// meets says whether the requirements can be met by some value of the open
// labels, or, if it must be certain, are met by every one.
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
