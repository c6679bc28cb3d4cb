package offer

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Variety counts the different values that rows have of the labels of which minValues asks
// for several. A launch that may become any of the rows has these values.
type Variety struct {
	asked  []cluster.MinValues
	values []map[string]bool // by the index of asked; nil where none is counted yet
}

// NewVariety returns the variety of no rows, of the labels that are asked for.
func NewVariety(asked []cluster.MinValues) *Variety {
	return &Variety{asked, make([]map[string]bool, len(asked))}
}

// Add counts the values that nodes of the row may have in the zones.
func (v *Variety) Add(r *Row, zones uint64) {
	for i := range v.asked {
		v.add(i, r, zones)
	}
}

func (v *Variety) add(i int, r *Row, zones uint64) {
	for x := range valuesOf(r, zones, v.asked[i].Key) {
		if v.values[i] == nil {
			v.values[i] = map[string]bool{}
		}
		v.values[i][x] = true
	}
}

// Count returns how many values there are of the i-th label.
func (v *Variety) Count(i int) int { return len(v.values[i]) }

// Has says whether there are as many values of the i-th label as are asked for.
func (v *Variety) Has(i int) bool { return v.Count(i) >= v.asked[i].Count }

// Enough says whether there are as many values of each label as are asked for.
func (v *Variety) Enough() bool {
	for i := range v.asked {
		if !v.Has(i) {
			return false
		}
	}
	return true
}

// Widens says whether the row has a value of the i-th label in the zones that is not counted.
func (v *Variety) Widens(i int, r *Row, zones uint64) bool {
	for x := range valuesOf(r, zones, v.asked[i].Key) {
		if !v.values[i][x] {
			return true
		}
	}
	return false
}

// Attained returns what is asked for, but for no more values than are counted.
func (v *Variety) Attained() []cluster.MinValues {
	out := slices.Clone(v.asked)
	for i := range out {
		out[i].Count = min(out[i].Count, v.Count(i))
	}
	return out
}

// valuesOf returns the values of the label that nodes of the row may have in the zones. A
// launch has one capacity type, as EC2 is asked for one at a time. So as with Karpenter, those
// count in which the pool can have the instance type.
func valuesOf(r *Row, zones uint64, key string) iter.Seq[string] {
	if key == label.CapacityType && r.Zones&zones != 0 {
		return slices.Values(r.PaidAs)
	}
	return func(yield func(string) bool) {
		for m := r.Zones & zones; m != 0; m &= m - 1 {
			if x, has := r.Labels(bits.TrailingZeros64(m)).Get(key); has && !yield(x) {
				return
			}
		}
	}
}

// VariedAlone says whether nodes of the row alone have in the zones as many values as the
// pool's minValues asks for of the labels that the offering decides. A launch asks for zones of
// its best row only, so no other row can make up for that.
func VariedAlone(p *cluster.Pool, r *Row, zones uint64) bool {
	v := NewVariety(p.MinValues)
	for i, m := range p.MinValues {
		if !label.OfOffering(m.Key) {
			continue
		}
		if v.add(i, r, zones); !v.Has(i) {
			return false
		}
	}
	return true
}

// WantsZones says whether each launch of the pool must be able to ask for several zones.
func WantsZones(p *cluster.Pool) bool {
	return slices.ContainsFunc(p.MinValues, func(m cluster.MinValues) bool { return m.Key == label.Zone || m.Key == label.ZoneID })
}
