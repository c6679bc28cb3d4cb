package cluster

import (
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

func build(t *testing.T, o Objects) Snapshot {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s Snapshot, o Objects) Snapshot {
	t.Helper()
	s, err := s.Apply(Delta{Put: o})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func app(name, app string) Pod {
	return Pod{Namespace: "shop", Name: name, UID: name, Labels: label.FromMap(map[string]string{"app": app, "hash": name})}
}

func TestSnapshot_ZeroIsTheEmptyCluster(t *testing.T) {
	if diff := cmp.Diff(view(build(t, Objects{})), view(Snapshot{})); diff != "" {
		t.Error(diff)
	}
	if g := (Snapshot{}).GroupFor("a", nil, Shape{}); g.Key == "" || g.PendingCount() != 0 {
		t.Errorf("%+v", g)
	}
}

func TestSnapshot_IsTheSameUntilSomethingChanges(t *testing.T) {
	of := Objects{Pods: []Pod{app("a", "web")}, Nodes: []Node{{Name: "n", UID: "n"}}, Pools: []Pool{{Name: "p", UID: "p"}}}
	s := build(t, of)
	if !s.Same(s) || !s.Same(put(t, s, Objects{})) || !(Snapshot{}).Same(Snapshot{}) {
		t.Error("a snapshot is not the same as itself")
	}
	for name, o := range map[string]Objects{
		"pod":       {Pods: []Pod{app("b", "web")}},
		"node":      {Nodes: []Node{{Name: "n", UID: "n", Cordoned: true}}},
		"claim":     {Claims: []Claim{{Name: "c", UID: "c"}}},
		"workload":  {Workloads: []Workload{{Kind: "Job", Namespace: "shop", Name: "w", Missing: 1}}},
		"namespace": {Namespaces: []Namespace{{Name: "shop"}}},
		"pool":      {Pools: []Pool{{Name: "p", UID: "p", Weight: 1}}},
	} {
		if s.Same(put(t, s, o)) {
			t.Errorf("the same after another %s", name)
		}
	}
	if s.Same(build(t, Objects{})) {
		t.Error("the same as the empty one")
	}
}

// What has changed of a node is all that the node's state says: itself, its NodeClaim, and
// the pods on it or nominated for it.
func TestSnapshot_NodesChangedAreThoseWhoseStateHas(t *testing.T) {
	on := func(name, node string) Pod {
		p := app(name, "web")
		p.Node = node
		return p
	}
	s := build(t, Objects{
		Nodes:  []Node{{Name: "a", UID: "a"}, {Name: "b", UID: "b"}, {Name: "c", UID: "c"}},
		Claims: []Claim{{Name: "of-b", UID: "of-b", Node: "b"}},
		Pods:   []Pod{on("p", "a")},
	})
	for name, c := range map[string]struct {
		delta Delta
		want  []string
	}{
		"nothing":    {Delta{}, nil},
		"pod waits":  {Delta{Put: Objects{Pods: []Pod{app("q", "web")}}}, nil},
		"pod comes":  {Delta{Put: Objects{Pods: []Pod{on("q", "c")}}}, []string{"c"}},
		"pod goes":   {Delta{Removed: Removed{Pods: []string{"shop/p"}}}, []string{"a"}},
		"claim":      {Delta{Put: Objects{Claims: []Claim{{Name: "of-b", UID: "of-b", Node: "b", Deleting: true}}}}, []string{"b"}},
		"claim goes": {Delta{Removed: Removed{Claims: []string{"of-b"}}}, []string{"b"}},
		"node":       {Delta{Put: Objects{Nodes: []Node{{Name: "c", UID: "c", Cordoned: true}}}}, []string{"c"}},
		"node goes":  {Delta{Removed: Removed{Nodes: []string{"c"}}}, []string{"c"}},
		"node comes": {Delta{Put: Objects{Nodes: []Node{{Name: "d", UID: "d"}}}}, []string{"d"}},
	} {
		next, err := s.Apply(c.delta)
		if err != nil {
			t.Fatal(err)
		}
		if got := next.NodesChanged(s); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if got := s.NodesChanged(next); !slices.Equal(got, c.want) {
			t.Errorf("%s, backwards: %q, want %q", name, got, c.want)
		}
	}
}

func TestGroup_PendingIsOldestFirst(t *testing.T) {
	at := func(name string, created time.Time) Pod {
		p := app(name, "web")
		p.Created = created
		return p
	}
	zero := time.Unix(0, 0)
	s := build(t, Objects{Pods: []Pod{at("a", zero.Add(2)), at("b", zero.Add(1)), at("c", time.Time{}), at("e", zero.Add(time.Hour)), at("d", zero.Add(1))}})
	g, ok := s.GroupOf("shop/a")
	if got := ids(slices.Collect(g.Pending())); !ok || !slices.Equal(got, []string{"shop/c", "shop/b", "shop/d", "shop/a", "shop/e"}) {
		t.Errorf("%v", got)
	}
}

// A label divides pods into groups only while a selector looks at it.
func TestGroups_SplitByTheLabelsThatSelectorsLookAt(t *testing.T) {
	count := func(s Snapshot) int { return len(slices.Collect(s.Groups())) }
	s := build(t, Objects{Pods: []Pod{app("a", "web"), app("b", "web"), app("c", "db")}})
	if count(s) != 1 {
		t.Errorf("%d groups while nobody looks", count(s))
	}
	looks := Shape{Spread: []Spread{{Key: label.Zone, MaxSkew: 1, Selector: PodSelector{Match: label.All(label.Is("app", "web"))}}}}
	w := Workload{Kind: "ReplicaSet", Namespace: "shop", Name: "w", Shape: looks, Labels: label.FromMap(map[string]string{"app": "web", "hash": "x"})}
	watched := put(t, s, Objects{Workloads: []Workload{w}})
	if count(watched) != 2 {
		t.Errorf("%d groups while a workload looks at app", count(watched))
	}
	g, _ := watched.GroupOf("shop/a")
	if g.PendingCount() != 2 || g.Labels.Compare(label.FromMap(map[string]string{"app": "web"})) != 0 {
		t.Errorf("%d pods with %v", g.PendingCount(), g.Labels)
	}
	if g := watched.GroupFor("shop", label.FromMap(map[string]string{"app": "db", "other": "1"}), Shape{}); g.PendingCount() != 1 {
		t.Errorf("%s has %d pods", g.Key, g.PendingCount())
	}
	again, err := watched.Apply(Delta{Removed: Removed{Workloads: []string{w.ID()}}})
	if err != nil || count(again) != 1 || count(watched) != 2 {
		t.Errorf("%d groups when nobody looks any more, %d before, %v", count(again), count(watched), err)
	}
}

// A selector says nothing about pods of namespaces that it does not look at.
func TestGroups_SplitOnlyInTheNamespacesThatSelectorsLookAt(t *testing.T) {
	there := func(name, label string) Pod {
		p := app(name, label)
		p.Namespace = "other"
		return p
	}
	groups := func(o Objects) map[string]int {
		n := map[string]int{}
		for g := range put(t, build(t, Objects{Pods: []Pod{app("a", "web"), app("b", "db"), there("c", "web"), there("d", "db")}}), o).Groups() {
			n[g.Namespace]++
		}
		return n
	}
	selector := PodSelector{Match: label.All(label.Is("app", "web"))}
	spread := Shape{Spread: []Spread{{Key: label.Zone, MaxSkew: 1, Selector: selector}}}
	apart := func(in PodSelector, namespaces ...string) Shape {
		return Shape{PodAntiAffinity: []PodTerm{{Key: label.Zone, Selector: selector, Namespaces: namespaces, InNamespaces: in}}}
	}
	nowhere := PodSelector{Nothing: true}
	for name, c := range map[string]struct {
		shape       Shape
		shop, other int
	}{
		"a spread":                      {spread, 2, 1},
		"a term of its own namespace":   {apart(nowhere, "shop"), 2, 1},
		"a term of another":             {apart(nowhere, "other"), 1, 2},
		"a term of both":                {apart(nowhere, "other", "shop"), 2, 2},
		"one of namespaces with labels": {apart(PodSelector{Match: label.All(label.Is("team", "a"))}), 2, 2},
	} {
		got := groups(Objects{Workloads: []Workload{{Kind: "ReplicaSet", Namespace: "shop", Name: "w", Shape: c.shape}}})
		if got["shop"] != c.shop || got["other"] != c.other {
			t.Errorf("%s: %v groups, want %d in its namespace and %d in the other", name, got, c.shop, c.other)
		}
	}
}

func TestGroups_PinnedPodsOfADaemonSetAreOne(t *testing.T) {
	var o Objects
	for _, node := range []string{"n0", "n1"} {
		p := app("agent-"+node, "agent")
		p.Node, p.Pinned, p.Owner.Kind = node, true, "DaemonSet"
		p.Shape.Requests.MilliCPU = 100
		p.Shape.NodeAffinity = []label.Requirements{label.All(label.Is(label.NodeName, node))}
		o.Pods, o.Nodes = append(o.Pods, p), append(o.Nodes, Node{Name: node})
	}
	s := build(t, o)
	if g, _ := s.GroupOf("shop/agent-n0"); g.Bound() != 2 || len(slices.Collect(s.PendingGroups())) != 0 {
		t.Errorf("%d in one group", g.Bound())
	}
	if n, _ := s.State("n1"); n.UsedBy("").MilliCPU != 100 || n.Used.MilliCPU != 100 || n.Busy() {
		t.Errorf("%+v", n.Load)
	}
}

// The watches of pods and nodes are independent: a pod may be seen on a node
// before the node is seen.
func TestState_NodeThatComesAfterItsPods(t *testing.T) {
	p := app("a", "web")
	p.Node, p.Shape.Requests = "late", quantity.Resources{MilliCPU: 300, PodSlots: 1}
	s := build(t, Objects{Pods: []Pod{p}})
	if _, ok := s.State("late"); ok || len(s.PodsOn("late")) != 1 {
		t.Error("the pod of a node to come is not there, or the node is")
	}
	s = put(t, s, Objects{Nodes: []Node{{Name: "late", Allocatable: quantity.Resources{MilliCPU: 1000, PodSlots: 9}}}})
	if n, ok := s.State("late"); !ok || n.Used.MilliCPU != 300 || n.Free.MilliCPU != 700 || !n.Busy() {
		t.Error("the node does not carry its pod")
	}
	s, err := s.Apply(Delta{Removed: Removed{Nodes: []string{"late"}}})
	if _, ok := s.State("late"); err != nil || ok || len(slices.Collect(s.Roomy(quantity.Resources{}))) != 0 {
		t.Error("the node is still there")
	}
	s, err = s.Apply(Delta{Removed: Removed{Pods: []string{"shop/a"}}})
	if err != nil || s.loads.size != 0 || s.groups.size != 0 {
		t.Errorf("%d loads and %d groups are kept of nothing", s.loads.size, s.groups.size)
	}
}

// The cost of one event must not grow with the cluster. So two snapshots, before
// and after the event, share everything but the pod's group, the node's load and
// the pages above them.
func TestApply_OnePodTouchesOneGroupAndOneNode(t *testing.T) {
	for _, nodes := range []int{20, 400} {
		o := fleet(nodes*10, 50, nodes)
		s := build(t, o)
		p := o.Pods[1]
		p.Node = o.Nodes[3].Name
		next := put(t, s, Objects{Pods: []Pod{p}})
		groups, loads := 0, 0
		for g := range next.Groups() {
			if old, _ := s.groups.get(g.Key); old != g {
				groups++
			}
		}
		for n := range next.States() {
			if old, _ := s.State(n.Node.Name); old.Load != n.Load {
				loads++
			}
		}
		if groups != 1 || loads != 1 {
			t.Errorf("%d nodes: %d groups and %d loads are new", nodes, groups, loads)
		}
	}
}

// The random worlds are small. This world has enough pages to split and join.
func TestApply_ManyPodsInPiecesEqualOneBuild(t *testing.T) {
	o := fleet(900, 150, 60)
	s := build(t, Objects{Nodes: o.Nodes})
	for i, piece := range slices.Collect(slices.Chunk(o.Pods, 70)) {
		if i%2 == 0 { // half of them come unbound first
			piece = slices.Clone(piece)
			for j := range piece {
				piece[j].Node, piece[j].Deleting = "", j%3 == 0
			}
		}
		s = put(t, s, Objects{Pods: piece})
	}
	s = put(t, s, o)
	if diff := cmp.Diff(view(build(t, o)), view(s)); diff != "" {
		t.Fatal(diff)
	}
	var gone []string
	for _, p := range o.Pods[100:] {
		gone = append(gone, p.ID())
	}
	s, err := s.Apply(Delta{Removed: Removed{Pods: gone}})
	if diff := cmp.Diff(view(build(t, Objects{Nodes: o.Nodes, Pods: o.Pods[:100]})), view(s)); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
}

func TestSupply_PointerStaysUntilContentChanges(t *testing.T) {
	types := func() []catalog.InstanceType {
		return []catalog.InstanceType{{
			Name: "m7i.large", Labels: label.FromMap(map[string]string{"a": "b"}), Capacity: quantity.Resources{MilliCPU: 2000},
			Offerings: []catalog.Offering{{Zone: "a", CapacityType: label.Spot, Price: 5, Available: true}},
		}}
	}
	o := func() Objects {
		return Objects{
			Pools:      []Pool{{Name: "p", Weight: 3, Requirements: label.All(label.Is("a", "b"))}, {Name: "o"}},
			Classes:    []Class{{Name: "c", Ready: true, Types: types()}},
			DaemonSets: []DaemonSet{{Namespace: "n", Name: "d", Shape: full()}},
			Pods:       []Pod{app("x", "y")},
		}
	}
	s := build(t, o())
	if same := put(t, s, o()); same.Supply() != s.Supply() {
		t.Error("equal content got a new pointer")
	}
	if same, err := s.Apply(Delta{Removed: Removed{Pools: []string{"unknown"}, Pods: []string{"shop/x"}}}); err != nil || same.Supply() != s.Supply() {
		t.Error("a pod that goes changed the supply")
	}
	for name, change := range map[string]func(*Objects){
		"weight":      func(o *Objects) { o.Pools[0].Weight++ },
		"requirement": func(o *Objects) { o.Pools[0].Requirements = label.All(label.Is("a", "c")) },
		"price":       func(o *Objects) { o.Classes[0].Types[0].Offerings[0].Price++ },
		"available":   func(o *Objects) { o.Classes[0].Types[0].Offerings[0].Available = false },
		"capacity":    func(o *Objects) { o.Classes[0].Types[0].Capacity.MemoryBytes++ },
		"allocatable": func(o *Objects) { o.Classes[0].Types[0].Allocatable.PodSlots++ },
		"label":       func(o *Objects) { o.Classes[0].Types[0].Labels[0].Value = "c" },
		"ready":       func(o *Objects) { o.Classes[0].Ready = false },
		"no type":     func(o *Objects) { o.Classes[0].Types = nil },
		"daemonset":   func(o *Objects) { o.DaemonSets[0].Shape.Requests.MilliCPU++ },
		"new pool":    func(o *Objects) { o.Pools = append(o.Pools, Pool{Name: "q"}) },
	} {
		x := o()
		change(&x)
		if other := put(t, s, x); other.Supply() == s.Supply() {
			t.Errorf("%s: the pointer stays", name)
		}
	}
	gone, err := s.Apply(Delta{Removed: Removed{Pools: []string{"p"}}})
	if err != nil || gone.Supply() == s.Supply() || len(gone.Pools()) != 1 || len(s.Pools()) != 2 {
		t.Errorf("after a pool went: %+v, %v", gone.Pools(), err)
	}
}

func TestSnapshot_FindsByName(t *testing.T) {
	s := build(t, Objects{
		Pods: []Pod{app("a", "web")}, Nodes: []Node{{Name: "n"}}, Claims: []Claim{{Name: "k"}}, Pools: []Pool{{Name: "p"}, {Name: "q"}}, Classes: []Class{{Name: "c"}},
	})
	if p, ok := s.Pod("shop/a"); !ok || p.Name != "a" {
		t.Error("pod")
	}
	if n, ok := s.Node("n"); !ok || n.Name != "n" {
		t.Error("node")
	}
	if c, ok := s.Claim("k"); !ok || c.Name != "k" {
		t.Error("claim")
	}
	if p, ok := s.Pool("q"); !ok || p.Name != "q" {
		t.Error("pool")
	}
	if c, ok := s.Class("c"); !ok || c.Name != "c" {
		t.Error("class")
	}
	_, pod := s.Pod("a")
	_, claim := s.Claim("x")
	_, pool := s.Pool("x")
	if pod || claim || pool {
		t.Error("what is not there is found")
	}
}

func TestRoomy_IsWhatFitsAndTightCellsComeFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(0, 1<<40), rapid.SampledFrom([]int64{0, 1 << 61, math.MaxInt64}))
		draw := func(name string) quantity.Resources {
			return quantity.Resources{MilliCPU: amount.Draw(t, name), MemoryBytes: amount.Draw(t, name), PodSlots: rapid.Int64Range(0, 3).Draw(t, name)}
		}
		var o Objects
		for i := range rapid.IntRange(0, 30).Draw(t, "nodes") {
			name := "n" + string('A'+rune(i))
			o.Nodes = append(o.Nodes, Node{Name: name, Allocatable: draw("allocatable")})
			p := app(name, "web")
			p.Node, p.Shape.Requests = name, draw("used")
			o.Pods = append(o.Pods, p)
		}
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		need := draw("need")
		var want, got []string
		for n := range s.States() {
			if need.Fits(n.Node.Allocatable.Sub(n.Used)) {
				want = append(want, n.Node.Name)
			}
		}
		last := cell{}
		for n := range s.Roomy(need) {
			at := cellOf(n.Free)
			if at.sum < last.sum {
				t.Fatalf("%v comes after %v", at, last)
			}
			last, got = at, append(got, n.Node.Name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("for %v: %v, want %v", need, got, want)
		}
	})
}

// Amounts of one grade differ by at most a quarter. So of the nodes that Roomy
// looks at, only nodes with the need's own grade may be too small.
func TestGrade_GrowsInSmallSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Int64Range(1, math.MaxInt64).Draw(t, "a")
		b := rapid.Int64Range(a, math.MaxInt64).Draw(t, "b")
		if grade(a) > grade(b) || grade(a) > 255 {
			t.Fatalf("%d for %d, %d for %d", grade(a), a, grade(b), b)
		}
		if b = a + a/4 + 1; a < 1<<60 && grade(b) <= grade(a) {
			t.Fatalf("%d and %d share a grade", a, b)
		}
	})
}

// A pod that is deleted and made anew under its name has another uid. A name or
// a uid that has become free may be taken.
func TestApply_GoneThenPutInOneDelta(t *testing.T) {
	s := build(t, Objects{Pods: []Pod{app("a", "web"), app("b", "web")}})
	anew, other := app("a", "db"), app("c", "web")
	anew.UID, other.UID = "new", "a"
	s, err := s.Apply(Delta{Put: Objects{Pods: []Pod{other, anew}}, Removed: Removed{Pods: []string{"shop/a", "shop/b", "shop/never"}}})
	if got := ids(s.Pods()); err != nil || !slices.Equal(got, []string{"shop/a", "shop/c"}) {
		t.Errorf("%v, %v", got, err)
	}
	if p, _ := s.Pod("shop/a"); p.UID != "new" {
		t.Errorf("%+v", p)
	}
}
