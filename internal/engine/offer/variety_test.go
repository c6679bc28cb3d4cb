package offer_test

import (
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// varied has two instance types: the small one is for sale in zones a and b, the large one in
// a and as spot, too. The rows are by instance type and capacity type.
func varied(t *testing.T) (*offer.Fleet, map[string]*offer.Row) {
	t.Helper()
	anyPaid, err := label.NewRequirement(label.CapacityType, label.In, label.OnDemand, label.Spot)
	if err != nil {
		t.Fatal(err)
	}
	s := supply(pool("p", anyPaid))
	for i, size := range []string{"small", "large"} {
		s.Classes[0].Types[i] = catalog.InstanceType{
			Name: size, Labels: label.FromMap(map[string]string{label.InstanceType: size, "family": "one"}),
			Offerings: []catalog.Offering{{Zone: "a", CapacityType: label.OnDemand, Price: 5, Available: true}},
		}
	}
	types := s.Classes[0].Types
	types[0].Offerings = append(types[0].Offerings, catalog.Offering{Zone: "b", CapacityType: label.OnDemand, Price: 5, Available: true})
	types[1].Offerings = append(types[1].Offerings, catalog.Offering{Zone: "a", CapacityType: label.Spot, Price: 2, Available: true})
	f, out := offer.Compile(s, offer.Variants{}, 0), map[string]*offer.Row{}
	for i := range f.Rows {
		r := &f.Rows[i]
		out[r.Type.Name+" "+r.CapacityType] = r
	}
	return f, out
}

// zonesOf returns the bits of the zones.
func zonesOf(f *offer.Fleet, names ...string) (zones uint64) {
	for i, z := range f.Zones {
		if slices.Contains(names, z) {
			zones |= 1 << i
		}
	}
	return zones
}

func TestVariety_CountsValuesOnceAndOnlyInTheZonesOfTheLaunch(t *testing.T) {
	f, all := varied(t)
	for _, c := range []struct {
		name  string
		key   string
		least int
		rows  []string
		zones []string

		count    int
		enough   bool
		attained int
		alone    bool // what the first row has alone; true for labels that types decide
	}{
		{"no rows", label.InstanceType, 1, nil, []string{"a", "b"}, 0, false, 0, true},
		{"nothing is asked for", label.InstanceType, 0, []string{"small on-demand"}, []string{"a"}, 1, true, 0, true},
		{"two types", label.InstanceType, 2, []string{"small on-demand", "large on-demand"}, []string{"a", "b"}, 2, true, 2, true},
		{"a type that is not for sale there", label.InstanceType, 2, []string{"small on-demand", "large on-demand"}, []string{"b"}, 1, false, 1, true},
		{"one type twice", label.InstanceType, 2, []string{"large on-demand", "large spot"}, []string{"a"}, 1, false, 1, true},
		{"types with the same value", "family", 2, []string{"small on-demand", "large on-demand"}, []string{"a"}, 1, false, 1, true},
		{"a label that no row has", "team", 1, []string{"small on-demand"}, []string{"a"}, 0, false, 0, true},
		{"zones of one row", label.Zone, 2, []string{"small on-demand"}, []string{"a", "b"}, 2, true, 2, true},
		{"zones of another row do not make up", label.Zone, 2, []string{"large on-demand", "small on-demand"}, []string{"a", "b"}, 2, true, 2, false},
		{"zones of the launch", label.Zone, 2, []string{"small on-demand"}, []string{"a"}, 1, false, 1, false},
		{"capacity types that the pool can have", label.CapacityType, 2, []string{"large on-demand"}, []string{"a"}, 2, true, 2, true},
		{"the one that the type has", label.CapacityType, 2, []string{"small on-demand"}, []string{"a"}, 1, false, 1, false},
		{"of a row that is not for sale there", label.CapacityType, 1, []string{"large on-demand"}, []string{"b"}, 0, false, 0, false},
	} {
		asked, zones := []cluster.MinValues{{Key: c.key, Count: c.least}}, zonesOf(f, c.zones...)
		v := offer.NewVariety(asked)
		for _, name := range c.rows {
			before := v.Count(0)
			widens := v.Widens(0, all[name], zones)
			if v.Add(all[name], zones); widens != (v.Count(0) > before) {
				t.Errorf("%s: %s widens: %t, but %d values become %d", c.name, name, widens, before, v.Count(0))
			}
		}
		if got := v.Attained()[0].Count; v.Count(0) != c.count || v.Enough() != c.enough || v.Has(0) != c.enough || got != c.attained {
			t.Errorf("%s: %d values, enough %t, attained %d; want %d, %t, %d", c.name, v.Count(0), v.Enough(), got, c.count, c.enough, c.attained)
		}
		if len(c.rows) > 0 {
			if got := offer.VariedAlone(&cluster.Pool{MinValues: asked}, all[c.rows[0]], zones); got != c.alone {
				t.Errorf("%s: the first row is varied alone: %t, want %t", c.name, got, c.alone)
			}
		}
		if asked[0].Count != c.least {
			t.Errorf("%s: what is asked for has become %d", c.name, asked[0].Count)
		}
	}
}

// Several labels are asked for at once, and each has to be met.
func TestVariety_IsEnoughWhenEachLabelIs(t *testing.T) {
	f, all := varied(t)
	v := offer.NewVariety([]cluster.MinValues{{Key: label.InstanceType, Count: 2}, {Key: label.Zone, Count: 2}})
	v.Add(all["large on-demand"], zonesOf(f, "a", "b"))
	if v.Enough() || v.Has(0) || v.Has(1) {
		t.Error("one type in one zone is enough")
	}
	v.Add(all["small on-demand"], zonesOf(f, "a"))
	if v.Enough() || !v.Has(0) || v.Has(1) {
		t.Error("two types in one zone are enough")
	}
	if v.Add(all["small on-demand"], zonesOf(f, "b")); !v.Enough() {
		t.Error("two types in two zones are not enough")
	}
}
