package cluster

import (
	"encoding/binary"
	"hash/fnv"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// pod is a Pod in the index. It does not change once its snapshot is made.
type pod struct {
	Pod
	id       string
	key      string // of its group
	shapeKey string
}

// waits says whether the pod still needs a place.
func (p *pod) waits() bool { return p.Node == "" && !p.Deleting && !p.Pinned }

// ageLength is the length of the age in a key; the id follows it. See appendAge.
const ageLength = 12

// appendAge appends a text that orders pods by creation, then id.
func (p *pod) appendAge(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(p.Created.Unix())^1<<63)
	b = binary.BigEndian.AppendUint32(b, uint32(p.Created.Nanosecond()))
	return append(b, p.id...)
}

// Group is an equivalence class of pods. Its pods are in one namespace and have
// one shape. They also have equal values for every label key that a spread
// constraint or a pod affinity term in the snapshot looks at in that namespace.
// A Pinned pod is grouped without its node affinity, which ties the pod to its
// node.
//
// Snapshots share the pointer as long as nothing about the group's pods changes.
type Group struct {
	Key       string // orders groups: by requested CPU and memory first
	Namespace string
	Labels    label.Labels // only labels that a selector looks at
	Shape     Shape
	// Kind names the group, and is short enough for an annotation of a NodeClaim.
	// It has two parts with a dot between them. The first part stands for the
	// namespace and the shape, the second for the labels that selectors look at.
	// Unlike Key, the first part stays the same when another selector appears.
	Kind string

	edit      *edit
	size      int
	bound     int64
	nominated int64       // number of pending pods that are nominated
	pending   tree[*pod]  // by age
	on        tree[int64] // by node
	leaving   tree[int64] // by node; pods of on that are Deleting
}

// Pending returns the pods that need a place: unbound, neither Deleting nor
// Pinned. The oldest comes first. Nominated pods are included.
func (g *Group) Pending() iter.Seq[Pod] {
	return func(yield func(Pod) bool) {
		for _, p := range g.pending.all() {
			if !yield(p.Pod) {
				return
			}
		}
	}
}

// Waiting returns the same pods as Pending, by id and without copies; callers
// must not change them. The iteration itself reads no pod, since thousands of
// pods are scattered in memory.
func (g *Group) Waiting() iter.Seq2[string, *Pod] {
	return func(yield func(string, *Pod) bool) {
		for age, p := range g.pending.all() {
			if !yield(age[ageLength:], &p.Pod) {
				return
			}
		}
	}
}

// PendingCount is how many pods need a place.
func (g *Group) PendingCount() int64 { return int64(g.pending.size) }

// Nominated is how many of the pending pods are nominated, by the daemon or by
// anyone else.
func (g *Group) Nominated() int64 { return g.nominated }

// Bound is how many pods have a node; Deleting and Pinned ones count.
func (g *Group) Bound() int64 { return g.bound }

// Size is how many pods there are.
func (g *Group) Size() int64 { return int64(g.size) }

// On returns the nodes with the number of the group's pods there, by name.
func (g *Group) On() iter.Seq2[string, int64] { return g.on.all() }

// Leaving returns, by name, the nodes with pods of the group that are being
// deleted, and the number of these pods. On counts these pods too.
func (g *Group) Leaving() iter.Seq2[string, int64] { return g.leaving.all() }

// antiAffine says whether pods of the group keep other pods away.
func (g *Group) antiAffine() bool {
	if g.bound == 0 {
		return false
	}
	for i := range g.Shape.PodAntiAffinity {
		if g.Shape.PodAntiAffinity[i].Weight == 0 {
			return true
		}
	}
	return false
}

// appendGroupKey appends to a shape's key what tells groups of one shape apart:
// the namespace and the labels.
func (s *Snapshot) appendGroupKey(b []byte, namespace string, labels label.Labels) []byte {
	b = label.AppendText(append(b, ' '), namespace)
	for _, k := range s.watchedIn(namespace) {
		if v, ok := labels.Get(k); ok {
			b = label.AppendText(label.AppendText(b, k), v)
		}
	}
	return b
}

// newGroup makes the empty group of pods like these.
func (s *Snapshot) newGroup(key, namespace string, labels label.Labels, shape Shape) *Group {
	g := &Group{Key: key, Namespace: namespace, Shape: shape.canonical()}
	for _, k := range s.watchedIn(namespace) {
		if v, ok := labels.Get(k); ok {
			g.Labels = append(g.Labels, label.Label{Key: k, Value: v})
		}
	}
	g.Kind = shortName(label.AppendText(g.Shape.appendKey(nil), namespace)) + "." + shortName(g.Labels.AppendKey(nil))
	return g
}

func shortName(b []byte) string {
	h := fnv.New64a()
	h.Write(b)
	return strconv.FormatUint(h.Sum64(), 36)
}

// anyNamespace stands for all namespaces. A selector that selects namespaces by
// their labels counts for all of them, since these labels may change.
const anyNamespace = ""

// watches calls f with every label key that the selectors of a pod of this shape
// look at in other pods, and with the namespace of these pods.
func (s *Shape) watches(own string, f func(namespace, key string)) {
	watch := func(namespace string, p *PodSelector) {
		for _, r := range p.Match {
			f(namespace, r.Key())
		}
	}
	for i := range s.Spread {
		watch(own, &s.Spread[i].Selector)
	}
	for _, terms := range [2][]PodTerm{s.PodAffinity, s.PodAntiAffinity} {
		for i := range terms {
			t := &terms[i]
			if !t.InNamespaces.Nothing {
				watch(anyNamespace, &t.Selector)
				continue
			}
			for _, n := range t.Namespaces {
				watch(n, &t.Selector)
			}
		}
	}
}

// watch adds n to the count of selectors of every label key that a pod of this
// shape looks at.
func (u *update) watch(s *Shape, own string, n int64) {
	s.watches(own, func(namespace, key string) {
		at := namespace + "/" + key
		was, _ := u.watched.get(at)
		u.rewatched = u.rewatched || was == 0 || was+n == 0
		u.watched = u.tally(u.watched, at, n)
	})
}

// rewatch says whether selectors look at another set of label keys than before.
func (u *update) rewatch() bool {
	if !u.rewatched {
		return false
	}
	keys := map[string][]string{}
	for at := range u.watched.all() {
		namespace, key, _ := strings.Cut(at, "/")
		keys[namespace] = append(keys[namespace], key)
	}
	everywhere := keys[anyNamespace]
	for namespace, own := range keys {
		if all := slices.Concat(everywhere, own); namespace != anyNamespace {
			slices.Sort(all)
			keys[namespace] = slices.Compact(all)
		}
	}
	if maps.EqualFunc(keys, u.watchedKeys, slices.Equal[[]string]) {
		return false
	}
	u.watchedKeys = keys
	return true
}

// watchedIn lists the label keys that selectors look at in the namespace.
func (s *Snapshot) watchedIn(namespace string) []string {
	if keys, own := s.watchedKeys[namespace]; own {
		return keys
	}
	return s.watchedKeys[anyNamespace]
}

// sort finds the group of a pod that is new to the index. The pod's shape key
// is computed unless it is known.
func (u *update) sort(p *pod) {
	b := u.scratch[:0]
	if p.shapeKey != "" {
		b = append(b, p.shapeKey...)
	} else {
		b = p.grouped().appendKey(b)
	}
	shape := len(b)
	b = u.appendGroupKey(b, p.Namespace, p.Labels)
	u.scratch = b
	if u.last != nil && u.last.Key == string(b) { // neighbours are often siblings
		p.key, p.shapeKey = u.last.Key, u.last.Key[:shape]
		return
	}
	key := string(b)
	g, ok := u.groups.get(key)
	if !ok {
		g = u.newGroup(key, p.Namespace, p.Labels, p.grouped())
		g.edit = u.edit
		u.groups = u.groups.put(u.edit, key, g)
		u.touched = append(u.touched, g)
	}
	u.last = g
	p.key, p.shapeKey = g.Key, g.Key[:shape]
}

// grouped is the shape by which the pod is grouped. It omits the affinity of a
// pinned pod: the affinity names the pod's node, so that every pod of a
// DaemonSet would be a group of its own.
func (p *pod) grouped() Shape {
	s := p.Shape
	if p.Pinned {
		s.NodeAffinity = nil
	}
	return s
}

// ownGroup returns a copy of the group that this update may write to.
func (u *update) ownGroup(key string) *Group {
	g, _ := u.groups.get(key)
	if g.edit == u.edit {
		return g
	}
	mine := *g
	mine.edit = u.edit
	u.groups = u.groups.put(u.edit, key, &mine)
	u.touched = append(u.touched, &mine)
	return &mine
}

// count adds the pod to its group. With n = -1 it takes the pod out.
func (u *update) count(p *pod, n int64) {
	g := u.ownGroup(p.key)
	g.size += int(n)
	if p.NotReady && !p.Deleting {
		if n > 0 {
			u.unready = u.unready.put(u.edit, p.ID(), p)
		} else {
			u.unready = u.unready.remove(u.edit, p.ID())
		}
	}
	switch {
	case p.Node != "":
		g.bound += n
		g.on = u.tally(g.on, p.Node, n)
		if p.Deleting {
			g.leaving = u.tally(g.leaving, p.Node, n)
		}
	case p.waits():
		if p.Nominated != "" {
			g.nominated += n
		}
		u.scratch = p.appendAge(u.scratch[:0])
		if age := string(u.scratch); n > 0 {
			g.pending = g.pending.put(u.edit, age, p)
		} else {
			g.pending = g.pending.remove(u.edit, age)
		}
	}
}

// tally adds n to the number at the key.
func (u *update) tally(t tree[int64], key string, n int64) tree[int64] {
	was, _ := t.get(key)
	if was+n == 0 {
		return t.remove(u.edit, key)
	}
	return t.put(u.edit, key, was+n)
}

// fileGroups drops the groups that have no pods left and files the others.
func (u *update) fileGroups() {
	for _, g := range u.touched {
		if g.size == 0 {
			u.groups = u.groups.remove(u.edit, g.Key)
		}
		u.waiting = file(u.waiting, u.edit, g.Key, none{}, g.pending.size > 0)
		u.anti = file(u.anti, u.edit, g.Key, none{}, g.antiAffine())
	}
}

// file puts the value into the tree if it belongs there, and removes the key if
// not.
func file[V any](t tree[V], e *edit, key string, v V, belongs bool) tree[V] {
	if _, there := t.get(key); there == belongs {
		return t
	}
	if belongs {
		return t.put(e, key, v)
	}
	return t.remove(e, key)
}
