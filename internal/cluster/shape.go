package cluster

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Shape is all that a pod asks of the place where it runs. Pods of one
// namespace with equal shapes and labels are interchangeable to the packer.
type Shape struct {
	Requests    quantity.Resources   // including one pod slot, and slots to attach volumes (see AttachSlots)
	Selector    label.Requirements   // nodeSelector
	Affinity    []label.Requirements // required node affinity: any of these; none means no restriction
	Preferred   []Preference         // preferred node affinity
	Tolerations []Toleration
	Priority    int32
	Spread      []Spread  // topologySpreadConstraints
	Together    []PodTerm // podAffinity
	Apart       []PodTerm // podAntiAffinity
	Ports       []HostPort
	// Volumes has one entry for each volume that is tied to a place: the node
	// must meet any of its alternatives.
	Volumes [][]label.Requirements
	Gang    Gang
	// Unsupported names hard constraints of the pod that the core does not carry
	// out, and objects it needs that are missing or broken; a pod that has one is
	// never placed and says so.
	Unsupported []string
}

// Alternatives returns the conjunctions of which a node must meet one: the
// selector together with each affinity term.
func (s Shape) Alternatives() []label.Requirements {
	if len(s.Affinity) == 0 {
		return []label.Requirements{s.Selector}
	}
	out := make([]label.Requirements, len(s.Affinity))
	for i, t := range s.Affinity {
		out[i] = s.Selector.And(t)
	}
	return out
}
