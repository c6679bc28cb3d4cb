package fit_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func requirement(t testing.TB, key string, op label.Operator, values ...string) label.Requirement {
	t.Helper()
	r, err := label.NewRequirement(key, op, values...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func labels(pairs ...string) label.Labels {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return label.FromMap(m)
}

func TestAffinity_SelectorAndAnyTerm(t *testing.T) {
	in := func(key, value string) label.Requirements { return label.All(label.Is(key, value)) }
	gt := label.All(requirement(t, "cores", label.Gt, "4"))
	for name, c := range map[string]struct {
		shape cluster.Shape
		node  label.Labels
		want  bool
	}{
		"no requirement meets every node":            {cluster.Shape{}, nil, true},
		"the selector must be met":                   {cluster.Shape{Selector: in("a", "1")}, labels("a", "2"), false},
		"any term is enough":                         {cluster.Shape{NodeAffinity: []label.Requirements{in("a", "1"), in("a", "2")}}, labels("a", "2"), true},
		"a term does not replace the selector":       {cluster.Shape{Selector: in("a", "1"), NodeAffinity: []label.Requirements{in("b", "1")}}, labels("b", "1"), false},
		"an empty term meets no node":                {cluster.Shape{NodeAffinity: []label.Requirements{nil}}, labels("a", "1"), false},
		"an empty term takes nothing from the other": {cluster.Shape{NodeAffinity: []label.Requirements{nil, in("a", "1")}}, labels("a", "1"), true},
		"an absent label meets NotIn":                {cluster.Shape{Selector: label.All(requirement(t, "a", label.NotIn, "1"))}, nil, true},
		"an absent label does not meet Gt":           {cluster.Shape{NodeAffinity: []label.Requirements{gt}}, nil, false},
		"Gt compares numbers":                        {cluster.Shape{NodeAffinity: []label.Requirements{gt}}, labels("cores", "16"), true},
		"what is no number does not meet Gt":         {cluster.Shape{NodeAffinity: []label.Requirements{gt}}, labels("cores", "many"), false},
		"a node's name is a label":                   {cluster.Shape{NodeAffinity: []label.Requirements{in(label.NodeName, "n")}}, labels(label.NodeName, "n"), true},
		"a node to come has no name":                 {cluster.Shape{NodeAffinity: []label.Requirements{in(label.NodeName, "n")}}, nil, false},
	} {
		if _, got := fit.Affinity(&c.shape, c.node); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestVolumes_EveryVolumeNeedsOneOfItsPlaces(t *testing.T) {
	in := func(zone string) label.Requirements { return label.All(label.Is(label.Zone, zone)) }
	shape := cluster.Shape{Volumes: [][]label.Requirements{{in("a"), in("b")}, {in("b"), in("c")}}}
	for zone, want := range map[string]bool{"a": false, "b": true, "c": false, "d": false} {
		if _, got := fit.Labels(shape, labels(label.Zone, zone)); got != want {
			t.Errorf("zone %s: got %t", zone, got)
		}
	}
	if _, ok := fit.Volumes(&cluster.Shape{Volumes: [][]label.Requirements{{}}}, labels(label.Zone, "a")); ok {
		t.Error("a volume without a possible place fits somewhere")
	}
}

func TestPortsConflict_OnlyOnOneAddress(t *testing.T) {
	port := func(ip, protocol string, n int32) []cluster.HostPort {
		return []cluster.HostPort{{IP: ip, Protocol: protocol, Port: n}}
	}
	for name, c := range map[string]struct {
		a, b []cluster.HostPort
		want bool
	}{
		"the same port":         {port("10.0.0.1", "TCP", 80), port("10.0.0.1", "TCP", 80), true},
		"another port":          {port("0.0.0.0", "TCP", 80), port("0.0.0.0", "TCP", 81), false},
		"another protocol":      {port("0.0.0.0", "TCP", 80), port("0.0.0.0", "UDP", 80), false},
		"another address":       {port("10.0.0.1", "TCP", 80), port("10.0.0.2", "TCP", 80), false},
		"every address":         {port("0.0.0.0", "TCP", 80), port("10.0.0.2", "TCP", 80), true},
		"every IPv6 address is": {port("::", "TCP", 80), port("10.0.0.2", "TCP", 80), false},
		"no port":               {nil, port("0.0.0.0", "TCP", 80), false},
	} {
		if got := fit.PortsConflict(c.a, c.b); got != c.want || fit.PortsConflict(c.b, c.a) != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestNode_RefusesByTaintSelectorAndVolume(t *testing.T) {
	node := labels(label.Zone, "a")
	soft := []cluster.Taint{{Key: "soft", Effect: cluster.PreferNoSchedule}}
	if !fit.Node(cluster.Shape{}, &node, soft) {
		t.Error("a taint that only prefers keeps the pod away")
	}
	for name, c := range map[string]struct {
		shape  cluster.Shape
		taints []cluster.Taint
	}{
		"taint":    {cluster.Shape{}, []cluster.Taint{{Key: "gpu", Effect: cluster.NoExecute}}},
		"selector": {cluster.Shape{Selector: label.All(label.Is(label.Zone, "b"))}, nil},
		"volume":   {cluster.Shape{Volumes: [][]label.Requirements{{label.All(label.Is(label.Zone, "b"))}}}, nil},
	} {
		if fit.Node(c.shape, &node, c.taints) {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestFilters_AllocateNothingWhereTheySayYes(t *testing.T) {
	node := labels(label.Zone, "a", label.Arch, "arm64")
	shape := cluster.Shape{
		Requests: quantity.Resources{MilliCPU: 1, PodSlots: 1}, Selector: label.All(label.Is(label.Arch, "arm64")),
		NodeAffinity: []label.Requirements{label.All(label.Is(label.Zone, "b")), label.All(label.Is(label.Zone, "a"))},
		Tolerations:  []cluster.Toleration{{Key: "x", Exists: true}},
		Volumes:      [][]label.Requirements{{label.All(label.Is(label.Zone, "a"))}},
		Ports:        []cluster.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: 81}},
	}
	taints := []cluster.Taint{{Key: "x", Effect: cluster.NoSchedule}}
	taken := []cluster.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: 80}}
	if n := testing.AllocsPerRun(100, func() {
		if !fit.Node(shape, &node, taints) || fit.PortsConflict(taken, shape.Ports) {
			t.Fatal("refused")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestOverhead_CountsDaemonSetsThatRunThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var daemons []cluster.DaemonSet
		var want quantity.Resources
		node := labels("disk", rapid.SampledFrom([]string{"ssd", "hdd"}).Draw(t, "disk"))
		taints := []cluster.Taint{{Key: "gpu", Effect: cluster.NoSchedule}}
		for i := range rapid.IntRange(0, 5).Draw(t, "daemons") {
			shape := cluster.Shape{Requests: quantity.Resources{MilliCPU: int64(i) + 1, PodSlots: 1}}
			disk, tolerates := rapid.SampledFrom([]string{"", "ssd"}).Draw(t, "on"), rapid.Bool().Draw(t, "tolerates")
			if disk != "" {
				shape.Selector = label.All(label.Is("disk", disk))
			}
			if tolerates {
				shape.Tolerations = []cluster.Toleration{{Exists: true}}
			}
			if has, _ := node.Get("disk"); tolerates && (disk == "" || disk == has) {
				want = want.Add(shape.Requests)
			}
			daemons = append(daemons, cluster.DaemonSet{Shape: shape})
		}
		if got := fit.Overhead(daemons, node, taints); got.Compare(want) != 0 {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
