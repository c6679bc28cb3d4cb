package cluster

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// dice makes small choices out of bytes; when they run out it always says 0.
type dice []byte

func (d *dice) roll(sides int) int {
	if len(*d) == 0 {
		return 0
	}
	n := int((*d)[0]) % sides
	*d = (*d)[1:]
	return n
}

func (d *dice) one(of ...string) string { return of[d.roll(len(of))] }

func (d *dice) labels() label.Labels {
	m := map[string]string{}
	for _, k := range []string{"app", "tier", "track"} {
		if v := d.roll(3); v > 0 {
			m[k] = string('0' + rune(v))
		}
	}
	return label.FromMap(m)
}

func (d *dice) selector() PodSelector {
	if d.roll(8) == 0 {
		return PodSelector{Nothing: true}
	}
	return PodSelector{Match: label.All(label.Is(d.one("app", "app", "tier", "track"), d.one("1", "2")))}
}

// reaching lets the term look at pods of some namespaces, or of all.
func (d *dice) reaching(t PodTerm) PodTerm {
	if t.InNamespaces.Nothing = d.roll(4) > 0; t.InNamespaces.Nothing || d.roll(2) == 0 {
		t.Namespaces = []string{d.one("default", "shop")}
	}
	return t
}

func (d *dice) shape() Shape {
	s := Shape{Requests: quantity.Resources{MilliCPU: int64(d.roll(3)) * 500, MemoryBytes: int64(d.roll(3)) << 29, PodSlots: 1}}
	switch d.roll(12) {
	case 1:
		s.Requests.MilliCPU = math.MaxInt64
	case 2:
		s.Requests = s.Requests.Extend("nvidia.com/gpu", 1)
	case 3:
		s.Requests = s.Requests.Extend("nvidia.com/gpu", math.MaxInt64)
	case 4:
		s.NodeAffinity = []label.Requirements{label.All(label.Is(label.NodeName, d.one("n0", "n1")))}
	case 5, 6:
		s.Spread = []Spread{{Key: label.Zone, MaxSkew: 1, MinDomains: int64(d.roll(3)), Selector: d.selector()}}
	case 7:
		s.PodAntiAffinity = []PodTerm{d.reaching(PodTerm{Key: label.Hostname, Weight: int32(d.roll(2)), Selector: d.selector()})}
	case 8:
		s.PodAffinity = []PodTerm{d.reaching(PodTerm{Key: label.Zone, Selector: d.selector()})}
	case 9:
		s.Tolerations = []Toleration{{Key: "a"}, {Key: "b"}}
		if d.roll(2) == 0 {
			slices.Reverse(s.Tolerations)
		}
	}
	return s
}

func (d *dice) pod() Pod {
	p := Pod{Namespace: d.one("default", "shop"), Name: "p" + d.one("0", "1", "2", "3", "4", "5"), Labels: d.labels(), Shape: d.shape()}
	p.UID = p.ID() + d.one("", "", "'")
	p.Node, p.Nominated = d.one("", "", "n0", "n1", "n2"), d.one("", "", "n0", "n1")
	p.NominatedByUs = p.Nominated != "" && d.roll(3) == 1
	p.Created = time.Unix(int64(d.roll(3)), int64(d.roll(2)))
	p.Deleting, p.DoNotDisrupt, p.Pinned, p.NotReady = d.roll(6) == 1, d.roll(6) == 1, d.roll(4) == 1, d.roll(4) == 1
	if p.Pinned {
		p.Owner.Kind, p.Owner.UID = "DaemonSet", d.one("uid-d0", "uid-d1")
	}
	p.DeletionCost = int32(d.roll(2)-1) << 28
	return p
}

func (d *dice) node() Node {
	n := Node{Name: d.one("n0", "n1", "n2"), Labels: d.labels(), Ready: d.roll(5) != 1, Cordoned: d.roll(5) == 1, Deleting: d.roll(5) == 1}
	n.UID = n.Name + d.one("", "'")
	n.Allocatable = quantity.Resources{MilliCPU: int64(d.roll(5)) * 700, MemoryBytes: int64(d.roll(5)) << 29, PodSlots: 3}
	return n
}

// claim draws a NodeClaim. Once its node is known, it is settled in most cases.
func (d *dice) claim() Claim {
	c := Claim{Name: d.one("k0", "k1", "k2"), Reservation: d.one("", "cr", "cr-1"), Pool: d.one("", "q", "qq"), Class: d.one("c0", "c1"), Node: d.one("", "n0", "n1", "n2", "n1")}
	c.InstanceType = d.one("", "a", "b", "a")
	c.Allocatable.MilliCPU = int64(d.roll(2)) * 1000
	c.Launched, c.Registered, c.Initialized, c.Deleting = d.roll(9) != 1, d.roll(9) != 1, d.roll(9) != 1, d.roll(9) == 1
	if d.roll(9) == 1 {
		c.Interruption = &Interruption{Reason: "spot_interrupted"}
	}
	return c
}

func (d *dice) class() Class {
	c := Class{Name: d.one("c0", "c1"), Ready: d.roll(2) == 1}
	for i := range d.roll(3) {
		c.Types = append(c.Types, catalog.InstanceType{Name: string('a' + rune(i)), Offerings: []catalog.Offering{{Zone: "z", CapacityType: label.Spot, Price: quantity.Money(d.roll(2))}}})
	}
	return c
}

// delta draws a Delta. Apply may refuse it only for what the dice spoil on
// purpose: an object that is given twice, the uid of another object, a negative
// amount.
func (d *dice) delta() Delta {
	var x Delta
	for range d.roll(4) {
		x.Put.Pods = append(x.Put.Pods, d.pod())
	}
	for range d.roll(3) {
		x.Removed.Pods = append(x.Removed.Pods, d.pod().ID())
	}
	if d.roll(4) == 1 {
		x.Put.Claims = append(x.Put.Claims, d.claim())
	}
	switch d.roll(10) {
	case 1, 2, 3:
		x.Put.Nodes = append(x.Put.Nodes, d.node())
	case 4:
		x.Removed.Nodes = append(x.Removed.Nodes, d.node().Name)
	case 5:
		x.Put.Workloads = append(x.Put.Workloads, Workload{Kind: "ReplicaSet", Namespace: "shop", Name: d.one("w0", "w1"), Missing: int64(d.roll(3)), Shape: d.shape()})
	case 6:
		x.Removed.Workloads = append(x.Removed.Workloads, "ReplicaSet/shop/"+d.one("w0", "w1"))
	case 7:
		x.Put.Namespaces = append(x.Put.Namespaces, Namespace{Name: "shop", Labels: d.labels()})
	case 8:
		x.Put.Pools = append(x.Put.Pools, Pool{Name: d.one("q0", "q1"), Weight: int32(d.roll(3))})
		x.Put.Classes = append(x.Put.Classes, d.class())
		x.Put.DaemonSets = append(x.Put.DaemonSets, DaemonSet{Namespace: "shop", Name: d.one("d0", "d1"), Shape: d.shape()})
	case 9:
		x.Removed.Pools, x.Removed.Classes, x.Removed.DaemonSets = []string{d.one("q0", "q1")}, []string{d.one("c0", "c1")}, []string{"shop/" + d.one("d0", "d1")}
		x.Removed.Claims, x.Removed.Namespaces = []string{d.claim().Name}, []string{"shop"}
	}
	switch d.roll(40) {
	case 1:
		x.Put.Pods = append(x.Put.Pods, x.Put.Pods...)
	case 2:
		p := d.pod()
		p.UID = "default/p0"
		x.Put.Pods = append(x.Put.Pods, p)
	case 3:
		n := d.node()
		n.Allocatable.MilliCPU = -1
		x.Put.Nodes = []Node{n}
	}
	return x
}

// model is the same cluster held in plain maps.
type model struct {
	pods       map[string]Pod
	nodes      map[string]Node
	claims     map[string]Claim
	pools      map[string]Pool
	classes    map[string]Class
	daemonSets map[string]DaemonSet
	workloads  map[string]Workload
	namespaces map[string]Namespace
}

func change1[T any](m *map[string]T, gone []string, put []T, id func(T) string) {
	if *m == nil {
		*m = map[string]T{}
	}
	for _, g := range gone {
		delete(*m, g)
	}
	for _, x := range put {
		(*m)[id(x)] = x
	}
}

func (m *model) apply(d Delta) {
	change1(&m.pods, d.Removed.Pods, d.Put.Pods, Pod.ID)
	change1(&m.nodes, d.Removed.Nodes, d.Put.Nodes, func(n Node) string { return n.Name })
	change1(&m.claims, d.Removed.Claims, d.Put.Claims, func(c Claim) string { return c.Name })
	change1(&m.pools, d.Removed.Pools, d.Put.Pools, poolID)
	change1(&m.classes, d.Removed.Classes, d.Put.Classes, classID)
	change1(&m.daemonSets, d.Removed.DaemonSets, d.Put.DaemonSets, DaemonSet.ID)
	change1(&m.workloads, d.Removed.Workloads, d.Put.Workloads, Workload.ID)
	change1(&m.namespaces, d.Removed.Namespaces, d.Put.Namespaces, func(n Namespace) string { return n.Name })
}

// objects lists everything in the order of the maps, which is random.
func (m *model) objects() Objects {
	return Objects{
		Pods: slices.Collect(maps.Values(m.pods)), Nodes: slices.Collect(maps.Values(m.nodes)), Claims: slices.Collect(maps.Values(m.claims)),
		Pools: slices.Collect(maps.Values(m.pools)), Classes: slices.Collect(maps.Values(m.classes)), DaemonSets: slices.Collect(maps.Values(m.daemonSets)),
		Workloads: slices.Collect(maps.Values(m.workloads)), Namespaces: slices.Collect(maps.Values(m.namespaces)),
	}
}

func ids(pods []Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.ID())
	}
	return out
}

// view is what all accessors of the snapshot say.
func view(s Snapshot) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	o := s.Objects()
	say("%+v", o.Pods)
	say("%+v", o)
	say("watched %v", s.watchedKeys)
	for g := range s.Groups() {
		say("group %s in %s %v %+v: pending %d %v, bound %d", g.Key, g.Namespace, g.Labels, g.Shape, g.PendingCount(), ids(slices.Collect(g.Pending())), g.Bound())
		for node, n := range g.On() {
			say("  on %s %d", node, n)
		}
		for node, n := range g.Leaving() {
			say("  leaving %s %d", node, n)
		}
	}
	for g := range s.PendingGroups() {
		say("pending %s %v", g.Key, ids(slices.Collect(g.Pending())))
	}
	for g := range s.AntiAffine() {
		say("anti-affine %s %d", g.Key, g.Bound())
	}
	for _, p := range o.Pods {
		g, ok := s.GroupOf(p.ID())
		say("group of %s: %v %s", p.ID(), ok, g.Key)
	}
	for _, w := range o.Workloads {
		g := s.GroupFor(w.Namespace, w.Labels, w.Shape)
		say("group for %s: %s %+v %d", w.ID(), g.Key, g.Shape, g.PendingCount())
	}
	for n := range s.States() {
		say("%s", viewState(n))
	}
	for _, name := range []string{"n0", "n1", "n2", "n3"} {
		_, ok := s.State(name)
		say("on %s %v: %v", name, ok, ids(s.PodsOn(name)))
	}
	var unsettled []string
	for _, c := range s.InTransition() {
		unsettled = append(unsettled, fmt.Sprintf("%+v", *c))
	}
	say("unsettled %v", unsettled)
	for p := range s.Unready() {
		say("not ready %s", p.ID())
	}
	for _, pool := range []string{"", "q", "qq"} {
		say("in pool %q: %+v", pool, slices.Collect(s.Lots(pool)))
	}
	for _, need := range needs() {
		var names []string
		for n := range s.Roomy(need) {
			names = append(names, n.Node.Name)
		}
		say("room for %v: %v", need, names)
	}
	say("namespace %v, supply %+v", s.Namespace("shop"), *s.Supply())
	return out
}

func viewState(n *NodeState) string {
	text := fmt.Sprintf("state %+v used %+v daemons %+v free %+v busy %v pods %v nominated %v", n.Node, n.Used, usedByDaemonSets(n), n.Free, n.Busy(), ids(slices.Collect(n.Pods())), ids(slices.Collect(n.Nominated())))
	c, ok := n.Claim()
	text += fmt.Sprintf(" of %s %v", c.Name, ok)
	for g, k := range n.Groups() {
		text += fmt.Sprintf("; %d of %s with %d pending", k, g.Key, g.PendingCount())
	}
	return text
}

func needs() []quantity.Resources {
	return []quantity.Resources{{}, {MilliCPU: 600, MemoryBytes: 1 << 29, PodSlots: 1}, {MemoryBytes: 1 << 30}, {MilliCPU: 2000, MemoryBytes: 1}}
}

type reporter interface {
	Helper()
	Fatal(args ...any)
}

// play applies deltas that the dice draw, one after the other. After each delta,
// the snapshot must say the same as a snapshot that is built from the same
// objects at once. At the end, every old snapshot must still say what it said
// first.
func play(t reporter, d dice) {
	t.Helper()
	var s Snapshot
	var m model
	var old []Snapshot
	var said [][]string
	for len(d) > 0 {
		x := d.delta()
		next, err := s.Apply(x)
		if err == nil {
			m.apply(x)
			s = next
		}
		rebuilt, err := New(m.objects())
		if err != nil {
			t.Fatal("what was applied bit by bit is refused at once: ", err)
		}
		if diff := cmp.Diff(naive(m.objects()), indexed(s)); diff != "" {
			t.Fatal("objects (-) and index (+) differ:\n", diff)
		}
		now := view(s)
		if diff := cmp.Diff(view(rebuilt), now); diff != "" {
			t.Fatal("rebuilt (-) and applied (+) differ:\n", diff)
		}
		old, said = append(old, s), append(said, now)
	}
	for i, s := range old {
		if diff := cmp.Diff(said[i], view(s)); diff != "" {
			t.Fatal("an old snapshot changed:\n", diff)
		}
	}
}

func TestApply_IncrementalEqualsRebuiltAndOldSnapshotsStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		play(t, rapid.SliceOfN(rapid.Byte(), 100, 400).Draw(t, "dice"))
	})
}

// FuzzApply plays deltas, some of them contradictory, that the fuzzer chooses.
func FuzzApply(f *testing.F) {
	for seed := range uint64(8) {
		var d dice
		for i := range uint64(500) {
			d = append(d, byte(mix(seed<<32+i)))
		}
		f.Add([]byte(d))
	}
	f.Fuzz(func(t *testing.T, d []byte) { play(t, d) })
}
