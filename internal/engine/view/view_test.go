package view_test

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func TestPriceOf_IsThatOfTheInstanceOrOfTheCheapestThatMayComeAndCostOfThatOfTheWholeNode(t *testing.T) {
	reserved := func(id string, price quantity.Money) catalog.Offering {
		return catalog.Offering{Zone: "a", CapacityType: label.Reserved, Reservation: id, Price: price}
	}
	onDemand := func(zone string, price quantity.Money) catalog.Offering {
		return catalog.Offering{Zone: zone, CapacityType: label.OnDemand, Price: price}
	}
	s, err := cluster.New(cluster.Objects{Classes: []cluster.Class{{Name: "c", Volumes: 5, Address: 3, Types: []catalog.InstanceType{
		{Name: "large", Offerings: []catalog.Offering{onDemand("a", 80), onDemand("b", 70), reserved("cr-1", 2), reserved("cr-2", 1)}},
		{Name: "small", Offerings: []catalog.Offering{onDemand("a", 0), onDemand("b", 40)}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	v := view.Of(s, view.Policy{NodeCost: 1000}, time.Time{})
	inA, err := label.NewRequirement(label.Zone, label.In, "a")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		claim cluster.Claim
		price quantity.Money
		known bool
	}{
		"launched":               {cluster.Claim{Launched: true, InstanceType: "large", Zone: "a", CapacityType: label.OnDemand}, 80, true},
		"in its own reservation": {cluster.Claim{Launched: true, InstanceType: "large", Zone: "a", CapacityType: label.Reserved, Reservation: "cr-1"}, 2, true},
		"without a price":        {cluster.Claim{Launched: true, InstanceType: "small", Zone: "a", CapacityType: label.OnDemand}, 0, false},
		"of an unknown type":     {cluster.Claim{Launched: true, InstanceType: "none", Zone: "a", CapacityType: label.OnDemand}, 0, false},
		"anything":               {cluster.Claim{}, 1, true},
		"anything in its zone":   {cluster.Claim{Requirements: label.Requirements{inA}, Reservation: "cr-1"}, 2, true},
	} {
		c.claim.Class = "c"
		if price, known := v.PriceOf(c.claim); price != c.price || known != c.known {
			t.Errorf("%s: %d, %v, want %d, %v", name, price, known, c.price, c.known)
		}
		if cost, known := v.CostOf(c.claim); cost != c.price+1008 || known != c.known {
			t.Errorf("%s: the whole node costs %d, %v, want %d, %v", name, cost, known, c.price+1008, c.known)
		}
	}
}
