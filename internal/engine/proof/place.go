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
	forSale bool
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
		if len(d.Shape.Unsupported) == 0 && x.accepts(d.Shape, true) && x.reaches(d.Shape.Volumes, true) {
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
	return x.accepts(s, false) && x.reaches(s.Volumes, false)
}

// reaches says whether each volume can be had there, by one of its alternatives.
func (x place) reaches(volumes [][]label.Requirements, certain bool) bool {
	for _, alternatives := range volumes {
		if !x.meetsAny(alternatives, certain) {
			return false
		}
	}
	return true
}

func (x place) accepts(s cluster.Shape, certain bool) bool {
	if _, kept := cluster.Untolerated(x.taints, s.Tolerations); kept {
		return false
	}
	return x.meets(s.Selector, certain) && (len(s.Affinity) == 0 || x.meetsAny(s.Affinity, certain))
}

// meetsAny looks for a term that is met; one without requirements matches nothing
// (core/v1 NodeSelectorTerm).
func (x place) meetsAny(terms []label.Requirements, certain bool) bool {
	return slices.ContainsFunc(terms, func(rs label.Requirements) bool { return len(rs) > 0 && x.meets(rs, certain) })
}

// meets says whether the requirements can be met by some value of the open
// labels, or, if it must be certain, are met by every one.
func (x place) meets(rs label.Requirements, certain bool) bool {
	for _, r := range rs {
		open, isOpen := x.open.Get(r.Key())
		both := open
		if isOpen {
			both = open.Intersect(r)
		}
		switch {
		case isOpen && (both.Contradicts() || certain && both.Compare(open) != 0):
			return false
		case !isOpen && !r.MetBy(x.labels):
			return false
		}
	}
	return true
}
