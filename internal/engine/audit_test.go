package engine_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/proof"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// audit asks for the world's audit, which the checker must accept.
func (w *world) audit() plan.Audit {
	w.t.Helper()
	snapshot, err := cluster.New(w.objects)
	if err != nil {
		w.t.Fatal(err)
	}
	a := engine.Audit(engine.Input{Snapshot: snapshot, Memory: w.memory, Policy: w.policy, Now: w.now})
	if err := w.check(a.Proof); err != nil {
		w.t.Fatalf("certificate %+v: %v", a.Proof, err)
	}
	return a
}

func (w *world) check(c plan.Certificate) error {
	w.t.Helper()
	snapshot, err := cluster.New(w.objects)
	if err != nil {
		w.t.Fatal(err)
	}
	return proof.Check(w.objects, c, func(namespace string, l label.Labels, s cluster.Shape) string {
		return snapshot.GroupFor(namespace, l, s).Key
	})
}

func requirement(t testing.TB, key string, op label.Operator, values ...string) label.Requirements {
	t.Helper()
	r, err := label.NewRequirement(key, op, values...)
	if err != nil {
		t.Fatal(err)
	}
	return label.All(r)
}

// about says whether two amounts are equal but for what rounding down has taken.
func about(got, want quantity.Money) bool { return got <= want && got >= want-3 }

func constraint(t testing.TB, a plan.Audit, kind plan.Constraint, key string) plan.ConstraintPrice {
	t.Helper()
	i := slices.IndexFunc(a.Constraints, func(c plan.ConstraintPrice) bool { return c.Constraint == kind && c.Key == key })
	if i < 0 {
		t.Fatalf("no price of %s %s among %+v", kind, key, a.Constraints)
	}
	return a.Constraints[i]
}

// drawFleet is a world at a random stage between pending pods and a fleet that
// has lost some of them.
func drawFleet(t *testing.T, rt *rapid.T) *world {
	t.Helper()
	w := newWorld(t)
	drawApps(rt, w)
	if rapid.Bool().Draw(rt, "reserved") {
		s := scenario{world: w}
		s.reserve("m5.xlarge", rapid.Int64Range(1, 3).Draw(rt, "left"))
	}
	if rapid.Bool().Draw(rt, "another pool") {
		w.pool(cluster.Pool{Name: "heavy", Weight: 10, Requirements: requirement(t, label.Zone, label.In, rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "zone"))})
	}
	if rapid.Bool().Draw(rt, "foreign") {
		w.objects.Nodes = append(w.objects.Nodes, cluster.Node{
			Name: "foreign", Ready: true, Labels: label.FromMap(map[string]string{label.Zone: "a", label.Hostname: "foreign"}),
			Allocatable: quantity.Resources{MilliCPU: 2000, MemoryBytes: 4 << 30, EphemeralBytes: 20 << 30, PodSlots: 30},
		})
	}
	stage := rapid.IntRange(0, 4).Draw(rt, "stage")
	launches := of[plan.Launch](w.step())
	if stage > 0 {
		w.order(launches)
	}
	if stage > 1 {
		w.bringUp(launches)
	}
	if stage > 2 {
		w.open(w.step().Plan.Actions)
	}
	if stage > 3 {
		w.objects.Pods = slices.DeleteFunc(w.objects.Pods, func(cluster.Pod) bool { return rapid.IntRange(0, 3).Draw(rt, "goes") == 0 })
	}
	for _, c := range w.objects.Claims { // EC2 counts what is launched
		for i := range w.objects.Classes[0].Types {
			for j := range w.objects.Classes[0].Types[i].Offerings {
				o := &w.objects.Classes[0].Types[i].Offerings[j]
				if c.Launched && o.Reservation != "" && c.CapacityType == label.Reserved && c.InstanceType == w.objects.Classes[0].Types[i].Name {
					o.Left--
				}
			}
		}
	}
	w.pods("later", rapid.IntRange(0, 9).Draw(rt, "later"), rapid.Int64Range(100, 3800).Draw(rt, "cpu"))
	return w
}

// At every stage of a fleet the bound is proven from the raw objects and is not
// above the cost, and no constraint is worth less than nothing.
func TestAudit_BoundIsProvenAndNeverAboveTheCost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawFleet(t, rt)
		if rapid.Bool().Draw(rt, "costly") {
			w.costly()
		}
		a := w.audit()
		if a.Proof.Bound > a.Total() {
			rt.Fatalf("costs %d, at least %d claimed: %+v", a.Total(), a.Proof.Bound, a)
		}
		if a.Homeless > 0 || len(a.Unpriced) > 0 || a.Claims != len(w.objects.Claims) {
			rt.Fatalf("not everything counts: %+v", a)
		}
		last := a.Total() + 1<<40
		for _, c := range a.Constraints {
			if c.Price() < 0 || c.Price() > last || c.Without > a.Proof.Bound || c.With < a.Proof.Bound {
				rt.Fatalf("bound %d, constraints %+v", a.Proof.Bound, a.Constraints)
			}
			last = c.Price()
		}
	})
}

func TestAudit_OrderOfInputDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawFleet(t, rt)
		want := w.audit()
		slices.Reverse(w.objects.Pods)
		slices.Reverse(w.objects.Nodes)
		slices.Reverse(w.objects.Claims)
		slices.Reverse(w.objects.Pools)
		if got := w.audit(); !reflect.DeepEqual(got, want) {
			rt.Fatalf("%+v\nwant %+v", got, want)
		}
	})
}

// Whatever a pool's requirement is, a fleet without it has more to choose from.
func TestAudit_DroppingARequirementNeverRaisesTheBound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawFleet(t, rt)
		p := &w.objects.Pools[0]
		if only := rapid.SampledFrom([]string{"", "m5.xlarge", "c5.large"}).Draw(rt, "only"); only != "" {
			p.Requirements = p.Requirements.And(requirement(t, label.InstanceType, label.In, only))
		}
		with := w.audit()
		key := rapid.SampledFrom(p.Requirements).Draw(rt, "dropped").Key()
		p.Requirements = slices.DeleteFunc(slices.Clone(p.Requirements), func(r label.Requirement) bool { return r.Key() == key })
		without := w.audit()
		// What nothing could hold before is not in the first bound.
		if with.Homeless == 0 && without.Proof.Bound > with.Proof.Bound {
			rt.Fatalf("at least %d with %s, and %d without", with.Proof.Bound, key, without.Proof.Bound)
		}
	})
}

// 20 pods of 1900m take ten nodes of four CPUs: m5.xlarge at 0.192, or c5.xlarge
// at 0.17, or its spot at a third.
func TestAudit_PricesTheRestrictionToADearType(t *testing.T) {
	w := newWorld(t)
	w.objects.Pools[0].Requirements = w.objects.Pools[0].Requirements.And(requirement(t, label.InstanceType, label.In, "m5.xlarge"))
	a := w.pods("web", 20, 1900).running().audit()
	if a.Cost != 1_920_000_000 || a.Claims != 10 || a.Pods != 20 {
		t.Fatalf("costs %d for %d claims with %d pods", a.Cost, a.Claims, a.Pods)
	}
	if gap, ok := a.Proof.Gap(a.Cost); !ok || gap > 0 || !about(a.Proof.Bound, a.Cost) {
		t.Errorf("the bound is %d", a.Proof.Bound)
	}
	c := constraint(t, a, plan.PoolRequirement, label.InstanceType)
	want := `NodePool "general": node.kubernetes.io/instance-type In [m5.xlarge] costs about $0.2200 an hour: ` +
		`a fleet for these pods costs at least $1.9200 with it, and $1.7000 without`
	if got := c.Explain(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	spot := constraint(t, a, plan.PoolRequirement, label.CapacityType)
	if a.Constraints[0] != spot || !about(spot.Without, 640_000_000) {
		t.Errorf("the dearest is %+v, spot is %+v", a.Constraints[0], spot)
	}
}

func TestAudit_ARaisedPriceOrBoundIsRejected(t *testing.T) {
	w := newWorld(t).pods("web", 20, 1900).running()
	c := w.audit().Proof
	for i, d := range c.Demand {
		for j, price := range d.Prices {
			if price == 0 {
				continue
			}
			raised := c
			raised.Demand = slices.Clone(c.Demand)
			raised.Demand[i].Prices = slices.Clone(d.Prices)
			raised.Demand[i].Prices[j] += price / 50
			if err := w.check(raised); !errors.Is(err, proof.ErrOffering) {
				t.Errorf("price %d of %s raised: %v", j, d.Group, err)
			}
		}
	}
	c.Bound += c.Bound / 50
	if err := w.check(c); !errors.Is(err, proof.ErrBound) {
		t.Errorf("bound raised: %v", err)
	}
}

// The heavy pool takes what it can hold, though the other is cheaper.
func TestAudit_PricesThePoolsWeights(t *testing.T) {
	w := newWorld(t)
	w.pool(cluster.Pool{Name: "heavy", Weight: 10, Requirements: requirement(t, label.InstanceType, label.In, "m5.xlarge")})
	c := constraint(t, w.pods("web", 20, 1900).running().audit(), plan.PoolWeights, "")
	if !about(c.With, 1_920_000_000) || !about(c.Without, 1_700_000_000) {
		t.Errorf("%+v", c)
	}
	if got, want := c.Explain(), "preferring pools by weight costs about $0.2200 an hour: a fleet for these pods costs at least $1.9200 with it, and $1.7000 without"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Only the pod that needs a large node counts with its price.
func TestAudit_PricesTheSoftSizeLimit(t *testing.T) {
	w := newWorld(t)
	w.objects.Classes[0].Types = append(w.objects.Classes[0].Types, instanceType("m6i.24xlarge", 96, 384, 2_000_000_000))
	c := constraint(t, w.pods("web", 470, 1900).pods("huge", 1, 90_000).running().audit(), plan.SoftSizeLimit, "")
	if c.With < 235*170_000_000 || c.Without > 12*2_000_000_000 || c.Rule != "avoiding nodes of more than 32 vCPU" {
		t.Errorf("%+v", c)
	}
}

func TestAudit_WhatHasNoPriceOrFitsNothingDoesNotCount(t *testing.T) {
	w := newWorld(t).pods("web", 4, 1900).running()
	full := w.audit()
	w.objects.Claims[0].InstanceType = "t1.gone"
	a := w.audit()
	if !slices.Equal(a.Unpriced, []string{w.objects.Claims[0].Name}) || a.Claims != full.Claims-1 || a.Pods != full.Pods-1 || a.Proof.Bound > a.Cost {
		t.Errorf("with an unknown type: %+v", a)
	}
	w = newWorld(t).pods("web", 4, 1900).running()
	w.objects.Pools[0].Ready = false
	if a = w.audit(); a.Homeless != 4 || a.Pods != 0 || a.Proof.Bound != 0 || a.Cost != full.Cost {
		t.Errorf("without a pool that is ready: %+v", a)
	}
	if a = newWorld(t).audit(); a.Cost != 0 || a.Proof.Bound != 0 || !a.Proof.Scratch {
		t.Errorf("of nothing: %+v", a)
	}
	if _, defined := a.Proof.Gap(a.Cost); defined {
		t.Error("the gap of nothing is defined")
	}
}

// Nodes in a reservation are paid for. From scratch it could be used by as many.
func TestAudit_AReservationInUseIsFreeFromScratch(t *testing.T) {
	w := newWorld(t)
	(&scenario{world: w}).reserve("m5.xlarge", 2)
	w.pods("web", 4, 1900).running()
	for i := range w.objects.Classes[0].Types {
		for j := range w.objects.Classes[0].Types[i].Offerings {
			w.objects.Classes[0].Types[i].Offerings[j].Left = 0
		}
	}
	if a := w.audit(); a.Claims != 2 || a.Cost != 0 || a.Proof.Bound != 0 || len(a.Unpriced) > 0 {
		t.Errorf("%+v", a)
	}
}

// What nodes cost beside their instances is on both sides of the comparison, and
// apart from the cost of the instances.
func TestAudit_ComparesAllThatNodesCost(t *testing.T) {
	w := newWorld(t).costly().pods("a", 4, 1900)
	w.order(of[plan.Launch](w.step()))
	a := w.audit()
	if want := (plan.Extra{Volumes: 4_000_000, Addresses: 10_000_000, Nodes: 10_000_000}); a.Cost != 340_000_000 || a.Extra != want || !about(a.Proof.Bound, 364_000_000) {
		t.Errorf("costs %d and %+v, at least %d", a.Cost, a.Extra, a.Proof.Bound)
	}
}

// A pod counts from when it has a place, and only once.
func TestAudit_CountsWhatHasAPlace(t *testing.T) {
	w := newWorld(t).pods("web", 4, 1900)
	var launches []plan.Launch
	for i, stage := range []func(){
		func() {},
		func() { launches = of[plan.Launch](w.step()); w.order(launches) },
		func() { w.bringUp(launches) },
		func() { w.open(w.step().Plan.Actions) },
	} {
		stage()
		a := w.audit()
		if want := int64(min(i, 1) * 4); a.Pods != want {
			t.Errorf("stage %d: %d pods count, want %d", i, a.Pods, want)
		}
		if want := quantity.Money(min(i, 1) * 340_000_000); a.Cost != want || !about(a.Proof.Bound, want) {
			t.Errorf("stage %d: costs %d and at least %d, want %d", i, a.Cost, a.Proof.Bound, want)
		}
	}
}
