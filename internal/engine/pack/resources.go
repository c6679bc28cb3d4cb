package pack

import "math/bits"

// resources are the dimensions that some pod needs, and how scores count them.
// Contents are exact. Scores count in units, which are small numbers.
type resources struct {
	dims    []int   // the dimensions, as the problem numbers them
	largest []int64 // per dimension, the most that an offer for sale has
	shift   []uint  // per dimension: amounts >> shift are units, below 2^unitBits
	single  int     // the dimension that countNodes made of a rule, or -1
}

// unitBits is how many bits the units of the largest offer have.
const unitBits = 21

// newResources finds the dimensions in use. With counted, one more dimension
// counts nodes; see countNodes.
func newResources(p *Problem, kinds []kind, counted bool) resources {
	r := resources{single: -1}
	n := 0
	for i := range p.Offers {
		n = max(n, len(p.Offers[i].Net))
	}
	for i := range kinds {
		n = max(n, len(kinds[i].need))
	}
	for d := range n {
		needed := false
		for i := range kinds {
			needed = needed || d < len(kinds[i].need) && kinds[i].need[d] > 0
		}
		if needed {
			r.dims = append(r.dims, d)
		}
	}
	if counted {
		r.single, r.dims = n, append(r.dims, n)
	}
	r.largest = make([]int64, len(r.dims))
	for i := range p.Offers {
		o := &p.Offers[i]
		if o.sold() == 0 {
			continue
		}
		for j, d := range r.dims {
			r.largest[j] = max(r.largest[j], r.net(o, d))
		}
	}
	r.shift = make([]uint, len(r.dims))
	for d, n := range r.largest {
		r.shift[d] = uint(max(0, bits.Len64(uint64(n))-unitBits))
	}
	return r
}

// compact lists what the kinds need by dimension in use.
func (r *resources) compact(kinds []kind) {
	needs := make([]int64, len(kinds)*len(r.dims))
	for i := range kinds {
		k := &kinds[i]
		need := needs[i*len(r.dims) : (i+1)*len(r.dims)]
		for j, d := range r.dims {
			need[j] = max(0, valueAt(k.need, d))
		}
		if k.single {
			need[len(need)-1] = 1
		}
		k.need = need
	}
}

// net is what the offer has in the problem's dimension.
func (r *resources) net(o *Offer, d int) int64 {
	if d == r.single {
		return 1
	}
	return max(0, valueAt(o.Net, d))
}

// units is the amount in units, rounded down.
func (r *resources) units(d int, amount int64) uint64 { return uint64(amount) >> r.shift[d] }

// largestUnits is the most units that an offer for sale has, at least 1.
func (r *resources) largestUnits(d int) uint64 { return max(1, r.units(d, r.largest[d])) }

// proportion is equal for columns that have about the same share of each
// resource for their share of the first.
func (r *resources) proportion(col *column) int {
	n := 0
	for d := range r.dims {
		share := r.units(d, col.room[d]) << 10 / r.largestUnits(d)
		first := r.units(0, col.room[0]) << 10 / r.largestUnits(0)
		n = n*64 + bits.Len64(share<<10/max(1, first))
	}
	return n
}

func valueAt(v []int64, i int) int64 {
	if i < len(v) {
		return v[i]
	}
	return 0
}
