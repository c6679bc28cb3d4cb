package catalog

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Zone is an availability zone. The ID means the same place to every account
// ("use1-az6"); the name ("us-east-1a") may mean another place to each.
type Zone struct{ Name, ID string }

// Source says where a group of facts comes from, and the date of the facts.
type Source struct {
	Group string // "offerings", "on-demand", "spot", ...
	Date  string // 2006-01-02
	Text  string
}

// Market is what a region sells: which types where and at which price.
type Market struct {
	Region  string
	Zones   []Zone // each once; an ID or a name may be missing
	Sources []Source

	// Offered lists, per instance type, the zones that offer it: ascending
	// indexes into Zones.
	Offered map[string][]int
	// OnDemand has the Linux price per instance type; no entry, no price.
	OnDemand map[string]quantity.Money
	// OnDemandIsEstimate names the types whose on-demand price is derived
	// from that of another region.
	OnDemandIsEstimate map[string]bool
	// Spot has, per instance type, the price in each zone of Offered, in its
	// order; zero where there is none.
	Spot map[string][]quantity.Money
	// SpotIsEstimate says that a rule made the prices in Spot, and that they are
	// not a price history. Sources names the rule.
	SpotIsEstimate bool
	// SpotUnknown says that nobody has said what spot costs in the region: neither EC2 nor
	// the table. A price that is missing then says nothing, and spot counts as on demand.
	SpotUnknown bool
	// StandIn has, per instance type, what stands in for an on-demand price that nobody
	// knows; see WithStandIns. Elsewhere has on-demand prices of other regions, which it is
	// made of: those of the nearest kind first.
	StandIn   map[string]quantity.Money
	Elsewhere []map[string]quantity.Money
	// Volumes has the list prices of EBS volumes.
	Volumes VolumePrices
}

// spotPrice returns the spot price of a type in the zone that has the given
// index in Zones; zero if there is none.
func (m Market) spotPrice(name string, zone int) quantity.Money {
	prices := m.Spot[name]
	for i, z := range m.Offered[name] {
		if z == zone && i < len(prices) {
			return prices[i]
		}
	}
	return 0
}

// zoneIndex finds z in Zones: by ID, or by name where either has no ID.
func (m Market) zoneIndex(z Zone) (int, bool) {
	for i, have := range m.Zones {
		if (z.ID != "" && z.ID == have.ID) || ((z.ID == "" || have.ID == "") && z.Name == have.Name) {
			return i, true
		}
	}
	return 0, false
}

// PriceOf returns what an instance of the type costs in the zone with the name; 0 if nobody knows.
func (m Market) PriceOf(instanceType, capacityType, zone string) quantity.Money {
	at, known := m.zoneIndex(Zone{Name: zone})
	if !known && capacityType == label.Spot {
		return 0
	}
	price, _ := m.priceIn(instanceType, capacityType, at)
	return price
}
