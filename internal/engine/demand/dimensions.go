package demand

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Dimensions maps resources to the packer's vectors.
type Dimensions struct {
	Extended []string
	Slots    []string // slots to attach volumes, if their number is known
}

// WithSlots returns the dimensions with these slots to attach volumes.
func (d Dimensions) WithSlots(names []string) Dimensions {
	d.Slots = append(d.Slots, names...)
	return d
}

// DimensionsOf returns the dimensions of all resources that the classes ask for.
// Slots to attach volumes are not among them; WithSlots adds them.
func DimensionsOf(classes []*Class) Dimensions {
	var d Dimensions
	for _, c := range classes {
		for _, a := range c.Shape().Requests.Extended {
			if !cluster.IsAttachSlots(a.Name) {
				d.Extended = append(d.Extended, a.Name)
			}
		}
	}
	slices.Sort(d.Extended)
	d.Extended = slices.Compact(d.Extended)
	return d
}

// Vector returns the resources as a vector of the dimensions.
func (d Dimensions) Vector(r quantity.Resources) []int64 {
	v := make([]int64, 4+len(d.Extended)+len(d.Slots))
	v[0], v[1], v[2], v[3] = r.MilliCPU, r.MemoryBytes, r.EphemeralBytes, r.PodSlots
	for i, name := range d.Extended {
		v[4+i] = r.Get(name)
	}
	for i, name := range d.Slots {
		v[4+len(d.Extended)+i] = r.Get(name)
	}
	return v
}

// SlotsLacking returns the first kind of slots of which the room has fewer than are
// used; nil if there is none.
func (d Dimensions) SlotsLacking(used, room []int64) *quantity.Shortage {
	for i, name := range d.Slots {
		if need, free := used[4+len(d.Extended)+i], room[4+len(d.Extended)+i]; need > free {
			return &quantity.Shortage{Resource: name, Need: need, Free: free}
		}
	}
	return nil
}

// Resources returns the resources of a vector, without slots.
func (d Dimensions) Resources(v []int64) quantity.Resources {
	r := quantity.Resources{MilliCPU: v[0], MemoryBytes: v[1], EphemeralBytes: v[2], PodSlots: v[3]}
	for i, name := range d.Extended {
		if n := v[4+i]; n > 0 {
			r.Extended = append(r.Extended, quantity.Amount{Name: name, Count: n})
		}
	}
	return r
}

// Names returns the resource name of each entry of a vector, without slots.
func (d Dimensions) Names() []string {
	return append([]string{quantity.CPU, quantity.Memory, quantity.EphemeralStorage, quantity.Pods}, d.Extended...)
}
