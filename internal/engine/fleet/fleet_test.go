package fleet_test

import (
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fleet"
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

func rows(f *fleet.Fleet) []string {
	var out []string
	for _, r := range f.Rows {
		out = append(out, r.Name)
	}
	return out
}

// A type that says nothing about a label that others have does not get it from
// the pool; a label that no type has, it does.
func TestCompile_ATypeDoesNotGetALabelThatTypesDecide(t *testing.T) {
	got := rows(fleet.Compile(supply(pool("p", label.Is(catalog.LabelGPUName, "t4"), label.Is("team", "a"))), nil))
	if want := []string{"g4dn.xlarge/on-demand/p"}; !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
}

func TestWith_IsTheFleetCompiledWithTheOtherPool(t *testing.T) {
	narrow, wide, beside := pool("p", label.Is(catalog.LabelGPUName, "t4")), pool("p"), pool("q")
	f := fleet.Compile(supply(narrow, beside), nil)
	got, want := rows(f.With(wide)), rows(fleet.Compile(supply(wide, beside), nil))
	if !slices.Equal(got, want) || len(want) != 4 {
		t.Errorf("rows %q, want %q", got, want)
	}
	if len(f.Rows) != 3 || f.Serves(supply(wide, beside), nil) {
		t.Errorf("the fleet has changed: %q", rows(f))
	}
}
