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

// oneNode is a fleet of one node with one pod, which may be deleted to save money.
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

// A node of the target waits for evicted pods: as long as they move, for a minute at most,
// and then until they have landed.
func TestStandings_ANodeOfTheTargetSaysWhatItWaitsFor(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	chosen := State{target: target{names: []string{"n"}}}
	landed, moves, phased := chosen, chosen, chosen
	landed.busy = now.Add(-landsWithin / 2)
	moves.busy, moves.blockedSince = landed.busy, now.Add(-10*time.Second)
	phased.target.ratios = []int{-1}
	for name, c := range map[string]struct {
		state  State
		closed memory.Landing
		want   plan.Stay
	}{
		"its turn":  {chosen, memory.Landing{}, plan.Stay{Reason: plan.NextToGo}},
		"landed":    {landed, memory.Landing{}, plan.Stay{Reason: plan.NextToGo, Detail: "evicted pods find their places first", Until: now.Add(landsWithin / 2)}},
		"evictions": {moves, memory.Landing{Since: now}, plan.Stay{Reason: plan.NextToGo, Detail: "evicted pods find their places first", Until: now.Add(blockedFor - 10*time.Second)}},
		"its phase": {phased, memory.Landing{}, plan.Stay{Reason: plan.NextToGo, Detail: "nodes with more or less memory for each CPU are deleted first"}},
	} {
		in := Input{View: view.Of(oneNode(t), view.DefaultPolicy(), now)}
		if got := Standings(in, c.state, memory.Memory{Landing: c.closed}).Nodes[0].Stay; got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A search is repeated when a node may be deleted that may not be now: not for a node that
// never may, and no sooner than everything allows that.
func TestGates_TheSearchWaitsForTheLastGateAndForNoneThatStaysShut(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		policy cluster.Policy
		want   plan.Stay
	}{
		{cluster.WhenEmptyOrUnderutilized, plan.Stay{Reason: plan.NotQuiet, Until: now.Add(time.Hour)}},
		{cluster.WhenEmpty, plan.Stay{Reason: plan.PolicyForbids}},
	} {
		s := oneNode(t)
		pool, _ := s.Pool("p")
		pool.Disruption = cluster.Disruption{Policy: c.policy, After: time.Hour}
		claim, _ := s.Claim("n")
		claim.LastPodEvent = now
		node, _ := s.Node("n")
		node.ProtectedUntil = now.Add(10 * time.Minute)
		s, err := s.Apply(cluster.Delta{Put: cluster.Objects{Pools: []cluster.Pool{pool}, Claims: []cluster.Claim{claim}, Nodes: []cluster.Node{node}}})
		if err != nil {
			t.Fatal(err)
		}
		g := newGates(view.Of(s, view.DefaultPolicy(), now), &memory.Memory{}, &State{})
		if got := g.excludes(g.saving(&claim)); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.policy, got, c.want)
		}
		if got := g.keeps(g.saving(&claim), toChoose); got.Reason != plan.NodeProtected {
			t.Errorf("%s: the reason shown is %+v", c.policy, got)
		}
	}
}
