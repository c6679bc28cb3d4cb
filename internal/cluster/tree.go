package cluster

import (
	"iter"
	"slices"
)

// Sizes of a page. A full page is split. A thin page is joined with a neighbour
// where the two together leave room to grow.
const (
	pageFull = 64
	pageGood = 48
	pageThin = 16
)

// edit marks the pages that one change has made. Nobody else has seen these
// pages, so this change may write to them, and no other change may.
type edit struct{ _ byte } // not empty, so that each has an address of its own

// tree is a persistent map, sorted by key. It is a value: put and remove return
// the changed tree and leave the old tree as it was. They copy the pages on the
// way from the root to the key, and share all other pages. The zero value is
// empty.
type tree[V any] struct {
	root *page[V]
	size int
}

// page is a leaf with values, or a branch with kids. In a branch, each key is
// the least key below the kid with the same index.
type page[V any] struct {
	edit   *edit
	keys   []string
	values []V
	kids   []*page[V]
}

func (t tree[V]) get(key string) (value V, found bool) {
	p := t.root
	if p == nil {
		return value, false
	}
	for p.kids != nil {
		p = p.kids[p.under(key)]
	}
	if i, found := p.find(key); found {
		return p.values[i], true
	}
	return value, false
}

func (t tree[V]) put(e *edit, key string, v V) tree[V] {
	if t.root == nil {
		return tree[V]{&page[V]{edit: e, keys: []string{key}, values: []V{v}}, 1}
	}
	root, right, added := t.root.put(e, key, v)
	if right != nil {
		root = &page[V]{edit: e, keys: []string{root.keys[0], right.keys[0]}, kids: []*page[V]{root, right}}
	}
	t.root = root
	if added {
		t.size++
	}
	return t
}

func (t tree[V]) remove(e *edit, key string) tree[V] {
	if _, there := t.get(key); !there {
		return t
	}
	root := t.root.remove(e, key)
	for len(root.kids) == 1 {
		root = root.kids[0]
	}
	if len(root.keys) == 0 {
		return tree[V]{}
	}
	return tree[V]{root, t.size - 1}
}

// all goes through the tree in the order of the keys.
func (t tree[V]) all() iter.Seq2[string, V] { return t.from("") }

// from begins at the first key that is not less than start.
func (t tree[V]) from(start string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		if t.root != nil {
			t.root.walk(start, yield)
		}
	}
}

// list returns the values in the order of their keys.
func (t tree[V]) list() []V {
	out := make([]V, 0, t.size)
	for _, v := range t.all() {
		out = append(out, v)
	}
	return out
}

// grow builds a tree of sorted, distinct keys.
func grow[V any](keys []string, values []V) tree[V] {
	if len(keys) == 0 {
		return tree[V]{}
	}
	var level []*page[V]
	for i := 0; i < len(keys); i += pageGood {
		j := min(i+pageGood, len(keys))
		level = append(level, &page[V]{keys: keys[i:j:j], values: values[i:j:j]})
	}
	for len(level) > 1 {
		var above []*page[V]
		for kids := range slices.Chunk(level, pageGood) {
			p := &page[V]{kids: kids}
			for _, k := range kids {
				p.keys = append(p.keys, k.keys[0])
			}
			above = append(above, p)
		}
		level = above
	}
	return tree[V]{level[0], len(keys)}
}

// find returns where the key is, or where it belongs.
func (p *page[V]) find(key string) (int, bool) {
	low, high := 0, len(p.keys)
	for low < high {
		if mid := int(uint(low+high) >> 1); p.keys[mid] < key {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, low < len(p.keys) && p.keys[low] == key
}

// under returns the kid below which the key is or belongs.
func (p *page[V]) under(key string) int {
	i, found := p.find(key)
	if found || i == 0 {
		return i
	}
	return i - 1
}

// own returns the page itself where this change made the page, otherwise a copy.
func (p *page[V]) own(e *edit) *page[V] {
	if p.edit == e {
		return p
	}
	q := &page[V]{edit: e, keys: copied(p.keys)}
	if p.kids != nil {
		q.kids = copied(p.kids)
	} else {
		q.values = copied(p.values)
	}
	return q
}

// copied copies a list with room for one more.
func copied[T any](in []T) []T { return append(make([]T, 0, len(in)+1), in...) }

// put returns the page with the key, and the page that was split off to its
// right, if any.
func (p *page[V]) put(e *edit, key string, v V) (self, right *page[V], added bool) {
	p = p.own(e)
	if p.kids == nil {
		i, found := p.find(key)
		if found {
			p.values[i] = v
			return p, nil, false
		}
		p.keys, p.values = slices.Insert(p.keys, i, key), slices.Insert(p.values, i, v)
		return p, p.split(), true
	}
	i := p.under(key)
	kid, right, added := p.kids[i].put(e, key, v)
	p.kids[i], p.keys[i] = kid, kid.keys[0]
	if right == nil {
		return p, nil, added
	}
	p.keys, p.kids = slices.Insert(p.keys, i+1, right.keys[0]), slices.Insert(p.kids, i+1, right)
	return p, p.split(), added
}

func (p *page[V]) split() *page[V] {
	if len(p.keys) <= pageFull {
		return nil
	}
	half := len(p.keys) / 2
	right := &page[V]{edit: p.edit, keys: copied(p.keys[half:])}
	if p.kids != nil {
		right.kids = copied(p.kids[half:])
		p.kids = slices.Delete(p.kids, half, len(p.kids))
	} else {
		right.values = copied(p.values[half:])
		p.values = slices.Delete(p.values, half, len(p.values))
	}
	p.keys = slices.Delete(p.keys, half, len(p.keys))
	return right
}

// remove returns the page without the key, which must be there. The page may be
// empty afterwards.
func (p *page[V]) remove(e *edit, key string) *page[V] {
	p = p.own(e)
	if p.kids == nil {
		i, _ := p.find(key)
		p.keys, p.values = slices.Delete(p.keys, i, i+1), slices.Delete(p.values, i, i+1)
		return p
	}
	i := p.under(key)
	kid := p.kids[i].remove(e, key)
	if len(kid.keys) == 0 {
		p.keys, p.kids = slices.Delete(p.keys, i, i+1), slices.Delete(p.kids, i, i+1)
		return p
	}
	p.kids[i], p.keys[i] = kid, kid.keys[0]
	if len(kid.keys) < pageThin {
		p.join(e, max(0, i-1))
	}
	return p
}

// join makes one page of kid i and the next where both fit well into one.
func (p *page[V]) join(e *edit, i int) {
	if i+1 >= len(p.kids) || len(p.kids[i].keys)+len(p.kids[i+1].keys) > pageGood {
		return
	}
	left, right := p.kids[i].own(e), p.kids[i+1]
	left.keys = append(left.keys, right.keys...)
	left.values = append(left.values, right.values...)
	left.kids = append(left.kids, right.kids...)
	p.kids[i] = left
	p.keys, p.kids = slices.Delete(p.keys, i+1, i+2), slices.Delete(p.kids, i+1, i+2)
}

func (p *page[V]) walk(start string, yield func(string, V) bool) bool {
	if p.kids == nil {
		i, _ := p.find(start)
		for ; i < len(p.keys); i++ {
			if !yield(p.keys[i], p.values[i]) {
				return false
			}
		}
		return true
	}
	for _, kid := range p.kids[p.under(start):] {
		if !kid.walk(start, yield) {
			return false
		}
		start = ""
	}
	return true
}

// changed returns the keys that only one of the trees has, or that the trees have with
// different values; sorted. It skips the pages that the trees share, so what it costs grows
// with what has changed, and a little with the number of pages.
func changed[V comparable](was, now tree[V]) (keys []string) {
	before, after := was.leaves(), now.leaves()
	for p := range after {
		if before[p] {
			continue
		}
		for i, key := range p.keys {
			if v, there := was.get(key); !there || v != p.values[i] {
				keys = append(keys, key)
			}
		}
	}
	for p := range before {
		if after[p] {
			continue
		}
		for _, key := range p.keys {
			if _, there := now.get(key); !there {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// leaves returns the pages with values.
func (t tree[V]) leaves() map[*page[V]]bool {
	out := map[*page[V]]bool{}
	var visit func(p *page[V])
	visit = func(p *page[V]) {
		if p.kids == nil {
			out[p] = true
		}
		for _, kid := range p.kids {
			visit(kid)
		}
	}
	if t.root != nil {
		visit(t.root)
	}
	return out
}
