package cluster

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Shape is all that a pod asks of the place where it runs. Pods of one
// namespace with equal shapes and labels are interchangeable to the packer.
type Shape struct {
	Requests        quantity.Resources   // including one pod slot, and slots to attach volumes (see AttachSlots)
	Selector        label.Requirements   // nodeSelector
	NodeAffinity    []label.Requirements // required node affinity: any of these; none means no restriction
	Preferred       []Preference         // preferred node affinity
	Tolerations     []Toleration
	Priority        int32
	Spread          []Spread  // topologySpreadConstraints
	PodAffinity     []PodTerm // podAffinity
	PodAntiAffinity []PodTerm // podAntiAffinity
	Ports           []HostPort
	// Volumes has one entry for each volume that is tied to a place. The node must
	// meet one of the alternatives of every entry.
	Volumes [][]label.Requirements
	Gang    Gang
	// Unsupported names hard constraints of the pod that the core does not carry
	// out, and objects that the pod needs and that are missing or broken. A pod
	// with such an entry is never placed; the entry is the reason that users see.
	Unsupported []string
}

// Alternatives returns conjunctions of which a node must meet at least one. Each
// is the selector together with one affinity term.
func (s Shape) Alternatives() []label.Requirements {
	if len(s.NodeAffinity) == 0 {
		return []label.Requirements{s.Selector}
	}
	out := make([]label.Requirements, len(s.NodeAffinity))
	for i, t := range s.NodeAffinity {
		out[i] = s.Selector.And(t)
	}
	return out
}
