package engine_test

import (
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// twoSizes has a large type, and a small one of an eighth of its room and price.
func twoSizes(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.policy = engine.DefaultPolicy()
	small, large := instanceType("c5.large", 2, 4, 85_000_000), instanceType("c5.4xlarge", 16, 32, 680_000_000)
	large.Allocatable = small.Allocatable.Times(8)
	w.objects.Classes[0].Types = slices.Clone(w.objects.Classes[0].Types[:0])
	w.objects.Classes[0].Types = append(w.objects.Classes[0].Types, large, small)
	return w
}

func bought(out engine.Output) (types []string, cost quantity.Money) {
	for _, l := range of[plan.Launch](out) {
		types = append(types, l.Types[0].Type)
		cost += l.Price
	}
	return types, cost
}

func TestStep_OfEqualInstancesFewerNodesCostLess(t *testing.T) {
	w := twoSizes(t).pods("a", 8, 1900)
	out := w.step()
	if types, cost := bought(out); !slices.Equal(types, []string{"c5.4xlarge"}) || cost != 680_000_000 || out.Plan.Cost != cost {
		t.Errorf("launches %q for %d, and the plan says %d: want one c5.4xlarge at the price of its instance", types, cost, out.Plan.Cost)
	}
	if want := (plan.Extra{Nodes: 5_000_000}); out.Plan.Extra != want {
		t.Errorf("beside instances %+v, want %+v", out.Plan.Extra, want)
	}
	c := out.Plan.Proofs[0]
	if gap, defined := c.Gap(out.Plan.Total()); !defined || gap != 0 || c.Bound <= 680_000_000 || c.NodeCost != 5_000_000 {
		t.Errorf("bound %d with a node cost of %d, want 685000000", c.Bound, c.NodeCost)
	}
	if err := w.check(c); err != nil {
		t.Error(err)
	}
	c.NodeCost = 0
	if w.check(c) == nil {
		t.Error("the bound is proven without the node cost, too")
	}
}

func TestStep_NodesWithDearVolumesAreFewer(t *testing.T) {
	w := twoSizes(t).pods("a", 8, 1900)
	w.policy.NodeCost = 0
	w.objects.Classes[0].Types[0].Offerings = onDemandAt(w.objects.Classes[0], 0, 800_000_000) // large ones alone are dearer
	if types, _ := bought(w.step()); len(types) != 8 {
		t.Fatalf("without volumes it launches %q", types)
	}
	const volume = 500 * 80_000_000 / 730 // 500 GiB of gp3 in us-east-1
	w.objects.Classes[0].Volumes = volume
	out := w.step()
	if types, cost := bought(out); !slices.Equal(types, []string{"c5.4xlarge"}) || cost != 800_000_000 {
		t.Errorf("launches %q for %d, want one c5.4xlarge at the price of its instance", types, cost)
	}
	c := out.Plan.Proofs[0]
	if !about(c.Bound, 800_000_000+volume) || out.Plan.Extra != (plan.Extra{Volumes: volume}) {
		t.Errorf("bound %d, want %d; beside instances %+v", c.Bound, 800_000_000+volume, out.Plan.Extra)
	}
	if err := w.check(c); err != nil {
		t.Error(err)
	}
	w.objects.Classes[0].Volumes = 0
	if w.check(c) == nil {
		t.Error("the bound is proven without the volumes, too")
	}
}

// A type that is within the price tolerance without what nodes cost beside their
// instances is within it with that, and no other type is.
func TestStep_NodeCostDoesNotWidenThePriceTolerance(t *testing.T) {
	for _, cost := range []quantity.Money{0, 5_000_000, quantity.NanoDollars} {
		w := newWorld(t).pods("a", 1, 3500)
		w.policy.NodeCost = cost
		types := w.objects.Classes[0].Types
		types[2].Offerings = onDemandAt(w.objects.Classes[0], 2, 178_500_001)
		l := of[plan.Launch](w.step())[0]
		if len(l.Types) != 1 || l.Price != 170_000_000 || l.Why.Best.Price != 170_000_000 {
			t.Errorf("node cost %d: carries %+v at %d", cost, l.Types, l.Price)
		}
		types[2].Offerings = onDemandAt(w.objects.Classes[0], 2, 178_500_000)
		if l = of[plan.Launch](w.step())[0]; len(l.Types) != 2 || l.Types[1].Price != 178_500_000 {
			t.Errorf("node cost %d: carries %+v", cost, l.Types)
		}
	}
}

// onDemandAt returns the offerings of a type of the class at another price.
func onDemandAt(c cluster.Class, i int, price quantity.Money) []catalog.Offering {
	out := slices.Clone(c.Types[i].Offerings)
	for k := range out {
		out[k].Price = price
	}
	return out
}
