package moves

import (
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// oneNode is a fleet of one node with one pod, which may go to save money.
func oneNode(t *testing.T) cluster.Snapshot {
	t.Helper()
	s, err := cluster.New(cluster.Objects{
		Classes: []cluster.Class{{Name: "c", Ready: true, Types: []catalog.InstanceType{{
			Name: "t", Offerings: []catalog.Offering{{Zone: "a", CapacityType: "on-demand", Price: 1, Available: true}},
		}}}},
		Pools:  []cluster.Pool{{Name: "p", Class: "c", Ready: true, Disruption: cluster.Disruption{Policy: cluster.WhenEmptyOrUnderutilized}}},
		Claims: []cluster.Claim{{Name: "n", UID: "n", Pool: "p", Class: "c", InstanceType: "t", Zone: "a", CapacityType: "on-demand", Node: "n", Launched: true, Registered: true, Initialized: true}},
		Nodes:  []cluster.Node{{Name: "n", UID: "n", Claim: "n", Ready: true}},
		Pods:   []cluster.Pod{{Namespace: "default", Name: "x", UID: "x", Node: "n"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStandings_MovesThatAreHeldSayUntilWhen(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	until := now.Add(time.Minute)
	s := oneNode(t)
	st := State{breakers: breakers{"p": {now, time.Minute}}}
	standings := func(at time.Time) plan.Standings {
		return Standings(Input{View: view.Of(s, view.DefaultPolicy(), at)}, st, memory.Memory{})
	}
	for _, target := range [][]string{nil, {"n"}} {
		st.target.names = target
		out := standings(now)
		if n := out.Nodes[0].Stay; n.Reason != plan.MovesHeld || !n.Until.Equal(until) {
			t.Errorf("%+v", n)
		}
		if p := out.Pools[0]; p.Reason != plan.PoolHeld || !p.Until.Equal(until) || !strings.Contains(p.Explain(), "until 2026-01-01T00:01:00Z") {
			t.Errorf("%+v: %s", p, p.Explain())
		}
		if len(out.Target.Claims) != len(target) || len(target) > 0 && out.Target.Frees == 0 {
			t.Errorf("target %+v", out.Target)
		}
	}
	if n := standings(until).Nodes[0].Stay; n.Reason != plan.NextToGo {
		t.Errorf("after the pause: %+v", n)
	}
	st.target.names = nil
	if p := standings(until).Pools[0]; p.Reason != plan.PoolSearching {
		t.Errorf("after the pause: %+v", p)
	}
}

// Nothing ends the turn of the others in an untold time: evicted pods hold a node of the
// target for a minute at most.
func TestStandings_ANodeOfTheTargetSaysWhatItWaitsFor(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	chosen := State{target: target{names: []string{"n"}}}
	lands, phased := chosen, chosen
	lands.busy = now
	phased.target.ratios = []int{-1}
	for name, c := range map[string]struct {
		state State
		want  plan.Stay
	}{
		"its turn":  {chosen, plan.Stay{Reason: plan.NextToGo}},
		"evictions": {lands, plan.Stay{Reason: plan.NextToGo, Detail: "evicted pods find their places first", Until: now.Add(landsWithin)}},
		"its phase": {phased, plan.Stay{Reason: plan.NextToGo, Detail: "nodes with more or less memory for each CPU go first"}},
	} {
		in := Input{View: view.Of(oneNode(t), view.DefaultPolicy(), now)}
		if got := Standings(in, c.state, memory.Memory{}).Nodes[0].Stay; got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
