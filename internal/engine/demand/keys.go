package demand

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// KeysOf lists the node labels that the shape looks at, with repetitions.
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

// PlaceKey is equal for levels that may run in the same places, other pods aside.
func PlaceKey(s *cluster.Shape, avoid bool) string {
	if !avoid && len(s.Selector)+len(s.NodeAffinity)+len(s.Tolerations)+len(s.Volumes)+len(s.Ports)+len(s.Unsupported) == 0 {
		return "" // as most are
	}
	only := cluster.Shape{Selector: s.Selector, NodeAffinity: s.NodeAffinity, Tolerations: s.Tolerations, Volumes: s.Volumes, Ports: s.Ports, Unsupported: s.Unsupported}
	key := only.Key()
	if avoid {
		key += "|avoid"
	}
	return key
}

// WithoutAttach drops the slots to attach volumes.
func WithoutAttach(r quantity.Resources) quantity.Resources {
	r.Extended = pick.Those(r.Extended, func(a quantity.Amount) bool { return !cluster.IsAttachSlots(a.Name) })
	return r
}
