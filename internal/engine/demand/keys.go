package demand

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// KeysOf returns the keys of the node labels that the shape looks at, with
// repetitions.
func KeysOf(s *cluster.Shape) []string {
	var out []string
	add := func(rs label.Requirements) {
		for _, r := range rs {
			out = append(out, r.Key())
		}
	}
	add(s.Selector)
	for _, t := range s.NodeAffinity {
		add(t)
	}
	for _, alternatives := range s.Volumes {
		for _, t := range alternatives {
			add(t)
		}
	}
	for _, t := range s.Spread {
		out = append(out, t.Key)
	}
	for _, t := range s.PodAffinity {
		out = append(out, t.Key)
	}
	for _, t := range s.PodAntiAffinity {
		out = append(out, t.Key)
	}
	return out
}

// PlaceKey returns a key that is equal for shapes that may run in the same places,
// as far as taints, labels, volumes and ports decide it. The flag avoid is
// Level.Avoid.
func PlaceKey(s *cluster.Shape, avoid bool) string {
	if !avoid && len(s.Selector)+len(s.NodeAffinity)+len(s.Tolerations)+len(s.Volumes)+len(s.Ports)+len(s.Unsupported) == 0 {
		return "" // the common case
	}
	only := cluster.Shape{Selector: s.Selector, NodeAffinity: s.NodeAffinity, Tolerations: s.Tolerations, Volumes: s.Volumes, Ports: s.Ports, Unsupported: s.Unsupported}
	key := only.Key()
	if avoid {
		key += "|avoid"
	}
	return key
}

// PlacesOf lists the places that classes ask for with their requirements: one level for
// each PlaceKey, in the order of the classes. It returns the number of each class's own
// in that list.
func PlacesOf(classes []*Class) (levels []*Level, of []int) {
	number := map[string]int{}
	of = make([]int, len(classes))
	for i, c := range classes {
		l := &c.Levels[c.Last()]
		key := PlaceKey(&l.Shape, false)
		n, known := number[key]
		if !known {
			n = len(levels)
			number[key], levels = n, append(levels, l)
		}
		of[i] = n
	}
	return levels, of
}

// WithoutAttach returns the resources without the slots to attach volumes.
func WithoutAttach(r quantity.Resources) quantity.Resources {
	r.Extended = pick.Those(r.Extended, func(a quantity.Amount) bool { return !cluster.IsAttachSlots(a.Name) })
	return r
}
