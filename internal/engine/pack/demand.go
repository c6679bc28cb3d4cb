package pack

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
)

// demand is the pods to be placed, grouped twice. Classes that differ in nothing
// but their key are one kind. Kinds that differ in nothing but their roles have
// one shape, and stand together.
type demand struct {
	kinds  []kind
	shapes []price.Class // Signature is the place that prices count the shape to; Count is scratch
	first  []int         // per shape its first kind, and the end
	ruled  bool          // a rule binds some kind
}

// kind is a number of interchangeable pods.
type kind struct {
	members []int    // classes, by index
	need    []int64  // of one pod
	units   []uint64 // need in units, rounded up
	size    uint64   // the largest part of any resource, in 2^unitBits-ths
	count   int64
	where   int // place where it may run
	shape   int // index into demand.shapes
	roles   []Role
	binds   bool // a rule binds it
	single  bool // a bin holds one of the kinds that have this
	large   bool // fits large offers only
}

// mergeClasses makes one kind of equal classes. Places are numbered as given.
func mergeClasses(p *Problem, placeOf []int) []kind {
	index := make(map[string]int, len(p.Classes))
	kinds := make([]kind, 0, len(p.Classes))
	var key []byte
	for i, class := range p.Classes {
		if class.Count <= 0 || class.Where < 0 || class.Where >= len(p.Where) {
			continue
		}
		where := placeOf[class.Where]
		key = class.content(key[:0], where)
		at, ok := index[string(key)]
		if !ok {
			at = len(kinds)
			index[string(key)] = at
			k := kind{need: class.Need, where: where, roles: p.rolesOf(&class)}
			k.binds = slices.ContainsFunc(k.roles, func(r Role) bool { return r.Binds })
			kinds = append(kinds, k)
		}
		kinds[at].members = append(kinds[at].members, i)
		kinds[at].count = addCounts(kinds[at].count, class.Count)
	}
	sortKinds(kinds, p.Classes)
	return kinds
}

// content is the class without its key, in bytes.
func (class *Class) content(b []byte, where int) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(where))
	for _, n := range class.Need {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	for _, r := range class.Roles {
		b = binary.LittleEndian.AppendUint64(b, uint64(r.Rule)<<2|bit(r.Binds)<<1|bit(r.Counts))
	}
	return b
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// rolesOf is one role for each known rule.
func (p *Problem) rolesOf(class *Class) []Role {
	var out []Role
	for _, r := range class.Roles {
		if r.Rule < 0 || r.Rule >= len(p.Rules) || !r.Binds && !r.Counts {
			continue
		}
		i := slices.IndexFunc(out, func(o Role) bool { return o.Rule == r.Rule })
		if i < 0 {
			out = append(out, r)
			continue
		}
		out[i].Binds = out[i].Binds || r.Binds
		out[i].Counts = out[i].Counts || r.Counts
	}
	return out
}

// maxCount keeps sums and products of counts and sizes far from overflow.
const maxCount = 1 << 36

func addCounts(a, b int64) int64 { return min(maxCount, a+min(b, maxCount)) }

// sortKinds orders the kinds by their content. The first key breaks ties between
// kinds that differ only in the rules that they have a role in.
func sortKinds(kinds []kind, classes []Class) {
	firstKey := func(k *kind) string {
		first := classes[k.members[0]].Key
		for _, i := range k.members[1:] {
			first = min(first, classes[i].Key)
		}
		return first
	}
	slices.SortFunc(kinds, func(a, b kind) int {
		if by := cmp.Or(slices.Compare(b.need, a.need), cmp.Compare(a.where, b.where), cmp.Compare(b.count, a.count)); by != 0 {
			return by
		}
		return cmp.Compare(firstKey(&a), firstKey(&b))
	})
}

// newDemand keeps the kinds that some column holds, and expresses what they need
// in the resources in use.
func newDemand(kinds []kind, r *resources, columns []column) demand {
	d := demand{kinds: placeable(kinds, columns)}
	units := make([]uint64, len(d.kinds)*len(r.dims))
	for i := range d.kinds {
		k := &d.kinds[i]
		k.units = units[i*len(r.dims) : (i+1)*len(r.dims)]
		for j, n := range k.need {
			k.units[j] = r.units(j, n)
			if k.units[j]<<r.shift[j] != uint64(n) {
				k.units[j]++
			}
			k.size = max(k.size, k.units[j]<<unitBits/r.largestUnits(j))
		}
		d.ruled = d.ruled || k.binds
	}
	d.findShapes()
	return d
}

// placeable leaves out the kinds that no column holds. It marks the kinds that only
// large columns hold.
func placeable(kinds []kind, columns []column) []kind {
	rest := kinds[:0]
	for i := range kinds {
		k := &kinds[i]
		taken, small := false, false
		for j := 0; j < len(columns) && !small; j++ {
			col := &columns[j]
			if fits := (!taken || !col.large) && col.takes(k); fits {
				taken, small = true, !col.large
			}
		}
		if taken {
			k.large = !small
			rest = append(rest, *k)
		}
	}
	return rest
}

// findShapes gathers kinds of equal need and place. The kinds are sorted by both.
func (d *demand) findShapes() {
	for i := range d.kinds {
		k := &d.kinds[i]
		if last := len(d.shapes) - 1; last < 0 || d.shapes[last].Signature != k.where || !slices.Equal(d.shapes[last].Need, k.need) {
			d.shapes, d.first = append(d.shapes, price.Class{Signature: k.where, Need: k.need}), append(d.first, i)
		}
		k.shape = len(d.shapes) - 1
	}
	d.first = append(d.first, len(d.kinds))
}

// priceAs makes prices count the kinds of one place to another.
func (d *demand) priceAs(place, as int) {
	for i := range d.shapes {
		if d.shapes[i].Signature == place {
			d.shapes[i].Signature = as
		}
	}
}

// counted is the shapes with as many pods as are left of their kinds.
func (d *demand) counted(left []int64) []price.Class {
	for i := range d.shapes {
		d.shapes[i].Count = 0
	}
	for i := range d.kinds {
		shape := &d.shapes[d.kinds[i].shape]
		shape.Count = addCounts(shape.Count, left[i])
	}
	return d.shapes
}
