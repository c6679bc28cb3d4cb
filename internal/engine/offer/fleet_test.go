package offer_test

import (
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

func supply(pools ...cluster.Pool) *cluster.Supply {
	offerings := []catalog.Offering{{Zone: "a", CapacityType: label.OnDemand, Price: 5, Available: true}}
	gpu := label.FromMap(map[string]string{catalog.LabelGPUName: "t4"})
	return &cluster.Supply{Pools: pools, Classes: []cluster.Class{{Name: "default", Ready: true, Types: []catalog.InstanceType{
		{Name: "c5.large", Offerings: offerings}, {Name: "g4dn.xlarge", Offerings: offerings, Labels: gpu},
	}}}}
}

func pool(name string, rs ...label.Requirement) cluster.Pool {
	return cluster.Pool{Name: name, Class: "default", Ready: true, Requirements: label.All(rs...)}
}

func rows(f *offer.Fleet) []string {
	var out []string
	for _, r := range f.Rows {
		out = append(out, r.Name)
	}
	return out
}

// A type that says nothing about a label that others have does not get it from
// the pool; a label that no type has, it does.
func TestCompile_ATypeDoesNotGetALabelThatTypesDecide(t *testing.T) {
	got := rows(offer.Compile(supply(pool("p", label.Is(catalog.LabelGPUName, "t4"), label.Is("team", "a"))), offer.Variants{}, 0))
	if want := []string{"g4dn.xlarge/on-demand/p"}; !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
}

func TestWith_IsTheFleetCompiledWithTheOtherPool(t *testing.T) {
	narrow, wide, beside := pool("p", label.Is(catalog.LabelGPUName, "t4")), pool("p"), pool("q")
	f := offer.Compile(supply(narrow, beside), offer.Variants{}, 0)
	got, want := rows(f.With(wide)), rows(offer.Compile(supply(wide, beside), offer.Variants{}, 0))
	if !slices.Equal(got, want) || len(want) != 4 {
		t.Errorf("rows %q, want %q", got, want)
	}
	if len(f.Rows) != 3 || f.Serves(supply(wide, beside), offer.Variants{}, 0) {
		t.Errorf("the fleet has changed: %q", rows(f))
	}
}

// Rows that are alike but for their type are looked at once, unless it is the type
// that decides.
func TestWhere_IsWhatTheLabelsOfEachRowSay(t *testing.T) {
	s := supply(pool("p"), pool("q", label.Is("team", "a"), label.Is(label.CapacityType, label.Spot)))
	types := s.Classes[0].Types
	types[0].Offerings = []catalog.Offering{
		{Zone: "a", ZoneID: "1", CapacityType: label.OnDemand, Price: 5, Available: true},
		{Zone: "b", CapacityType: label.OnDemand, Price: 5, Available: true},
		{Zone: "a", ZoneID: "1", CapacityType: label.Spot, Price: 2, Available: true},
		{Zone: "b", ZoneID: "2", CapacityType: label.Spot, Price: 3, Available: true},
	}
	types[1].Offerings = append(types[1].Offerings, catalog.Offering{Zone: "b", CapacityType: label.OnDemand, Price: 7, Available: true})
	f := offer.Compile(s, offer.Variants{}, 0)
	in := func(key string, values ...string) label.Requirement {
		r, err := label.NewRequirement(key, label.In, values...)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, r := range []label.Requirement{
		label.Is(label.Zone, "a"), in(label.Zone, "b", "c"), in(label.ZoneID, "1"), label.Is(label.CapacityType, label.Spot),
		label.Is("team", "a"), label.Is(label.NodePool, "p"), label.Is(catalog.LabelGPUName, "t4"),
	} {
		shapes := []cluster.Shape{
			{Selector: label.All(r)},
			{NodeAffinity: []label.Requirements{label.All(r, label.Is(label.Zone, "a")), label.All(r, label.Is(label.CapacityType, label.Spot))}},
			{Volumes: [][]label.Requirements{{label.All(r)}}},
		}
		for i, shape := range shapes {
			got, some, all := f.Where(shape, false), false, true
			for x := range f.Rows {
				for z := range f.Zones {
					_, ok := fit.Labels(shape, f.Rows[x].Labels(z))
					want := ok && f.Rows[x].Zones>>z&1 == 1
					some, all = some || want, all && (want || f.Rows[x].Zones>>z&1 == 0)
					if got[x]>>z&1 == 1 != want {
						t.Errorf("shape %d of %s may run on %s in %s: %t", i, r, f.Rows[x].Name, f.Zones[z], !want)
					}
				}
			}
			if !some || all {
				t.Errorf("shape %d of %s tells no rows apart", i, r)
			}
		}
	}
}
