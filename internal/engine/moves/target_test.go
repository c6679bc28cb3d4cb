package moves

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// ofRatios is nodes with 4, 8 and 2 GiB a core: so many of each.
func ofRatios(t *testing.T, counts ...int) cluster.Snapshot {
	t.Helper()
	var o cluster.Objects
	for k, count := range counts {
		for i := range count {
			name := fmt.Sprintf("%s%02d", []string{"m", "r", "c"}[k], i)
			o.Nodes = append(o.Nodes, cluster.Node{
				Name: name, UID: name, Ready: true, Claim: name,
				Allocatable: quantity.Resources{MilliCPU: 1000, MemoryBytes: []int64{4, 8, 2}[k] << 30, EphemeralBytes: 1 << 40, PodSlots: 100},
			})
			o.Claims = append(o.Claims, cluster.Claim{Name: name, UID: name, Node: name, Launched: true, Registered: true, Initialized: true})
		}
	}
	s, err := cluster.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAim_ALargeTargetHasAPhaseForEachRatio(t *testing.T) {
	t.Parallel()
	s := ofRatios(t, 6, 8, 2)
	names := []string{"c00", "m00", "m01", "m02", "r00", "r01", "r02", "r03", "r04"}
	got := aim(s, names, true, nil)
	if !slices.Equal(got.ratios, []int{13, 12, 11}) || !slices.Equal(got.names, names) {
		t.Errorf("%+v, want the most numerous ratio first", got)
	}
	for name, c := range map[string]target{
		"few nodes":                aim(s, names[:leastPhased-1], true, nil),
		"a small part":             aim(ofRatios(t, 200, 10), append([]string{"m00"}, names[1:]...), true, nil),
		"not kept on their ratios": aim(s, names, false, nil),
	} {
		if len(c.ratios) > 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// What a plan of preferences does to each node, by name.
func preferencesOf(t *testing.T, s cluster.Snapshot, x target) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, a := range x.preferences(view.Of(s, view.Policy{}, time.Unix(1, 0))) {
		r, is := a.(plan.Release)
		if !is {
			t.Fatalf("%+v", a)
		}
		for _, taint := range r.Puts {
			out[r.Node] += "+" + taint.Key
		}
		for _, taint := range r.Lifts {
			out[r.Node] += "-" + taint.Key
		}
	}
	return out
}

func TestPreferences_KeepPodsOnNodesOfThePresentRatio(t *testing.T) {
	t.Parallel()
	next, later := room.LeavesNext().Key, room.FillsLater().Key
	s := ofRatios(t, 2, 2)
	x := target{names: []string{"m00", "r00"}, ratios: []int{12, 13}}
	want := map[string]string{"m00": "+" + next + "+" + later, "r00": "+" + next + "+" + later, "r01": "+" + later}
	if got := preferencesOf(t, s, x); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	with, err := s.Apply(cluster.Delta{Put: cluster.Objects{Nodes: []cluster.Node{tainted(t, s, "m00", room.LeavesNext(), room.FillsLater()), tainted(t, s, "r01", room.FillsLater())}}})
	if err != nil {
		t.Fatal(err)
	}
	x.ratios = x.ratios[1:]
	want = map[string]string{"m01": "+" + later, "r00": "+" + next + "+" + later, "r01": "-" + later}
	if got := preferencesOf(t, with, x); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("in the next phase %v, want %v", got, want)
	}
	want = map[string]string{"m00": "-" + next + "-" + later, "r01": "-" + later}
	if got := preferencesOf(t, with, target{}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after the target %v, want %v", got, want)
	}
}

// tainted is the node with the taints.
func tainted(t *testing.T, s cluster.Snapshot, name string, taints ...cluster.Taint) cluster.Node {
	t.Helper()
	n, up := s.Node(name)
	if !up {
		t.Fatal(name)
	}
	n.Taints = taints
	return n
}

// The same search would find the same target again, and it would come to nothing again.
func TestSweep_ASearchWaitsLongerAfterTargetsThatCameToNothing(t *testing.T) {
	t.Parallel()
	fleet := func(pods int) cluster.Snapshot {
		o := cluster.Objects{Nodes: []cluster.Node{{Name: "n", UID: "n", Ready: true, Allocatable: quantity.Resources{MilliCPU: 1000, PodSlots: 1000}}}}
		for i := range pods {
			o.Pods = append(o.Pods, cluster.Pod{Namespace: "default", Name: fmt.Sprint(i), UID: fmt.Sprint(i), Node: "n"})
		}
		s, err := cluster.New(o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := State{of: fleet(200)}
	for failed, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, 32 * time.Second} {
		if s.failedTargets = failed; s.pause(fleet(201)) != want {
			t.Errorf("after %d: %s, want %s", failed, s.pause(fleet(201)), want)
		}
	}
	if got := s.pause(fleet(190)); got != time.Second {
		t.Errorf("after many pods have gone: %s", got)
	}
}
