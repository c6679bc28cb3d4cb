package embedded

import (
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// everythingIn is the region as EC2 would tell it that sells every type, with no Price List.
func everythingIn(t *testing.T, region string) ([]catalog.Fact, catalog.Market, []catalog.InstanceType) {
	t.Helper()
	facts, m, err := Elsewhere(region)
	if err != nil {
		t.Fatal(err)
	}
	zone := catalog.Zone{Name: region + "a", ID: "x-az1"}
	live := catalog.Live{Zones: map[string][]string{}}
	for _, f := range facts {
		live.Zones[f.Name] = []string{zone.Name}
	}
	facts, m = live.Over(facts, m, []catalog.Zone{zone})
	return facts, m, catalog.Build(facts, m, catalog.Settings{Zones: []catalog.Zone{zone}})
}

// Without a Price List, no type was for sale in aws-us-gov that the table had no price for,
// and it had none.
func TestElsewhere_EveryTypeIsForSaleOnDemandWhereThereIsNoPriceList(t *testing.T) {
	for region, known := range map[string]int{"us-gov-west-1": 550, "us-gov-east-1": 550, "cn-north-1": 120, "cn-northwest-1": 0, "eusc-de-east-1": 0, "us-iso-east-1": 0, "mx-central-1": 0} {
		_, _, types := everythingIn(t, region)
		offerings, priced, missing := 0, 0, ""
		for _, it := range types {
			for _, o := range it.Offerings {
				if o.CapacityType != label.OnDemand {
					continue
				}
				offerings++
				if !o.Available {
					missing = it.Name
				}
				if !o.StandIn {
					priced++
				}
			}
		}
		if missing != "" || offerings < 1300 {
			t.Errorf("%s: %d offerings on demand, and %q is not for sale", region, offerings, missing)
		}
		if priced < known || known == 0 && priced > 0 {
			t.Errorf("%s: %d prices are known, want %d or more", region, priced, known)
		}
	}
}

// Prices in yuan are some eight times those in dollars; none may be mixed up.
func TestElsewhere_StandInsAreInTheCurrencyOfTheRegion(t *testing.T) {
	_, dollars, err := Load("us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	for region, level := range map[string][2]float64{"us-gov-west-1": {1, 2}, "cn-north-1": {3, 15}, "cn-northwest-1": {3, 15}, "eusc-de-east-1": {1, 1.6}} {
		_, m, _ := everythingIn(t, region)
		compared := 0
		for name, price := range m.StandIn {
			there := dollars.OnDemand[name]
			if there == 0 {
				continue
			}
			compared++
			if by := float64(price) / float64(there); by < level[0] || by > level[1] {
				t.Errorf("%s: %s stands in at %.3f times the price of us-east-1, want %v", region, name, by, level)
			}
		}
		if compared < 300 {
			t.Errorf("%s: compared %d types only", region, compared)
		}
	}
}

// Known prices and stand-ins must be in order: a larger instance never costs less than a
// smaller one of its family.
func TestElsewhere_PricesAndStandInsRiseWithTheSizeWithinAFamily(t *testing.T) {
	for _, region := range []string{"us-gov-west-1", "us-gov-east-1", "cn-north-1", "cn-northwest-1", "eusc-de-east-1", "mx-central-1"} {
		facts, m, _ := everythingIn(t, region)
		price := func(f catalog.Fact) quantity.Money { return max(m.OnDemand[f.Name], m.StandIn[f.Name]) }
		families := map[string][]catalog.Fact{}
		for _, f := range facts {
			if !f.BareMetal {
				families[f.Family] = append(families[f.Family], f)
			}
		}
		for _, members := range families {
			for _, small := range members {
				for _, large := range members {
					if small.VCPU >= large.VCPU || small.MemoryMiB > large.MemoryMiB || small.GPUCount > large.GPUCount || small.NVMeGB > large.NVMeGB {
						continue
					}
					if price(small) > price(large) {
						t.Errorf("%s: %s costs %s, %s costs %s", region, small.Name, price(small).Dollars(), large.Name, price(large).Dollars())
					}
				}
			}
		}
	}
}

func TestElsewhere_SaysWhereItsPricesAreFrom(t *testing.T) {
	for region, dated := range map[string]string{"us-gov-east-1": "2026-08-24", "us-gov-west-1": "2026-08-24", "cn-north-1": "2024-11-06", "eusc-de-east-1": ""} {
		_, m, err := Elsewhere(region)
		if err != nil {
			t.Fatal(err)
		}
		date := ""
		for _, s := range m.Sources {
			if s.Group == "on-demand" && s.Text != "" {
				date = s.Date
			}
		}
		if date != dated {
			t.Errorf("%s: prices of %q, want %q", region, date, dated)
		}
	}
}
