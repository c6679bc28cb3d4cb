package engine

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// dimensions maps resources to the packer's vectors.
type dimensions struct {
	extended []string
	slots    []string // to attach volumes, where their number is known
}

// withSlots adds slots to attach volumes.
func (d dimensions) withSlots(names []string) dimensions {
	d.slots = append(d.slots, names...)
	return d
}

// dimensionsOf lists the extended resources that the classes ask for. Slots to
// attach volumes are not among them; see withSlots.
func dimensionsOf(classes []*demandClass) dimensions {
	var d dimensions
	for _, c := range classes {
		for _, a := range c.shape().Requests.Extended {
			if !cluster.IsAttachSlots(a.Name) {
				d.extended = append(d.extended, a.Name)
			}
		}
	}
	slices.Sort(d.extended)
	d.extended = slices.Compact(d.extended)
	return d
}

func (d dimensions) vector(r quantity.Resources) []int64 {
	v := make([]int64, 4+len(d.extended)+len(d.slots))
	v[0], v[1], v[2], v[3] = r.MilliCPU, r.MemoryBytes, r.EphemeralBytes, r.PodSlots
	for i, name := range d.extended {
		v[4+i] = r.Get(name)
	}
	for i, name := range d.slots {
		v[4+len(d.extended)+i] = r.Get(name)
	}
	return v
}

// slotsLacking returns the first slots of which the room has fewer than used.
func (d dimensions) slotsLacking(used, room []int64) *quantity.Shortage {
	for i, name := range d.slots {
		if need, free := used[4+len(d.extended)+i], room[4+len(d.extended)+i]; need > free {
			return &quantity.Shortage{Resource: name, Need: need, Free: free}
		}
	}
	return nil
}

// resources are those of a vector, slots aside.
func (d dimensions) resources(v []int64) quantity.Resources {
	r := quantity.Resources{MilliCPU: v[0], MemoryBytes: v[1], EphemeralBytes: v[2], PodSlots: v[3]}
	for i, name := range d.extended {
		if n := v[4+i]; n > 0 {
			r.Extended = append(r.Extended, quantity.Amount{Name: name, Count: n})
		}
	}
	return r
}

// names are those of the vectors' places, slots aside.
func (d dimensions) names() []string {
	return append([]string{quantity.CPU, quantity.Memory, quantity.EphemeralStorage, quantity.Pods}, d.extended...)
}
