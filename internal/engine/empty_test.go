package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// withEmptyNodes draws a cluster in which some nodes have lost their pods, or never got them.
func withEmptyNodes(t *testing.T, rt *rapid.T) *world {
	t.Helper()
	w := newWorld(t)
	after := rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Second, 30 * time.Second, 5 * time.Minute}).Draw(rt, "consolidateAfter")
	w.objects.Pools[0].Disruption = cluster.Disruption{
		Policy: rapid.SampledFrom([]cluster.Policy{cluster.WhenEmpty, cluster.WhenEmptyOrUnderutilized}).Draw(rt, "policy"),
		After:  after, Never: rapid.IntRange(0, 7).Draw(rt, "never") == 0, Paused: rapid.IntRange(0, 7).Draw(rt, "paused") == 0,
	}
	if most := rapid.Int64Range(-1, 2).Draw(rt, "budget"); most >= 0 {
		w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: most}}
	}
	n := rapid.IntRange(1, 4).Draw(rt, "nodes")
	w.pods("web", n, 1500)
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches)
	if rapid.Bool().Draw(rt, "pods never come") {
		opened := w.step()
		w.drop(func(cluster.Pod) bool { return true })
		w.open(opened.Plan.Actions)
	} else {
		w.open(w.step().Plan.Actions)
	}
	for i := range w.objects.Claims {
		c := &w.objects.Claims[i]
		c.InitializedAt = w.now
		w.onNode(c.Node, func(node *cluster.Node) {
			switch rapid.SampledFrom([]string{"", "", "", "do not disrupt", "protected", "stays", "cordoned"}).Draw(rt, "node") {
			case "do not disrupt":
				node.DoNotDisrupt = true
			case "protected":
				node.ProtectedUntil = w.now.Add(40 * time.Second)
			case "stays":
				node.Stays = true
			case "cordoned":
				node.Cordoned = true
			}
		})
		if empty := rapid.Bool().Draw(rt, "empty"); empty {
			w.drop(func(p cluster.Pod) bool { return p.Node == c.Node })
		}
	}
	if rapid.Bool().Draw(rt, "memory is lost") {
		w.memory = engine.Memory{}
	}
	return w
}

// disagreements returns where a Step that has come to the output decides otherwise about
// empty nodes than the reasons say that are given after it, on the same cluster. What a
// budget leaves for others when the removal of a node begins, only the next Snapshot shows.
func (w *world) disagreements(out engine.Output) (list []string, next time.Time) {
	w.t.Helper()
	snap, err := cluster.New(w.objects)
	if err != nil {
		w.t.Fatal(err)
	}
	begins := map[string]bool{}
	for _, d := range of[plan.Disrupt](out) {
		begins[d.Claim] = true
	}
	for _, x := range engine.Standings(engine.Input{Snapshot: snap, Memory: w.memory, Policy: w.policy, Now: w.now, Seed: w.seed}).Nodes {
		if x.DeletedFor != "" || x.For != plan.Empty {
			continue
		}
		switch said := x.Stay.Reason == plan.NextToGo; {
		case begins[x.Claim] && !said:
			list = append(list, fmt.Sprintf("%s goes, and is said to stay: %s", x.Claim, x.Stay.Explain()))
		case said && !begins[x.Claim] && len(begins) == 0:
			list = append(list, x.Claim+" stays, and nothing is said to keep it")
		}
		if x.Stay.Reason == plan.NotQuiet && !x.Stay.Until.IsZero() && (next.IsZero() || x.Stay.Until.Before(next)) {
			next = x.Stay.Until
		}
	}
	slices.Sort(list)
	return list, next
}

// TestStandings_WhatIsSaidOfEmptyNodesIsWhatStepsDecide also plays on until the times that
// are told: then the node is deleted, or something else keeps it.
func TestStandings_WhatIsSaidOfEmptyNodesIsWhatStepsDecide(t *testing.T) {
	var went, waited int
	rapid.Check(t, func(rt *rapid.T) {
		w := withEmptyNodes(t, rt)
		for range 12 {
			out := w.step()
			list, next := w.disagreements(out)
			if len(list) > 0 {
				rt.Fatalf("after %s: %q", w.now.Sub(start), list)
			}
			went += len(of[plan.Disrupt](out))
			w.obey(out)
			switch ahead := next.Sub(w.now); {
			case next.IsZero() || ahead <= 0:
				w.now = w.now.Add(time.Second)
			case rapid.Bool().Draw(rt, "just before"):
				w.now = next.Add(-time.Nanosecond)
			default:
				w.now = next
				waited++
			}
		}
	})
	if went == 0 || waited == 0 {
		t.Errorf("%d nodes went, %d times were told: the worlds show nothing", went, waited)
	}
}
