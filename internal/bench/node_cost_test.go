package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/record"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/proof"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// withNodeCost is the Step of the case for a seed, with the daemon's node cost.
func withNodeCost(tb testing.TB, c Case, base Base, seed uint64) (engine.Input, engine.Output) {
	tb.Helper()
	in, _, err := c.Prepare(base, seed)
	if err != nil {
		tb.Fatal(err)
	}
	in.Policy.NodeCost = engine.DefaultPolicy().NodeCost
	return in, engine.Step(in)
}

// reportNodeCost gives the medians of what the default node cost makes of the case.
func reportNodeCost(b *testing.B, c Case, base Base) {
	b.Helper()
	var cost, nodes, gaps []float64
	for seed := range uint64(c.Seeds) {
		_, out := withNodeCost(b, c, base, seed+1)
		cost = append(cost, float64(out.Plan.Cost)/1e9)
		nodes = append(nodes, float64(out.Trace.Launches))
		if bound := boundOf(out.Plan); bound > 0 {
			gaps = append(gaps, 100*(float64(out.Plan.Total())/float64(bound)-1))
		}
	}
	b.ReportMetric(median(cost), UnitDefaultCost)
	b.ReportMetric(median(nodes), UnitDefaultNodes)
	if len(gaps) > 0 {
		b.ReportMetric(median(gaps), UnitDefaultGap)
	}
}

// With the default node cost, a plan costs no more than 2 % more than the plan that
// is made without it, all that nodes cost counted, and its bound is proven. Without the
// node cost, after a Step with it, the plan is the recorded one.
func TestCases_PlansCountTheNodeCostAndWithoutItAreAsRecorded(t *testing.T) {
	recorded, err := os.ReadFile("testdata/plans.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"w1", "w1-uncapped", "big", "mix"} {
		t.Run(name, func(t *testing.T) {
			c := named(t, name)
			base, err := c.Base()
			if err != nil {
				t.Fatal(err)
			}
			in, costly := withNodeCost(t, c, base, 1)
			for _, p := range costly.Plan.Proofs {
				key := func(namespace string, labels label.Labels, shape cluster.Shape) string {
					return in.Snapshot.GroupFor(namespace, labels, shape).Key
				}
				if err := proof.Check(in.Snapshot.Objects(), p, key); err != nil || p.Bound > costly.Plan.Total() {
					t.Errorf("bound %d of %d: %v", p.Bound, costly.Plan.Total(), err)
				}
			}
			in.Policy.NodeCost, in.Memory = 0, costly.Memory
			plain := engine.Step(in)
			line, err := record.Line(fmt.Sprintf("%s/seed-%d", c.Name, 1), plain)
			if err != nil || !strings.Contains(string(recorded), line+"\n") {
				t.Errorf("not as recorded without the node cost: %s, %v", line, err)
			}
			each := costly.Plan.Extra.Nodes / quantity.Money(costly.Trace.Launches)
			counted := plain.Plan.Cost + each*quantity.Money(plain.Trace.Launches)
			if costly.Plan.Total() > counted+counted/50 {
				t.Errorf("%d nodes for %s with the node cost, %d for %s without", costly.Trace.Launches, costly.Plan.Cost.Dollars(), plain.Trace.Launches, plain.Plan.Cost.Dollars())
			}
		})
	}
}
