package pack

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
)

// core is a problem in the form that the search works on: classes that differ
// in nothing but their key are one kind, offers are columns by zone without
// those that another one beats, and resources that nobody asks for are gone.
type core struct {
	p       *Problem
	dims    []int   // resources in use
	largest []int64 // capacity, per dimension
	shift   []uint  // amounts >> shift are units: below 2^unitBits
	kinds   []kind
	columns []column
	sample  []bool        // per column: searches begin with it
	shapes  []price.Class // what kinds differ in but their roles; counts are scratch
	first   []int         // per shape its first kind, and the end
	rules   []Rule
	single  int           // the dimension that countNodes has made of a rule; -1 where it has not
	cuts    int           // how many dimensions with larger units have been of use
	whole   *price.Prices // of the whole problem, where they are as good for steering
	whereOf []int         // per Problem.Where, its number among the distinct ones
	trace   Trace
}

type kind struct {
	members []int // classes, by index
	need    []int64
	units   []uint64 // need in units, rounded up
	size    uint64   // largest of the units
	count   int64
	where   int
	shape   int // index into core.shapes
	roles   []Role
	binds   bool
	single  bool   // a bin holds one of the kinds that have this
	worth   uint64 // nano-dollars an hour
	weight  uint64 // worth, more for big pods
	large   bool   // fits large offers only
}

// unitBits is how fine scores look at resources; contents are exact.
const unitBits = 21

func newCore(p *Problem) *core {
	c := &core{p: p, rules: p.Rules, single: -1}
	wheres := c.findKinds()
	apart := c.countNodes()
	c.findDims(apart)
	c.findColumns(wheres)
	c.dropBeaten()
	c.dropHomeless()
	c.findShapes()
	c.thin()
	c.trace.Columns = len(c.columns)
	return c
}

// findKinds merges equal classes. It returns the distinct places where classes
// may run, in an order that depends on nothing but them.
func (c *core) findKinds() []Where {
	p := c.p
	places := make(map[string]int)
	var keys []string
	whereKey := make([]string, len(p.Where))
	for i, w := range p.Where {
		b := make([]byte, 0, 8*len(p.Offers))
		for o := range p.Offers {
			var zones uint64
			if o < len(w.Zones) {
				zones = w.Zones[o] & p.Offers[o].sold()
			}
			b = binary.LittleEndian.AppendUint64(b, zones)
		}
		whereKey[i] = string(b)
		if _, ok := places[whereKey[i]]; !ok {
			places[whereKey[i]] = i
			keys = append(keys, whereKey[i])
		}
	}
	slices.Sort(keys)
	wheres := make([]Where, len(keys))
	of := make(map[string]int, len(keys))
	for i, k := range keys {
		wheres[i], of[k] = p.Where[places[k]], i
	}
	c.whereOf = make([]int, len(p.Where))
	for i, k := range whereKey {
		c.whereOf[i] = of[k]
	}
	index := make(map[string]int, len(p.Classes))
	c.kinds = make([]kind, 0, len(p.Classes))
	var key []byte
	for i, class := range p.Classes {
		if class.Count <= 0 || class.Where < 0 || class.Where >= len(p.Where) {
			continue
		}
		where := c.whereOf[class.Where]
		key = class.content(key[:0], where)
		at, ok := index[string(key)]
		if !ok {
			at = len(c.kinds)
			index[string(key)] = at
			k := kind{need: class.Need, where: where, roles: p.rolesOf(&class)}
			k.binds = slices.ContainsFunc(k.roles, func(r Role) bool { return r.Binds })
			c.kinds = append(c.kinds, k)
		}
		c.kinds[at].members = append(c.kinds[at].members, i)
		c.kinds[at].count = addCounts(c.kinds[at].count, class.Count)
	}
	c.sortKinds()
	return wheres
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

// sortKinds puts the kinds into an order of their content. Kinds that differ
// only in which rules they have a role in are told apart by their first key.
func (c *core) sortKinds() {
	slices.SortFunc(c.kinds, func(a, b kind) int {
		if by := cmp.Or(slices.Compare(b.need, a.need), cmp.Compare(a.where, b.where), cmp.Compare(b.count, a.count)); by != 0 {
			return by
		}
		return cmp.Compare(c.firstKey(a), c.firstKey(b))
	})
}

func (c *core) firstKey(k kind) string {
	first := c.p.Classes[k.members[0]].Key
	for _, i := range k.members[1:] {
		first = min(first, c.p.Classes[i].Key)
	}
	return first
}

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

// maxCount keeps sums and products of counts and sizes far from overflow.
const maxCount = 1 << 36

func addCounts(a, b int64) int64 { return min(maxCount, a+min(b, maxCount)) }

func (c *core) findDims(apart bool) {
	n := 0
	for i := range c.p.Offers {
		n = max(n, len(c.p.Offers[i].Net))
	}
	for i := range c.kinds {
		n = max(n, len(c.kinds[i].need))
	}
	for d := range n {
		needed := false
		for i := range c.kinds {
			needed = needed || d < len(c.kinds[i].need) && c.kinds[i].need[d] > 0
		}
		if needed {
			c.dims = append(c.dims, d)
		}
	}
	if apart {
		c.single, c.dims = n, append(c.dims, n)
	}
	c.largest = make([]int64, len(c.dims))
	for i := range c.p.Offers {
		o := &c.p.Offers[i]
		if o.sold() == 0 {
			continue
		}
		for j, d := range c.dims {
			c.largest[j] = max(c.largest[j], c.net(o, d))
		}
	}
	c.shift = make([]uint, len(c.dims))
	for d, n := range c.largest {
		c.shift[d] = uint(max(0, bits.Len64(uint64(n))-unitBits))
	}
	needs := make([]int64, len(c.kinds)*len(c.dims))
	for i := range c.kinds {
		k := &c.kinds[i]
		compact := needs[i*len(c.dims) : (i+1)*len(c.dims)]
		for j, d := range c.dims {
			compact[j] = max(0, valueAt(k.need, d))
		}
		if k.single {
			compact[len(compact)-1] = 1
		}
		k.need = compact
	}
}

// net is what the offer has in the dimension.
func (c *core) net(o *Offer, d int) int64 {
	if d == c.single {
		return 1
	}
	return max(0, valueAt(o.Net, d))
}

func valueAt(v []int64, i int) int64 {
	if i < len(v) {
		return v[i]
	}
	return 0
}

// dropHomeless leaves out kinds that fit nothing, and notes which fit only what
// is large.
func (c *core) dropHomeless() {
	kept := c.kinds[:0]
	for i := range c.kinds {
		k := &c.kinds[i]
		taken, small := false, false
		for j := 0; j < len(c.columns) && !small; j++ {
			col := &c.columns[j]
			if fits := (!taken || !col.large) && col.takes(k); fits {
				taken, small = true, !col.large
			}
		}
		if taken {
			k.large = !small
			kept = append(kept, *k)
		}
	}
	c.kinds = kept
	units := make([]uint64, len(c.kinds)*len(c.dims))
	for i := range c.kinds {
		k := &c.kinds[i]
		k.units = units[i*len(c.dims) : (i+1)*len(c.dims)]
		for d, n := range k.need {
			k.units[d] = uint64(n) >> c.shift[d]
			if k.units[d]<<c.shift[d] != uint64(n) {
				k.units[d]++
			}
			k.size = max(k.size, k.units[d]<<unitBits/max(1, uint64(c.largest[d])>>c.shift[d]))
		}
	}
}

// findShapes gathers kinds of equal need and place; kinds are sorted by both.
func (c *core) findShapes() {
	for i := range c.kinds {
		k := &c.kinds[i]
		if last := len(c.shapes) - 1; last < 0 || c.shapes[last].Signature != k.where || !slices.Equal(c.shapes[last].Need, k.need) {
			c.shapes, c.first = append(c.shapes, price.Class{Signature: k.where, Need: k.need}), append(c.first, i)
		}
		k.shape = len(c.shapes) - 1
	}
	c.first = append(c.first, len(c.kinds))
}
