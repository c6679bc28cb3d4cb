package consolidate

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// livingFleet is a fleet whose pods and nodes come and go.
type livingFleet struct {
	t    *rapid.T
	made int // objects, for their names
	s    cluster.Snapshot
}

// name returns a name that no object has had, in no order of time.
func (f *livingFleet) name(kind string) string {
	f.made++
	return fmt.Sprintf("%s%02d-%d", kind, f.made*37%100, f.made)
}

func (f *livingFleet) apply(d cluster.Delta) {
	f.t.Helper()
	var err error
	if f.s, err = f.s.Apply(d); err != nil {
		f.t.Fatal(err)
	}
}

// addNode adds a node of one of two pools, sizes and zones.
func (f *livingFleet) addNode() {
	name := f.name("n")
	cpu := int64(rapid.SampledFrom([]int{4000, 8000}).Draw(f.t, "cpu"))
	n := cluster.Node{Name: name, UID: name, Ready: true, Labels: label.FromMap(map[string]string{
		label.Hostname: name, label.Zone: rapid.SampledFrom([]string{"a", "b"}).Draw(f.t, "zone"),
	}), Allocatable: quantity.Resources{
		MilliCPU: cpu, MemoryBytes: cpu * int64(rapid.SampledFrom([]int{4, 8}).Draw(f.t, "ratio")) << 30 / 1000, EphemeralBytes: 1 << 40, PodSlots: 100,
	}}
	if rapid.IntRange(0, 3).Draw(f.t, "tainted") == 0 {
		n.Taints = []cluster.Taint{{Key: "only", Value: "kind0", Effect: cluster.NoSchedule}}
	}
	f.apply(cluster.Delta{Put: cluster.Objects{Nodes: []cluster.Node{n}}})
}

// addPod binds a pod of one of the kinds to a node, whether it has room or not.
func (f *livingFleet) addPod() {
	nodes := f.s.Nodes()
	if len(nodes) == 0 {
		return
	}
	kind, name := rapid.IntRange(0, 4).Draw(f.t, "kind"), f.name("p")
	size := int64(kind + rapid.IntRange(0, 1).Draw(f.t, "larger"))
	p := cluster.Pod{
		Namespace: "default", Name: name, UID: name, Node: rapid.SampledFrom(nodes).Draw(f.t, "node").Name,
		Owner: cluster.Owner{Kind: "ReplicaSet", Name: fmt.Sprint("web", kind)}, Labels: label.FromMap(map[string]string{"app": fmt.Sprint("web", kind)}),
		Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: 300 * (size + 1), MemoryBytes: (5-size)<<30 + 1<<28, PodSlots: 1}},
	}
	app := cluster.PodSelector{Match: label.All(label.Is("app", fmt.Sprint("web", kind)))}
	switch kind {
	case 0:
		p.Shape.Tolerations = []cluster.Toleration{{Key: "only", Value: "kind0"}}
	case 1:
		p.Shape.PodAntiAffinity = []cluster.PodTerm{{Key: label.Hostname, Selector: app}}
	case 2:
		p.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: app}}
	}
	f.apply(cluster.Delta{Put: cluster.Objects{Pods: []cluster.Pod{p}}})
}

// change makes one change.
func (f *livingFleet) change() {
	nodes, pods := f.s.Nodes(), f.s.Pods()
	switch what := rapid.IntRange(0, 5).Draw(f.t, "what"); {
	case what == 0:
		f.addNode()
	case what == 1 && len(nodes) > 0: // its pods are deleted with it
		gone := rapid.SampledFrom(nodes).Draw(f.t, "gone").Name
		d := cluster.Delta{Removed: cluster.Removed{Nodes: []string{gone}}}
		for _, p := range f.s.PodsOn(gone) {
			d.Removed.Pods = append(d.Removed.Pods, p.ID())
		}
		f.apply(d)
	case what == 2 && len(nodes) > 0:
		n := rapid.SampledFrom(nodes).Draw(f.t, "cordoned")
		n.Cordoned = !n.Cordoned
		f.apply(cluster.Delta{Put: cluster.Objects{Nodes: []cluster.Node{n}}})
	case what == 3 && len(pods) > 0:
		f.apply(cluster.Delta{Removed: cluster.Removed{Pods: []string{rapid.SampledFrom(pods).Draw(f.t, "ends").ID()}}})
	default:
		f.addPod()
	}
}

// node returns the node for a search; it is none that takes pods while it is cordoned.
func (f *livingFleet) node(name string) (Node, bool) {
	state, there := f.s.State(name)
	if !there || state.Node.Cordoned {
		return Node{}, false
	}
	return Node{State: state, Claim: name, Free: state.Free, Price: quantity.Money(state.Node.Allocatable.MilliCPU), Deletable: true}, true
}

func (f *livingFleet) nodes() (out []Node) {
	for _, n := range f.s.Nodes() {
		if x, takes := f.node(n.Name); takes {
			out = append(out, x)
		}
	}
	return out
}

// since returns the look at the image that was made of the snapshot.
func (f *livingFleet) since(im *Image, of cluster.Snapshot) *Revision {
	var put []Node
	var gone []string
	for _, name := range f.s.NodesChanged(of) {
		if x, takes := f.node(name); takes {
			put = append(put, x)
		} else {
			gone = append(gone, name)
		}
	}
	return im.With(put, gone)
}

// drawnLife returns a fleet before and after some changes: an image of it, a look at the
// image, and an image that is made anew.
func drawnLife(t *rapid.T) (before *Image, kept, anew *Revision) {
	f := &livingFleet{t: t}
	for range rapid.IntRange(0, 8).Draw(t, "nodes") {
		f.addNode()
	}
	for range rapid.IntRange(0, 20).Draw(t, "pods") {
		f.addPod()
	}
	q := Question{MinSaving: 1, PerPod: 1, Alike: rapid.Bool().Draw(t, "alike"), Trials: 10}
	q.Nodes = f.nodes()
	search, of := Begin(q), f.s
	before = ImageOf(search)
	for range rapid.IntRange(0, 6).Draw(t, "changes") {
		f.change()
	}
	if rapid.Bool().Draw(t, "searched") {
		search.Advance(500) // whatever the search does, the image stays
	}
	q.Nodes = f.nodes()
	return before, f.since(before, of), ImageOf(Begin(q)).With(nil, nil)
}

// seenNode is what decides about a node of the shadow, without numbers that depend on what
// came first.
type seenNode struct {
	Name       string
	Price      quantity.Money
	Free       vector
	Own        map[string]int64
	Guests     int
	Pods, Dear int64
	Zone       string
	Ratio      int
	Gone       bool
	Size       size
	Levels     [2]int
	Takes      []string
}

func seenBy(l *Revision) (out []seenNode) {
	s := l.search
	for i := range s.nodes {
		n := &s.nodes[i]
		x := seenNode{n.State.Node.Name, n.price, n.free, map[string]int64{}, len(n.guests), n.pods, n.dear, n.zone, n.ratio, n.removed, n.size, s.index.at[i], nil}
		for _, p := range n.own {
			c := &s.classes[p.class]
			x.Own[fmt.Sprint(c.group.Key, c.zone, c.ratio, c.need, c.worth, c.most, c.fixed)] += p.n
		}
		classes := map[string]bool{}
		for _, other := range s.nodes { // classes without pods do not matter
			for _, p := range other.own {
				if c := &s.classes[p.class]; s.accepts(p.class, n) {
					classes[fmt.Sprint(c.group.Key, c.zone, c.ratio)] = true
				}
			}
		}
		x.Takes = slices.Sorted(maps.Keys(classes))
		out = append(out, x)
	}
	return out
}

func TestShadow_KeptUpToDateEqualsBuiltAnew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		_, kept, anew := drawnLife(t)
		if got, want := seenBy(kept), seenBy(anew); !reflect.DeepEqual(got, want) {
			t.Fatalf("kept %+v\nanew %+v", got, want)
		}
		for _, n := range seenBy(anew) {
			if got, want := kept.Try(n.Name, 1, false), anew.Try(n.Name, 1, false); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: kept %+v, anew %+v", n.Name, got, want)
			}
		}
		if got, want := seenBy(kept), seenBy(anew); !reflect.DeepEqual(got, want) {
			t.Fatal("a trial has left something behind")
		}
	})
}

// A look at the nodes that the changes concern says all that a look at each node would: the
// others could be deleted before, or cannot be now.
func TestLook_ConcernsAllNodesForWhichSomethingHasChanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, kept, _ := drawnLife(t)
		was, concerned := before.With(nil, nil), kept.Concerned()
		for _, n := range seenBy(kept) {
			now := kept.Try(n.Name, 1, false)
			if slices.Contains(concerned, n.Name) {
				continue
			}
			if then := was.Try(n.Name, 1, false); now.Pays && !reflect.DeepEqual(now, then) {
				t.Fatalf("%s: %+v, and before %+v, but only %s are looked at", n.Name, now, then, concerned)
			}
		}
	})
}

// Every place of a move has room for its pods and takes them.
func TestLook_AMoveHasAPlaceForEachPod(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		_, kept, _ := drawnLife(t)
		for _, n := range kept.search.nodes {
			m := kept.Try(n.State.Node.Name, 1, false)
			if !m.Pays {
				continue
			}
			for g, count := range n.State.Moving() {
				for _, place := range m.Places[g.Kind] {
					at, there := kept.search.find(place.Node)
					if !there || place.Node == n.State.Node.Name {
						t.Fatalf("%s is no place", place.Node)
					}
					host := kept.search.nodes[at]
					more := place.Most - host.State.CountOf(g.Kind)
					if !g.Shape.Requests.Times(more).Fits(host.Free) || !fit.Node(g.Shape, host.labels, host.taints) {
						t.Fatalf("%d pods do not fit on %s", more, place.Node)
					}
					count -= more
				}
				if count != 0 {
					t.Fatalf("%d pods have no place", count)
				}
			}
		}
	})
}

func TestLook_AsksForASearchWhereItCannotCountAResource(t *testing.T) {
	t.Parallel()
	var o cluster.Objects
	for _, name := range []string{"a", "b"} {
		o.Nodes = append(o.Nodes, cluster.Node{Name: name, UID: name, Ready: true, Allocatable: quantity.Resources{MilliCPU: 4000, MemoryBytes: 1 << 34, PodSlots: 100}})
	}
	nodes := nodesOf(t, o)
	im := ImageOf(Begin(Question{Nodes: nodes, MinSaving: 1, Trials: 10}))
	o.Pods = []cluster.Pod{{
		Namespace: "default", Name: "p", UID: "p", Node: "a", Owner: cluster.Owner{Kind: "ReplicaSet", Name: "web"},
		Shape: cluster.Shape{Requests: quantity.Resources{PodSlots: 1, Extended: []quantity.Amount{{Name: "example.com/gpu", Count: 1}}}},
	}}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Claim, b.Claim) })
	if l := im.With(nodesOf(t, o)[:1], nil); l != nil {
		t.Error("a look does not see that pods of a new resource have no place")
	}
}
