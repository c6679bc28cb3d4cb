package bench

import (
	"runtime"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/proof"
)

// audited is the fleet that a Step made of w1, with the daemon's own policy.
func audited(tb testing.TB) (engine.Input, cluster.Objects) {
	tb.Helper()
	c := Cases()[0]
	base, err := c.Base()
	if err != nil {
		tb.Fatal(err)
	}
	in, pods, err := c.Prepare(base, 1)
	if err != nil {
		tb.Fatal(err)
	}
	objects := settled(base, pods, engine.Step(in).Plan)
	done, err := cluster.New(objects)
	if err != nil {
		tb.Fatal(err)
	}
	in = engine.Input{Snapshot: done, Policy: engine.DefaultPolicy(), Now: Began()}
	in.Memory = engine.Step(in).Memory
	return in, objects
}

// benchmarkAudit audits a fleet of 10,000 pods.
func benchmarkAudit(b *testing.B) {
	in, _ := audited(b)
	runtime.GC()
	b.ReportAllocs()
	var a plan.Audit
	for b.Loop() {
		a = engine.Audit(in)
	}
	gap, _ := a.Proof.Gap(a.Cost)
	b.ReportMetric(float64(a.Cost)/1e9, UnitCost)
	b.ReportMetric(float64(a.Proof.Bound)/1e9, UnitBound)
	b.ReportMetric(float64(gap)/10, UnitGap)
	b.ReportMetric(float64(len(a.Constraints)), "constraints")
}

func TestAudit_AFleetOfRealTypesIsNearItsBoundAndItsConstraintsHavePrices(t *testing.T) {
	t.Parallel()
	in, objects := audited(t)
	a := engine.Audit(in)
	if err := proof.Check(objects, a.Proof, func(namespace string, l label.Labels, s cluster.Shape) string {
		return in.Snapshot.GroupFor(namespace, l, s).Key
	}); err != nil {
		t.Fatal(err)
	}
	gap, ok := a.Proof.Gap(a.Cost)
	if !ok || gap < 0 || float64(gap)/10 > Cases()[0].Required.Gap {
		t.Errorf("the gap is %d thousandths: %s", gap, a.Explain())
	}
	for i, c := range a.Constraints {
		t.Log(c.Explain())
		if i < 3 && c.Price() <= 0 { // no spot, no arm64, no large types
			t.Errorf("%s has no price", c.Rule)
		}
	}
}
