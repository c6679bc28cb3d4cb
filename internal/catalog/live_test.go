package catalog

import (
	"reflect"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// table is a market of two zones, which this account names the other way round.
func table() ([]Fact, Market) {
	facts := []Fact{
		{Name: "m5.large", Arch: "amd64", VCPU: 2, MemoryMiB: 8192, ENIs: 3, IPv4PerENI: 10, BranchENIs: 9, NetworkMbps: 750, UsageClasses: []string{"on-demand", "spot"}},
		{Name: "m5.xlarge", Arch: "amd64", VCPU: 4, MemoryMiB: 16384, ENIs: 4, IPv4PerENI: 15, UsageClasses: []string{"on-demand", "spot"}},
	}
	return facts, Market{
		Region: "eu-north-1", Zones: []Zone{{Name: "eu-north-1a", ID: "eun1-az1"}, {Name: "eu-north-1b", ID: "eun1-az2"}},
		Offered:        map[string][]int{"m5.large": {0, 1}, "m5.xlarge": {0, 1}},
		OnDemand:       map[string]quantity.Money{"m5.large": 100, "m5.xlarge": 200},
		Spot:           map[string][]quantity.Money{"m5.large": {30, 40}, "m5.xlarge": {60, 80}},
		SpotIsEstimate: true,
	}
}

func account() []Zone {
	return []Zone{{Name: "eu-north-1b", ID: "eun1-az1"}, {Name: "eu-north-1a", ID: "eun1-az2"}}
}

// sold gives the price of each offering in the account's two zones; 0 where it is not available.
func sold(facts []Fact, m Market) map[string]quantity.Money {
	out := map[string]quantity.Money{}
	for _, t := range Build(facts, m, Settings{Zones: account()}) {
		for _, o := range t.Offerings {
			out[t.Name+" "+o.CapacityType+" "+o.Zone] = o.Price
		}
	}
	return out
}

func TestOver_NothingLiveChangesNothing(t *testing.T) {
	facts, m := table()
	gotFacts, got := Live{}.Over(facts, m, account())
	if !reflect.DeepEqual(gotFacts, facts) || !reflect.DeepEqual(got, m) {
		t.Fatalf("got %v and %+v", gotFacts, got)
	}
}

func TestOver_SpotPricesAreOfTheZoneThatTheAccountNames(t *testing.T) {
	facts, m := table()
	live := Live{Spot: map[string]map[string]quantity.Money{"m5.large": {"eu-north-1a": 11, "eu-north-1b": 22}, "m5.xlarge": {"eu-north-1a": 33}}}
	_, got := live.Over(facts, m, account())
	want := map[string]quantity.Money{
		"m5.large on-demand eu-north-1a": 100, "m5.large on-demand eu-north-1b": 100, "m5.xlarge on-demand eu-north-1a": 200, "m5.xlarge on-demand eu-north-1b": 200,
		"m5.large spot eu-north-1a": 11, "m5.large spot eu-north-1b": 22, "m5.xlarge spot eu-north-1a": 33,
		"m5.xlarge spot eu-north-1b": 0, // no price: nobody sells it there
	}
	if prices := sold(facts, got); !reflect.DeepEqual(prices, want) {
		t.Errorf("prices %v, want %v", prices, want)
	}
	if got.SpotIsEstimate {
		t.Error("live spot prices are called estimates")
	}
	if before, _ := m.zoneIndex(account()[0]); m.spotPrice("m5.large", before) != 30 || !m.SpotIsEstimate {
		t.Error("the table was changed")
	}
}

func TestOver_OfferingsAreByTheAccountsNamesAndKeepTheTablesSpotPrices(t *testing.T) {
	facts, m := table()
	live := Live{Zones: map[string][]string{"m5.large": {"eu-north-1b", "eu-north-1a"}, "m5.xlarge": {"eu-north-1a"}}}
	_, got := live.Over(facts, m, account())
	want := map[string]quantity.Money{
		"m5.large on-demand eu-north-1a": 100, "m5.large on-demand eu-north-1b": 100, "m5.xlarge on-demand eu-north-1a": 200,
		"m5.large spot eu-north-1a": 40, "m5.large spot eu-north-1b": 30, // az1 is the account's b
		"m5.xlarge spot eu-north-1a": 80,
	}
	if prices := sold(facts, got); !reflect.DeepEqual(prices, want) {
		t.Errorf("prices %v, want %v", prices, want)
	}
	if !got.SpotIsEstimate {
		t.Error("the table's spot prices are not called estimates")
	}
}

func TestOver_EverythingLiveNeedsNothingOfTheTable(t *testing.T) {
	facts, m := table()
	large, odd := facts[0], Fact{Name: "x9.large", Arch: "arm64", VCPU: 2, MemoryMiB: 4096, ENIs: 2, IPv4PerENI: 5, UsageClasses: []string{"on-demand", "spot"}}
	large.BranchENIs, large.NetworkMbps, large.ClockMHz = 0, 0, 3100
	live := Live{
		Types: []Fact{odd, large}, Zones: map[string][]string{"m5.large": {"eu-north-1a"}, "x9.large": {"eu-north-1b"}},
		OnDemand: map[string]quantity.Money{"m5.large": 90, "x9.large": 50}, Spot: map[string]map[string]quantity.Money{"x9.large": {"eu-north-1b": 5}},
	}
	gotFacts, got := live.Over(facts, m, account())
	want := map[string]quantity.Money{
		"m5.large on-demand eu-north-1a": 90, "m5.large spot eu-north-1a": 0, "x9.large on-demand eu-north-1b": 50, "x9.large spot eu-north-1b": 5,
	}
	if prices := sold(gotFacts, got); !reflect.DeepEqual(prices, want) {
		t.Errorf("prices %v, want %v", prices, want)
	}
	if len(gotFacts) != 3 || gotFacts[0].ClockMHz != 3100 || gotFacts[0].BranchENIs != 9 || gotFacts[0].NetworkMbps != 750 {
		t.Errorf("facts %+v: want EC2's clock and the table's branch interfaces and bandwidth", gotFacts)
	}
	if facts[0].ClockMHz != 0 {
		t.Error("the table was changed")
	}
}

func TestOver_APriceThatTheListDoesNotNameIsAnEstimate(t *testing.T) {
	facts, m := table()
	_, got := Live{OnDemand: map[string]quantity.Money{"m5.large": 90}}.Over(facts, m, account())
	if got.OnDemand["m5.large"] != 90 || got.OnDemandIsEstimate["m5.large"] || got.OnDemand["m5.xlarge"] != 200 || !got.OnDemandIsEstimate["m5.xlarge"] {
		t.Errorf("on-demand prices %v, estimates %v", got.OnDemand, got.OnDemandIsEstimate)
	}
	if m.OnDemand["m5.large"] != 100 {
		t.Error("the table was changed")
	}
}

// A zone where the account has no subnet is not sold in, whatever its name.
func TestOver_AZoneWithoutSubnetsKeepsItsEstimate(t *testing.T) {
	facts, m := table()
	_, got := Live{Spot: map[string]map[string]quantity.Money{"m5.large": {"eu-north-1a": 11}}}.Over(facts, m, account()[1:])
	if i, _ := got.zoneIndex(Zone{Name: "elsewhere", ID: "eun1-az1"}); got.spotPrice("m5.large", i) != 30 {
		t.Errorf("spot prices %v", got.Spot)
	}
	if i, _ := got.zoneIndex(account()[1]); got.spotPrice("m5.large", i) != 11 {
		t.Errorf("spot prices %v", got.Spot)
	}
}
