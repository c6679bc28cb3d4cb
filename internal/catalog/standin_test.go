package catalog

import (
	"maps"
	"reflect"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// sizes are types of a family, by how many vCPUs each has, with perVCPU GiB for each.
func sizes(family string, perVCPU int64, vcpus map[string]int) (out []Fact) {
	for size, n := range vcpus {
		name := family + "." + size
		out = append(out, Fact{Name: name, VCPU: n, MemoryMiB: int64(n) * perVCPU << 10, UsageClasses: []string{"on-demand", "spot"}, NameParts: ParseName(name)})
	}
	return out
}

func withGPUs(f []Fact, gpu string, each int) []Fact {
	for i := range f {
		f[i].GPUName, f[i].GPUCount = gpu, each
	}
	return f
}

// govMarket sells all of the facts in one zone.
func govMarket(facts []Fact) Market {
	m := Market{Region: "us-gov-west-1", Zones: []Zone{{Name: "us-gov-west-1a", ID: "usgw1-az1"}}, Offered: map[string][]int{}, OnDemand: map[string]quantity.Money{}}
	for _, f := range facts {
		m.Offered[f.Name] = []int{0}
	}
	return m
}

const cent = quantity.NanoDollars / 100

func TestWithStandIns_TakesTheNearestThatIsKnown(t *testing.T) {
	facts := sizes("m5", 4, map[string]int{"large": 2, "xlarge": 4, "2xlarge": 8})
	facts = append(facts, sizes("m6i", 4, map[string]int{"large": 2, "xlarge": 4, "4xlarge": 16})...)
	facts = append(facts, sizes("m9", 4, map[string]int{"large": 2})...)
	facts = append(facts, sizes("q1", 4, map[string]int{"large": 2})...)
	facts = append(facts, withGPUs(sizes("g5", 4, map[string]int{"xlarge": 4}), "a10g", 1)...)
	facts = append(facts, withGPUs(sizes("g9", 4, map[string]int{"12xlarge": 48}), "a10g", 4)...)
	facts = append(facts, withGPUs(sizes("p9", 4, map[string]int{"48xlarge": 192}), "new", 8)...)
	m := govMarket(facts)
	m.OnDemand = map[string]quantity.Money{"m5.large": 12 * cent, "g5.xlarge": 200 * cent}
	m.Elsewhere = []map[string]quantity.Money{
		{"m5.xlarge": 26 * cent}, // the sister region has no other type in common, so its prices count as they are
		{"m5.large": 10 * cent, "m5.xlarge": 20 * cent, "m5.2xlarge": 40 * cent, "m6i.large": 10 * cent},
	}
	before := maps.Clone(m.OnDemand)
	got := m.WithStandIns(facts)
	want := map[string]quantity.Money{
		"m5.xlarge":   26 * cent,
		"m5.2xlarge":  52 * cent, // 40 times the greater of 12/10 and 26/20
		"m6i.large":   13 * cent, // by the category's level: no price of the family is known here
		"m6i.xlarge":  26 * cent, // twice the size of m6i.large
		"m6i.4xlarge": 104 * cent,
		"m9.large":    13 * cent, // the median of its category, by size
		"q1.large":    13 * cent, // the median of all without devices
		"g9.12xlarge": 800 * cent,
		"p9.48xlarge": 1600 * cent, // a device of another kind costs as much
	}
	if !reflect.DeepEqual(got.StandIn, want) {
		t.Errorf("stand-ins\n%v, want\n%v", got.StandIn, want)
	}
	if !maps.Equal(m.OnDemand, before) || m.StandIn != nil || !maps.Equal(got.OnDemand, before) {
		t.Errorf("the market has changed: %+v", m)
	}
}

func TestWithStandIns_WithoutAnyPriceThereIsNone(t *testing.T) {
	facts := sizes("m5", 4, map[string]int{"large": 2})
	if got := govMarket(facts).WithStandIns(facts); len(got.StandIn) > 0 {
		t.Errorf("stand-ins %v of nothing", got.StandIn)
	}
}

func TestBuild_AStandInIsForSaleAndSaysWhatItIs(t *testing.T) {
	facts := sizes("m5", 4, map[string]int{"large": 2, "xlarge": 4})
	m := govMarket(facts)
	m.OnDemand["m5.large"] = 12 * cent
	for _, s := range []struct {
		spotUnknown bool
		spot        quantity.Money // of m5.large
		want        map[string]Offering
	}{
		{true, 0, map[string]Offering{
			"m5.large on-demand": {Price: 12 * cent, Available: true}, "m5.large spot": {Price: 12 * cent, Available: true, StandIn: true},
			"m5.xlarge on-demand": {Price: 24 * cent, Available: true, StandIn: true}, "m5.xlarge spot": {Price: 24 * cent, Available: true, StandIn: true},
		}},
		// EC2 has answered: what it does not name has no spot market.
		{false, 4 * cent, map[string]Offering{
			"m5.large on-demand": {Price: 12 * cent, Available: true}, "m5.large spot": {Price: 4 * cent, Available: true},
			"m5.xlarge on-demand": {Price: 24 * cent, Available: true, StandIn: true}, "m5.xlarge spot": {},
		}},
	} {
		m.SpotUnknown = s.spotUnknown
		if s.spot > 0 {
			m.Spot = map[string][]quantity.Money{"m5.large": {s.spot}}
		}
		for _, it := range Build(facts, m.WithStandIns(facts), Settings{Zones: m.Zones}) {
			for _, o := range it.Offerings {
				got, want := Offering{Price: o.Price, Available: o.Available, StandIn: o.StandIn}, s.want[it.Name+" "+o.CapacityType]
				if got != want {
					t.Errorf("spot unknown %v, %s %s: %+v, want %+v", s.spotUnknown, it.Name, o.CapacityType, got, want)
				}
			}
		}
	}
}

// A list that has answered says what is sold on demand.
func TestOver_OnlyWhatThePriceListHasNotSaidGetsAStandIn(t *testing.T) {
	facts := sizes("m5", 4, map[string]int{"large": 2, "xlarge": 4})
	m := govMarket(facts)
	m.OnDemand["m5.large"] = 12 * cent
	_, without := Live{}.Over(facts, m, m.Zones)
	_, with := Live{OnDemand: map[string]quantity.Money{"m5.large": 13 * cent}}.Over(facts, m, m.Zones)
	if without.StandIn["m5.xlarge"] != 24*cent || !without.SpotUnknown || len(with.StandIn) > 0 {
		t.Errorf("without the list: stand-ins %v, spot unknown %v; with it: %v", without.StandIn, without.SpotUnknown, with.StandIn)
	}
	_, answered := Live{Spot: map[string]map[string]quantity.Money{}}.Over(facts, m, m.Zones)
	if answered.SpotUnknown {
		t.Error("EC2 has answered about spot")
	}
}
