package topology_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// stage is a cluster that is built line by line.
type stage struct {
	objects cluster.Objects
	places  map[string]topology.Place
	exact   bool // see topology.Known.Build
	vacated []topology.Vacated
}

// node adds a node in the zone, with its hostname and the labels given.
func (s *stage) node(name, zone string, pairs ...string) *stage {
	m := map[string]string{label.Hostname: name, label.Zone: zone}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
		if pairs[i+1] == "" {
			delete(m, pairs[i])
		}
	}
	n := cluster.Node{Name: name, Labels: label.FromMap(m)}
	s.objects.Nodes = append(s.objects.Nodes, n)
	if s.places == nil {
		s.places = map[string]topology.Place{}
	}
	s.places[name] = topology.Place{Name: name, Labels: n.Labels}
	return s
}

// runs puts n pods of the class on the node.
func (s *stage) runs(node string, n int, c topology.Class) *stage {
	for range n {
		s.objects.Pods = append(s.objects.Pods, cluster.Pod{
			Namespace: c.Namespace, Name: fmt.Sprint("p", len(s.objects.Pods)), Labels: c.Labels, Shape: c.Shape, Node: node,
		})
	}
	return s
}

func (s *stage) table(t *testing.T, classes ...topology.Class) *topology.Table {
	t.Helper()
	s.objects.Workloads = nil
	for i, c := range classes {
		s.objects.Workloads = append(s.objects.Workloads, cluster.Workload{Kind: "ReplicaSet", Name: fmt.Sprint(i), Namespace: c.Namespace, Missing: 1, Labels: c.Labels, Shape: c.Shape})
	}
	snapshot, err := cluster.New(s.objects)
	if err != nil {
		t.Fatal(err)
	}
	return new(topology.Known).Build(snapshot, classes, s.exact, s.vacated...)
}

func (s *stage) expect(t *testing.T, table *topology.Table, class int, want map[string]int64) {
	t.Helper()
	for name, n := range want {
		if got := table.Room(class, s.places[name]); got != n {
			t.Errorf("room on %s is %d, want %d: %s", name, got, n, table.Why(class, s.places[name]))
		}
	}
}

func app(name string, with ...func(*cluster.Shape)) topology.Class {
	c := topology.Class{Namespace: "default", Labels: label.FromMap(map[string]string{"app": name})}
	for _, f := range with {
		f(&c.Shape)
	}
	return c
}

func like(name string) cluster.PodSelector {
	return cluster.PodSelector{Match: label.All(label.Is("app", name))}
}

func spreads(key, of string, with ...func(*cluster.Spread)) func(*cluster.Shape) {
	x := cluster.Spread{Key: key, MaxSkew: 1, Selector: like(of)}
	for _, f := range with {
		f(&x)
	}
	return func(s *cluster.Shape) { s.Spread = append(s.Spread, x) }
}

func about(key, of string) cluster.PodTerm {
	return cluster.PodTerm{Key: key, Selector: like(of), Namespaces: []string{"default"}, InNamespaces: cluster.PodSelector{Nothing: true}}
}

func together(key, of string) func(*cluster.Shape) {
	return func(s *cluster.Shape) { s.PodAffinity = append(s.PodAffinity, about(key, of)) }
}

func apart(key, of string) func(*cluster.Shape) {
	return func(s *cluster.Shape) { s.PodAntiAffinity = append(s.PodAntiAffinity, about(key, of)) }
}

const unlimited = math.MaxInt64

func TestSpread_NinePodsOnThreeNodesAtSkewOneAreLegal(t *testing.T) {
	s := (&stage{}).node("a", "z").node("b", "z").node("c", "z")
	table := s.table(t, app("web", spreads(label.Hostname, "web")))
	for range 3 {
		for name := range s.places {
			if table.Room(0, s.places[name]) == 0 {
				t.Fatalf("no room on %s: %s", name, table.Why(0, s.places[name]))
			}
			table.Add(0, s.places[name], 1)
		}
	}
	s.expect(t, table, 0, map[string]int64{"a": 1, "b": 1, "c": 1})
	table.Add(0, s.places["a"], 1)
	s.expect(t, table, 0, map[string]int64{"a": 0, "b": 1, "c": 1})
}

// A pod may wait until its own node is deleted. Then the spread compares the hosts that are
// left.
func TestSpread_AVacatedHostDoesNotCount(t *testing.T) {
	web := app("web", spreads(label.Hostname, "web"))
	least := app("web", spreads(label.Hostname, "web", func(x *cluster.Spread) { x.MinDomains = 3 }))
	zones := app("web", spreads(label.Zone, "web"))
	tainted := app("web", spreads(label.Hostname, "web", func(x *cluster.Spread) { x.HonorTaints = true }))
	one, two := map[string]int{"a": 1, "b": 1, "c": 1}, map[string]int{"a": 2, "b": 2, "c": 2}
	for _, c := range []struct {
		name  string
		class topology.Class
		pods  map[string]int
		goes  topology.Vacated
		want  map[string]int64
	}{
		{"its pod may join another", web, one, topology.Vacated{Alone: true}, map[string]int64{"a": 1, "b": 1}},
		{"also once it is deleted", web, one, topology.Vacated{Alone: true, Ends: true}, map[string]int64{"a": 1, "b": 1}},
		{"and evicted", web, map[string]int{"a": 1, "b": 1}, topology.Vacated{Alone: true, Ends: true}, map[string]int64{"a": 1, "b": 1}},
		{"a host without pods of its own counts until it is deleted", web, map[string]int{"a": 1, "b": 1}, topology.Vacated{Alone: true}, map[string]int64{"a": 0, "b": 0}},
		{"another host without pods counts", web, map[string]int{"a": 1, "c": 1}, topology.Vacated{Alone: true}, map[string]int64{"a": 0, "b": 2}},
		{"the drain would wait for other pods", web, one, topology.Vacated{}, map[string]int64{"a": 0, "b": 0}},
		{"its second pod would wait for the first", web, two, topology.Vacated{Alone: true}, map[string]int64{"a": 0, "b": 0}},
		{"nobody waits where taints are honoured", tainted, two, topology.Vacated{}, map[string]int64{"a": 1, "b": 1}},
		{"minDomains is kept", least, one, topology.Vacated{Alone: true}, map[string]int64{"a": 0, "b": 0}},
		{"a zone counts", zones, one, topology.Vacated{Alone: true}, map[string]int64{"a": 0, "b": 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := (&stage{}).node("a", "z1").node("b", "z2").node("c", "z3")
			for _, node := range []string{"a", "b", "c"} {
				s.runs(node, c.pods[node], c.class)
			}
			c.goes.Node = "c"
			s.vacated = []topology.Vacated{c.goes, c.goes, {Node: "gone"}}
			table := s.table(t, c.class)
			table.Add(0, s.places["c"], -int64(c.pods["c"]))
			s.expect(t, table, 0, c.want)
		})
	}
}

func TestSpread_PodsDoNotAllMoveToTheLastHost(t *testing.T) {
	web := app("web", spreads(label.Hostname, "web"))
	s := (&stage{}).node("a", "z").node("b", "z").runs("a", 1, web).runs("b", 1, web)
	s.vacated = []topology.Vacated{{Node: "b", Alone: true}}
	table := s.table(t, web)
	s.expect(t, table, 0, map[string]int64{"a": 0})
	if why := table.Why(0, s.places["a"]); !strings.Contains(why, "without 1 node about to be deleted") {
		t.Errorf("why = %q", why)
	}
}

func TestSpread_ZonesFillToTheSkewAboveTheLeast(t *testing.T) {
	web := app("web", spreads(label.Zone, "web"))
	s := (&stage{}).node("a", "z1").node("b", "z2").node("c", "z2").runs("a", 3, web).runs("b", 1, web)
	table := s.table(t, web)
	s.expect(t, table, 0, map[string]int64{"a": 0, "b": 3, "c": 3})
	if why := table.Why(0, s.places["a"]); !strings.Contains(why, "3 pods in z1, 1 in the least of 2 domains, maxSkew 1") {
		t.Errorf("why = %q", why)
	}
	table.Offer(0, label.Zone, "z3")
	s.expect(t, table, 0, map[string]int64{"a": 0, "b": 0})
	if got := table.Room(0, topology.Place{Labels: label.FromMap(map[string]string{label.Zone: "z3"})}); got != 2 {
		t.Errorf("the zone that is offered takes %d pods, want 2", got)
	}
}

func TestSpread_TooFewDomainsCountAsAnEmptyOne(t *testing.T) {
	s := (&stage{}).node("a", "z1").node("b", "z2")
	web := app("web", spreads(label.Zone, "web", func(x *cluster.Spread) { x.MinDomains = 3 }))
	s.runs("a", 1, web).runs("b", 1, web)
	table := s.table(t, web)
	s.expect(t, table, 0, map[string]int64{"a": 0, "b": 0})
	to := topology.Place{Name: "new", Labels: label.FromMap(map[string]string{label.Zone: "z3"})}
	table.Add(0, to, 1)
	s.expect(t, table, 0, map[string]int64{"a": 1, "b": 1})
}

func TestSpread_NodesWithoutEveryKeyNeitherCountNorTake(t *testing.T) {
	web := app("web", spreads(label.Zone, "web"), spreads("rack", "web"))
	s := (&stage{}).node("a", "z1", "rack", "r1").node("b", "z2", "rack", "r1").node("c", "z3")
	s.runs("a", 1, web).runs("c", 5, web)
	table := s.table(t, web)
	s.expect(t, table, 0, map[string]int64{"a": 0, "b": 2, "c": 0})
}

func TestSpread_PoliciesSayWhichNodesCount(t *testing.T) {
	pick := func(s *cluster.Shape) { s.Selector = label.All(label.Is("pool", "x")) }
	for name, c := range map[string]struct {
		with func(*cluster.Spread)
		want int64 // in the only zone that the selector allows, where two pods are
	}{
		"nodes that the selector excludes do not count": {func(*cluster.Spread) {}, unlimited},
		"unless node affinity is ignored":               {func(x *cluster.Spread) { x.IgnoreAffinity = true }, 0},
		"taints do not matter unless they are honored":  {func(x *cluster.Spread) { x.IgnoreAffinity = true; x.HonorTaints = false }, 0},
		"a tainted node does not count where they are":  {func(x *cluster.Spread) { x.IgnoreAffinity = true; x.HonorTaints = true }, unlimited},
		"a soft spread refuses nothing":                 {func(x *cluster.Spread) { x.Soft = true }, unlimited},
		"a selector that is missing counts nobody":      {func(x *cluster.Spread) { x.Selector = cluster.PodSelector{Nothing: true} }, unlimited},
		"an empty selector counts nobody":               {func(x *cluster.Spread) { x.Selector = cluster.PodSelector{}; x.IgnoreAffinity = true }, unlimited},
	} {
		web := app("web", pick, spreads(label.Zone, "web", c.with))
		s := (&stage{}).node("a", "z1", "pool", "x").node("b", "z2").runs("a", 2, web)
		s.objects.Nodes[1].Taints = []cluster.Taint{{Key: "gpu", Effect: cluster.NoSchedule}}
		if got := s.table(t, web).Room(0, s.places["a"]); got != c.want {
			t.Errorf("%s: room %d, want %d", name, got, c.want)
		}
	}
}

func TestSpread_PodsThatAreBeingDeletedDoNotCount(t *testing.T) {
	web := app("web", spreads(label.Zone, "web"))
	s := (&stage{}).node("a", "z1").node("b", "z2").runs("a", 3, web)
	for i := range s.objects.Pods[:2] {
		s.objects.Pods[i].Deleting = true
	}
	s.expect(t, s.table(t, web), 0, map[string]int64{"a": 0, "b": 2})
	alone := app("db", apart(label.Zone, "web"))
	table := s.table(t, alone)
	s.expect(t, table, 0, map[string]int64{"a": 0, "b": unlimited})
}

func TestAffinity_TheFirstOfAGroupMayGoAnywhereAndTheRestFollow(t *testing.T) {
	web := app("web", together(label.Zone, "web"))
	s := (&stage{}).node("a", "z1").node("b", "z1").node("c", "z2").node("d", "", label.Zone, "")
	table := s.table(t, web, app("db", together(label.Zone, "web")))
	s.expect(t, table, 0, map[string]int64{"a": unlimited, "c": unlimited, "d": 0})
	s.expect(t, table, 1, map[string]int64{"a": 0, "c": 0})
	table.Add(0, s.places["a"], 1)
	s.expect(t, table, 0, map[string]int64{"a": unlimited, "b": unlimited, "c": 0})
	s.expect(t, table, 1, map[string]int64{"b": unlimited, "c": 0})
}

func TestAffinity_OnePodMustMeetAllTerms(t *testing.T) {
	both := app("web", together(label.Zone, "db"), func(s *cluster.Shape) {
		p := about(label.Zone, "db")
		p.Selector = cluster.PodSelector{Match: label.All(label.Is("tier", "fast"))}
		s.PodAffinity = append(s.PodAffinity, p)
	})
	fast := topology.Class{Namespace: "default", Labels: label.FromMap(map[string]string{"app": "cache", "tier": "fast"})}
	s := (&stage{}).node("a", "z1").node("b", "z2").runs("a", 1, app("db")).runs("a", 1, fast)
	s.expect(t, s.table(t, both), 0, map[string]int64{"a": 0, "b": 0})
	fast.Labels = label.FromMap(map[string]string{"app": "db", "tier": "fast"})
	s.runs("b", 1, fast)
	s.expect(t, s.table(t, both), 0, map[string]int64{"a": 0, "b": unlimited})
}

func TestApart_KeepsBothWays(t *testing.T) {
	shy := app("shy", apart(label.Hostname, "web"))
	s := (&stage{}).node("a", "z1").node("b", "z1").node("c", "z1").runs("a", 1, shy).runs("b", 1, app("web"))
	table := s.table(t, app("web"), shy, app("alone", apart(label.Hostname, "alone")))
	s.expect(t, table, 0, map[string]int64{"a": 0, "b": unlimited, "c": unlimited})
	s.expect(t, table, 1, map[string]int64{"a": unlimited, "b": 0, "c": unlimited})
	s.expect(t, table, 2, map[string]int64{"a": 1, "b": 1, "c": 1})
	table.Add(1, s.places["c"], 1)
	s.expect(t, table, 0, map[string]int64{"c": 0})
	table.Add(1, s.places["c"], -1)
	s.expect(t, table, 0, map[string]int64{"c": unlimited})
}

func TestTerms_ReachTheNamespacesTheyName(t *testing.T) {
	elsewhere := app("web")
	elsewhere.Namespace = "other"
	for name, c := range map[string]struct {
		namespaces  []string
		in          cluster.PodSelector
		want, exact int64
	}{
		"its own only":                                  {[]string{"default"}, cluster.PodSelector{Nothing: true}, unlimited, unlimited},
		"those listed":                                  {[]string{"default", "other"}, cluster.PodSelector{Nothing: true}, 0, 0},
		"all, with an empty selector":                   {nil, cluster.PodSelector{}, 0, 0},
		"those with the label":                          {nil, cluster.PodSelector{Match: label.All(label.Is("team", "blue"))}, 0, 0},
		"not those without":                             {nil, cluster.PodSelector{Match: label.All(label.Is("team", "red"))}, unlimited, unlimited},
		"one where no label at all would be enough":     {nil, cluster.PodSelector{Match: label.All(requirement("team", label.NotIn, "blue"))}, 0, unlimited},
		"one that must lack what it has":                {nil, cluster.PodSelector{Match: label.All(requirement("team", label.DoesNotExist))}, 0, unlimited},
		"those without another value":                   {nil, cluster.PodSelector{Match: label.All(requirement("team", label.NotIn, "red"))}, 0, 0},
		"listed, and a selector that it does not meet":  {[]string{"other"}, cluster.PodSelector{Match: label.All(requirement("team", label.NotIn, "blue"))}, 0, 0},
		"another listed, and one that it does not meet": {[]string{"default"}, cluster.PodSelector{Match: label.All(requirement("team", label.NotIn, "blue"))}, 0, unlimited},
	} {
		term := about(label.Hostname, "web")
		term.Namespaces, term.InNamespaces = c.namespaces, c.in
		shy := app("shy", func(s *cluster.Shape) { s.PodAntiAffinity = []cluster.PodTerm{term} })
		near := app("near", func(s *cluster.Shape) { s.PodAffinity = []cluster.PodTerm{term} })
		for exact, want := range map[bool]int64{false: c.want, true: c.exact} {
			s := (&stage{exact: exact}).node("a", "z1").runs("a", 1, elsewhere)
			s.objects.Namespaces = []cluster.Namespace{{Name: "other", Labels: label.FromMap(map[string]string{"team": "blue"})}}
			table := s.table(t, shy, near)
			if got := table.Room(0, s.places["a"]); got != want {
				t.Errorf("%s, exact %t: room %d, want %d", name, exact, got, want)
			}
			if got := table.Room(1, s.places["a"]); got != unlimited-want {
				t.Errorf("%s, exact %t: room beside what it seeks %d, want %d", name, exact, got, unlimited-want)
			}
		}
	}
}

// All versions of the scheduler read the terms of pods that run exactly.
func TestTerms_OfRunningPodsReachTheNamespacesThatMeetTheSelector(t *testing.T) {
	elsewhere := app("web")
	elsewhere.Namespace = "other"
	shy := app("shy", func(s *cluster.Shape) {
		p := about(label.Hostname, "web")
		p.Namespaces, p.InNamespaces = nil, cluster.PodSelector{Match: label.All(requirement("team", label.NotIn, "blue"))}
		s.PodAntiAffinity = []cluster.PodTerm{p}
	})
	for _, exact := range []bool{false, true} {
		for team, want := range map[string]int64{"blue": unlimited, "red": 0} {
			s := (&stage{exact: exact}).node("a", "z1").runs("a", 1, shy)
			s.objects.Namespaces = []cluster.Namespace{{Name: "other", Labels: label.FromMap(map[string]string{"team": team})}}
			if got := s.table(t, elsewhere).Room(0, s.places["a"]); got != want {
				t.Errorf("team %s, exact %t: room %d, want %d", team, exact, got, want)
			}
		}
	}
}

func TestHost_RulesForOneNodeToCome(t *testing.T) {
	s := (&stage{}).node("a", "z1")
	table := s.table(t,
		app("web", spreads(label.Hostname, "web", func(x *cluster.Spread) { x.MaxSkew = 2 })),
		app("web"),
		app("shy", apart(label.Hostname, "web")),
		app("alone", apart(label.Hostname, "alone")),
		app("pair", together(label.Hostname, "web")),
		app("team", together(label.Hostname, "team")),
	)
	for class, want := range []topology.Hosting{
		{Rules: []topology.HostRule{{ID: 0, Max: 2, Binds: true, Counted: true}, {ID: 1, Max: 0, Counted: true}}},
		{Rules: []topology.HostRule{{ID: 0, Max: 2, Counted: true}, {ID: 1, Max: 0, Counted: true}}},
		{Rules: []topology.HostRule{{ID: 1, Max: 0, Binds: true}}},
		{Rules: []topology.HostRule{{ID: 2, Max: 1, Binds: true, Counted: true}}},
		{Shares: true, With: []int{0, 1}},
		{Shares: true, First: true, With: []int{5}},
	} {
		if got := table.Host(class); !reflect.DeepEqual(got, want) {
			t.Errorf("class %d: %+v, want %+v", class, got, want)
		}
	}
	table.Add(5, s.places["a"], 1)
	if table.Host(5).First {
		t.Error("the second of a group may still start another node")
	}
}

// A place whose zone is open is in none to spreads and affinity, and in all that it
// may get to anti-affinity.
func TestRoom_OfAPlaceThatMayBecomeOneOfSeveral(t *testing.T) {
	s := (&stage{}).node("a", "z1").node("b", "z2").node("c", "z3").runs("c", 1, app("db"))
	web, db := app("web"), app("db")
	table := s.table(t, web, app("lone", apart(label.Zone, "web")), app("side", together(label.Zone, "web")), app("even", spreads(label.Zone, "even")),
		app("shy", apart(label.Zone, "db")), db)
	zones := func(zones ...string) topology.Place {
		var list []label.Lookup
		for _, z := range zones {
			list = append(list, label.FromMap(map[string]string{label.Zone: z}))
		}
		return topology.Place{Name: "new", Labels: list[0], Possible: topology.NewPossible(slices.Values(list))}
	}
	table.Add(0, zones("z1", "z2"), 1)
	s.expect(t, table, 1, map[string]int64{"a": 0, "b": 0, "c": unlimited})
	s.expect(t, table, 2, map[string]int64{"a": 0, "b": 0, "c": 0})
	if open, one := table.Room(3, zones("z1", "z2")), table.Room(3, zones("z1", "z1")); open != 0 || one != 1 {
		t.Errorf("room for one that must be spread evenly: %d where the zone is open, %d where it is not", open, one)
	}
	if near, far := table.Room(4, zones("z2", "z3")), table.Room(4, zones("z1", "z2")); near != 0 || far != unlimited {
		t.Errorf("room for one that must be apart from z3: %d where it may come to that, %d where not", near, far)
	}
	table.Add(0, zones("z1", "z2"), -1)
	s.expect(t, table, 1, map[string]int64{"a": unlimited, "b": unlimited, "c": unlimited})
}

func TestRoom_AllocatesNothing(t *testing.T) {
	web := app("web", spreads(label.Zone, "web"), spreads(label.Hostname, "web"), together(label.Zone, "web"), apart(label.Hostname, "db"))
	s := (&stage{}).node("a", "z1").node("b", "z2").runs("b", 1, app("db")).runs("a", 1, app("web"))
	table := s.table(t, web)
	to := topology.Place{Labels: s.places["a"].Labels}
	if n := testing.AllocsPerRun(100, func() {
		table.Room(0, s.places["a"])
		table.Room(0, s.places["b"])
		table.Room(0, to)
		table.Add(0, s.places["a"], 1)
		table.Add(0, s.places["a"], -1)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestBuild_WithoutRulesLimitsNothing(t *testing.T) {
	s := (&stage{}).node("a", "z1").runs("a", 3, app("web"))
	table := s.table(t, app("web"), app("soft", spreads(label.Zone, "web", func(x *cluster.Spread) { x.Soft = true })))
	for class := range 2 {
		s.expect(t, table, class, map[string]int64{"a": unlimited})
		if table.Bound(class) || len(table.Keys(class)) > 0 || len(table.Host(class).Rules) > 0 || table.AffinityTargets(class) != nil {
			t.Errorf("class %d is bound by a rule", class)
		}
		table.Add(class, s.places["a"], 1)
	}
}

func TestCounted_NamesTheKeysOverWhichSpreadsOfTheGivenClassesCount(t *testing.T) {
	s := (&stage{}).node("a", "z1")
	table := s.table(t, app("web", spreads(label.Zone, "web"), spreads(label.Hostname, "web")), app("web"), app("db", spreads(label.Zone, "web")), app("soft", spreads("rack", "db")))
	for _, c := range []struct {
		by   []int
		want [][]string
	}{
		{[]int{0, 1, 2}, [][]string{{label.Zone}, {label.Zone}, nil, nil}},
		{[]int{1, 3}, [][]string{nil, nil, {"rack"}, nil}},
		{nil, make([][]string, 4)},
	} {
		if got := table.Counted(c.by); !reflect.DeepEqual(got, c.want) {
			t.Errorf("by %v: %v, want %v", c.by, got, c.want)
		}
	}
}

// Pods that run stay where they are; those that were added have yet to come.
func TestTolerated_IsWhatKeepsOffNoPodThatWasAdded(t *testing.T) {
	web, db := app("web", spreads(label.Zone, "web", func(x *cluster.Spread) { x.MaxSkew = 3 })), app("web")
	s := (&stage{}).node("a", "z1").node("b", "z2").node("c", "", label.Zone, "")
	s.runs("b", 1, web)
	table := s.table(t, web, db)
	expect := func(want map[string]int64) {
		t.Helper()
		for name, n := range want {
			if got := table.Tolerated(1, s.places[name]); got != n {
				t.Errorf("%d on %s, want %d", got, name, n)
			}
		}
	}
	expect(map[string]int64{"a": unlimited, "b": unlimited, "c": unlimited})
	table.Add(0, s.places["a"], 1)
	expect(map[string]int64{"a": 3, "b": unlimited, "c": unlimited})
	table.Add(1, s.places["a"], 5)
	expect(map[string]int64{"a": 0, "b": unlimited})
	table.Add(0, s.places["a"], -1)
	expect(map[string]int64{"a": unlimited})
}

func TestExpect_TheZonesOfNodesToComeCountForPlacesToCome(t *testing.T) {
	t.Parallel()
	web := topology.Class{Namespace: "default", Labels: label.FromMap(map[string]string{"app": "web"})}
	web.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: cluster.PodSelector{Match: label.All(label.Is("app", "web"))}}}
	s := (&stage{}).node("up", "a")
	table := s.table(t, web)
	at := func(zone string) topology.Place {
		return topology.Place{Name: "claim-" + zone, Labels: label.FromMap(map[string]string{label.Zone: zone})}
	}
	table.Expect(0, at("b"), func() bool { return true })
	table.Expect(0, at("c"), func() bool { return true })
	table.Expect(0, at("d"), func() bool { return false })
	if got := table.Room(0, s.places["up"]); got != math.MaxInt64 {
		t.Errorf("room for %d in the only zone that has a node: the scheduler does not wait for the others", got)
	}
	for _, zone := range []string{"b", "c"} {
		if got := table.Room(0, at(zone)); got != 1 {
			t.Errorf("room for %d in zone %s, want 1: the other zone is empty, too", got, zone)
		}
		table.Add(0, at(zone), 1)
	}
	if got := table.Room(0, at("b")); got != 0 {
		t.Errorf("room for %d more in zone b, want none: zone a is empty", got)
	}
}
