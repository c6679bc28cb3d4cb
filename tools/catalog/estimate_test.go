package main

import (
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func sample() (tables, *catalog.Market) {
	t := tables{
		home: map[string]float64{"m5.large": 0.096, "p5.48xlarge": 55, "m9.large": 0.1, "q1.large": 1},
		reference: map[string]map[string]reference{
			homeRegion:  {"m5.large": {0.096, 0.03, 0.04}, "p5.48xlarge": {98, 20, 30}},
			"eu-west-1": {"m5.large": {0.107, 0.0428, 0.0536}, "p5.48xlarge": {117.6, 98, 117.6}},
		},
	}
	m := &catalog.Market{
		Region: "eu-west-1", Zones: []catalog.Zone{{Name: "a", ID: "euw1-az1"}, {Name: "b", ID: "euw1-az2"}, {Name: "c", ID: "euw1-az3"}},
		Offered:  map[string][]int{"m5.large": {0, 1, 2}, "p5.48xlarge": {1}, "m9.large": {0, 2}, "q1.large": {0}, "new.large": {0}},
		OnDemand: map[string]quantity.Money{}, OnDemandIsEstimate: map[string]bool{}, Spot: map[string][]quantity.Money{},
	}
	return t, m
}

func TestAddOnDemand_EstimatesOnlyWhatTheReferenceDoesNotSay(t *testing.T) {
	tables, m := sample()
	tables.addOnDemand(m)
	for name, want := range map[string]struct {
		price    string
		estimate bool
	}{
		"m5.large":    {"0.107", false},
		"p5.48xlarge": {"66", true},     // the home price fell since: 55 * 117.6/98
		"m9.large":    {"0.1115", true}, // by the category's ratio, 0.107/0.096
		"q1.large":    {"1.2", true},    // by the greater of the two ratios there are
		"new.large":   {"0", false},
	} {
		price, err := quantity.ParseMoney(want.price)
		if err != nil {
			t.Fatal(err)
		}
		if m.OnDemand[name] != price || m.OnDemandIsEstimate[name] != want.estimate {
			t.Errorf("%s costs %d, estimated %t; want %d, %t", name, m.OnDemand[name], m.OnDemandIsEstimate[name], price, want.estimate)
		}
	}
	if _, priced := m.OnDemand["new.large"]; priced {
		t.Error("a type that no table has got a price")
	}
}

func TestAddSpot_LiesBetweenTheRegionsLowestAndHighest(t *testing.T) {
	tables, m := sample()
	tables.addOnDemand(m)
	tables.addSpot(m)
	got := slices.Sorted(slices.Values(m.Spot["m5.large"]))
	if want := []quantity.Money{42_800_000, 48_200_000, 53_600_000}; !slices.Equal(got, want) {
		t.Errorf("m5.large: %d, want %d in some order", got, want)
	}
	// One zone gets the middle; no price exceeds on-demand.
	if got, want := m.Spot["p5.48xlarge"], []quantity.Money{60_500_000_000}; !slices.Equal(got, want) {
		t.Errorf("p5.48xlarge: %d, want %d", got, want)
	}
	if len(m.Spot["new.large"]) != 0 || !m.SpotIsEstimate {
		t.Errorf("spot %v, estimate %t", m.Spot["new.large"], m.SpotIsEstimate)
	}
}

func TestMoney_RoundsToDecimals(t *testing.T) {
	for dollars, want := range map[float64]quantity.Money{0.09600000001: 96_000_000, 1.23456: 1_234_600_000, 0.00004: 0} {
		if got := money(dollars, 4); got != want {
			t.Errorf("money(%v) = %d, want %d", dollars, got, want)
		}
	}
}
