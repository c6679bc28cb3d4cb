package engine_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/proof"
)

// The certificate of every plan stands before the checker that starts from the
// raw objects, and the plan costs no less than it says.
func TestStep_ItsCertificateIsProvenFromTheRawObjects(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		drawApps(rt, w)
		if rapid.Bool().Draw(rt, "reserved") {
			s := scenario{world: w}
			s.reserve("m5.xlarge", 1)
		}
		if rapid.Bool().Draw(rt, "another pool") {
			w.pool(cluster.Pool{Name: "heavy", Weight: 10, Taints: []cluster.Taint{{Key: "heavy", Effect: cluster.NoSchedule}}})
		}
		checkCertificate(rt, w, w.step())
		if stage := rapid.IntRange(0, 2).Draw(rt, "stage"); stage > 0 {
			launches := of[plan.Launch](w.step())
			w.order(launches)
			if stage > 1 {
				w.bringUp(launches)
				w.open(w.step().Plan.Actions)
			}
		}
		w.pods("later", rapid.IntRange(1, 9).Draw(rt, "later"), rapid.Int64Range(100, 3800).Draw(rt, "cpu"))
		checkCertificate(rt, w, w.step())
	})
}

func checkCertificate(rt *rapid.T, w *world, out engine.Output) {
	snapshot, err := cluster.New(w.objects)
	if err != nil {
		rt.Fatal(err)
	}
	key := func(namespace string, l label.Labels, s cluster.Shape) string {
		return snapshot.GroupFor(namespace, l, s).Key
	}
	launches := of[plan.Launch](out)
	if len(out.Plan.Proofs) != min(1, len(launches)) {
		rt.Fatalf("%d launches and %d certificates", len(launches), len(out.Plan.Proofs))
	}
	for _, c := range out.Plan.Proofs {
		if err := proof.Check(w.objects, c, key); err != nil {
			rt.Fatalf("certificate %+v: %v", c, err)
		}
		if c.Bound > out.Plan.Cost {
			rt.Fatalf("costs %d, at least %d claimed", out.Plan.Cost, c.Bound)
		}
		if i := slices.IndexFunc(c.Demand, func(d plan.DemandPrice) bool { return d.Count > 0 }); i < 0 {
			rt.Fatal("a certificate about nothing")
		}
	}
}
