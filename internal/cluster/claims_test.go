package cluster

import (
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func claimNames(s Snapshot) []string {
	var out []string
	for _, c := range s.InTransition() {
		out = append(out, c.Name)
	}
	return out
}

func TestInTransition_FollowsTheClaimItsNodeAndItsPods(t *testing.T) {
	claim := Claim{Name: "k", Node: "n", Launched: true, Registered: true, Initialized: true}
	node := Node{Name: "n", Ready: true}
	pod := app("a", "web")
	pod.Node = "n"
	settled := func() Objects { return Objects{Claims: []Claim{claim}, Nodes: []Node{node}, Pods: []Pod{pod}} }
	s := build(t, settled())
	if names := claimNames(s); len(names) != 0 || s.IsInTransition("k") {
		t.Fatalf("%v while its node runs a pod", names)
	}
	for name, spoil := range map[string]func(*Objects){
		"not launched":    func(o *Objects) { o.Claims[0].Launched = false },
		"not registered":  func(o *Objects) { o.Claims[0].Registered = false },
		"not initialized": func(o *Objects) { o.Claims[0].Initialized = false },
		"deleting":        func(o *Objects) { o.Claims[0].Deleting = true },
		"interrupted":     func(o *Objects) { o.Claims[0].Interruption = &Interruption{} },
		"no node":         func(o *Objects) { o.Claims[0].Node = "" },
		"another node":    func(o *Objects) { o.Claims[0].Node = "m" },
		"node not ready":  func(o *Objects) { o.Nodes[0].Ready = false },
		"node cordoned":   func(o *Objects) { o.Nodes[0].Cordoned = true },
		"node deleting":   func(o *Objects) { o.Nodes[0].Deleting = true },
		"pod elsewhere":   func(o *Objects) { o.Pods[0].Node = "m" },
		"pod pinned":      func(o *Objects) { o.Pods[0].Pinned = true },
		"node reserved":   func(o *Objects) { o.Nodes[0].Taints = []Taint{{Key: "a", Effect: PreferNoSchedule}} },
	} {
		o := settled()
		spoil(&o)
		spoilt := put(t, s, o)
		if names := claimNames(spoilt); !slices.Equal(names, []string{"k"}) || !spoilt.IsInTransition("k") {
			t.Errorf("%s: %v", name, names)
		}
		if names := claimNames(put(t, spoilt, settled())); len(names) != 0 {
			t.Errorf("%s: %v after that is over", name, names)
		}
	}
	for name, gone := range map[string]Removed{"node": {Nodes: []string{"n"}}, "pod": {Pods: []string{"shop/a"}}} {
		left, err := s.Apply(Delta{Removed: gone})
		if names := claimNames(left); err != nil || len(names) != 1 {
			t.Errorf("%v, %v when the %s is gone", names, err, name)
		}
	}
}

// A selector that looks at another label makes the index group all pods anew,
// here in the very delta that takes the node away.
func TestInTransition_OutlivesGroupingAnew(t *testing.T) {
	pod, looks := app("a", "web"), app("b", "web")
	pod.Node = "n"
	looks.Shape.Spread = []Spread{{Key: label.Zone, MaxSkew: 1, Selector: PodSelector{Match: label.All(label.Is("app", "web"))}}}
	s := build(t, Objects{
		Claims: []Claim{{Name: "k", Pool: "p", Node: "n", InstanceType: "a", Launched: true, Registered: true, Initialized: true}},
		Nodes:  []Node{{Name: "n", Ready: true}}, Pods: []Pod{pod},
	})
	s, err := s.Apply(Delta{Put: Objects{Pods: []Pod{looks}}, Removed: Removed{Nodes: []string{"n"}}})
	if names := claimNames(s); err != nil || !slices.Equal(names, []string{"k"}) {
		t.Errorf("%v, %v", names, err)
	}
	if lots := slices.Collect(s.Lots("p")); len(lots) != 1 || lots[0].Count != 1 {
		t.Errorf("%+v", lots)
	}
}

func TestLots_CountAlikeTogether(t *testing.T) {
	of := func(name, pool, instanceType string, cpu int64) Claim {
		return Claim{Name: name, Pool: pool, Class: "c", InstanceType: instanceType, Allocatable: quantity.Resources{MilliCPU: cpu}, Requirements: label.All(label.Is("a", name))}
	}
	s := build(t, Objects{Claims: []Claim{
		of("k0", "p", "m", 900), of("k1", "p", "m", 900), of("k2", "p", "m", 800), of("k3", "p", "", 0), of("k4", "p", "", 0), of("k5", "pp", "m", 900),
	}})
	var counts []int64
	for l := range s.Lots("p") {
		counts = append(counts, l.Count)
		if (l.InstanceType == "") != (len(l.Requirements) > 0) {
			t.Errorf("%+v", l)
		}
	}
	if slices.Sort(counts); !slices.Equal(counts, []int64{1, 1, 1, 2}) {
		t.Errorf("%v", counts)
	}
	gone, err := s.Apply(Delta{Removed: Removed{Claims: []string{"k0", "k1", "k3"}}})
	if n := len(slices.Collect(gone.Lots("p"))); err != nil || n != 2 {
		t.Errorf("%d, %v", n, err)
	}
}

// NodeClaims that may become the same use the same memory for it, so that callers can
// tell by it, and one Lot counts them, whatever becomes of one of them.
func TestLots_ShareWhatClaimsWithoutATypeMayBecome(t *testing.T) {
	of := func(name, value string) Claim {
		return Claim{
			Name: name, Pool: "p", Class: "c", Requirements: label.All(label.Is("a", value)), Labels: label.Labels{{Key: "l", Value: "v"}},
			Taints: []Taint{{Key: "t", Effect: NoSchedule}},
		}
	}
	s := build(t, Objects{Claims: []Claim{of("k0", "x"), of("k1", "x"), of("k2", "y")}})
	shared := func(a, b string) bool {
		x, _ := s.Claim(a)
		y, _ := s.Claim(b)
		return &x.Requirements[0] == &y.Requirements[0] && &x.Labels[0] == &y.Labels[0] && &x.Taints[0] == &y.Taints[0]
	}
	lots := func() (counts []int64) {
		for l := range s.Lots("p") {
			counts = append(counts, l.Count)
		}
		slices.Sort(counts)
		return counts
	}
	if got := lots(); !slices.Equal(got, []int64{1, 2}) || !shared("k0", "k1") || shared("k0", "k2") {
		t.Errorf("%v", got)
	}
	before, _ := s.Claim("k1")
	put := func(claims ...Claim) {
		t.Helper()
		var err error
		if s, err = s.Apply(Delta{Put: Objects{Claims: claims}}); err != nil {
			t.Fatal(err)
		}
	}
	put(of("k0", "y"), of("k1", "x"))
	if after, _ := s.Claim("k1"); &after.Requirements[0] != &before.Requirements[0] || !shared("k0", "k2") || shared("k0", "k1") {
		t.Error("what is put unchanged has other memory, or what changed has not")
	}
	launched := of("k2", "y")
	launched.InstanceType = "m"
	put(launched)
	if got := lots(); !slices.Equal(got, []int64{1, 1, 1}) {
		t.Errorf("%v", got)
	}
}

func TestState_KnowsItsClaim(t *testing.T) {
	s := build(t, Objects{Nodes: []Node{{Name: "m"}, {Name: "n"}}, Claims: []Claim{{Name: "k0", Node: "n"}, {Name: "k1", Node: "n"}}})
	n, _ := s.State("n")
	if c, ok := n.Claim(); !ok || c.Name != "k1" {
		t.Errorf("%+v", c)
	}
	m, _ := s.State("m")
	if _, ok := m.Claim(); ok {
		t.Error("a node that no NodeClaim names has one")
	}
	s, err := s.Apply(Delta{Removed: Removed{Nodes: []string{"m", "n"}, Claims: []string{"k0", "k1"}}})
	if err != nil || s.loads.size+s.inTransition.size+s.reserved.size+s.lots.size+s.kinds.size != 0 {
		t.Errorf("%d loads, %d claims and %d lots are kept of nothing, %v", s.loads.size, s.inTransition.size, s.lots.size, err)
	}
}
