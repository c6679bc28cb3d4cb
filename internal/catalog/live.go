package catalog

import (
	"maps"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Live is what EC2 and the Price List have said about a region, in the names that the
// account has for its zones. A group about which they have not answered is nil.
type Live struct {
	Types    []Fact
	Zones    map[string][]string                  // the zones that sell each type
	OnDemand map[string]quantity.Money            // by type
	Spot     map[string]map[string]quantity.Money // by type and zone
}

// Over lays what is live over a table: each group that is live replaces the table's. The
// account's zones say which zone of the table is which of the account. The arguments are
// not changed.
//
//   - Facts: those of the table stay for types that EC2 does not name. BranchENIs and
//     NetworkMbps stay, too: EC2 does not tell them, or not as its documentation does.
//   - On-demand prices of types that the Price List does not name stay, as estimates.
//   - A zone that the account knows, and for which there is no spot price, has none.
//   - Where the Price List has not answered, a price that the table does not have either gets
//     a stand-in. A list that has answered says what is sold on demand.
func (l Live) Over(facts []Fact, m Market, zones []Zone) ([]Fact, Market) {
	if l.Types != nil {
		facts = mergeFacts(facts, l.Types)
	}
	names := namesIn(m.Zones, zones)
	m.SpotUnknown = l.Spot == nil && len(m.Spot) == 0
	if l.Zones != nil {
		m, names = l.offered(m, zones, names)
	}
	if l.OnDemand != nil {
		prices, estimates := maps.Clone(l.OnDemand), map[string]bool{}
		for name, price := range m.OnDemand {
			if _, told := prices[name]; !told {
				prices[name], estimates[name] = price, true
			}
		}
		m.OnDemand, m.OnDemandIsEstimate = prices, estimates
	}
	if l.Spot != nil {
		m.Spot, m.SpotIsEstimate = l.spot(m, names), false
	}
	if l.OnDemand == nil {
		m = m.WithStandIns(facts)
	}
	return facts, m
}

// mergeFacts returns the facts of both, sorted by name.
func mergeFacts(table, live []Fact) []Fact {
	byName := make(map[string]Fact, len(table))
	for _, f := range table {
		byName[f.Name] = f
	}
	for _, f := range live {
		if old, known := byName[f.Name]; known {
			f.BranchENIs, f.NetworkMbps = old.BranchENIs, old.NetworkMbps
		}
		byName[f.Name] = f
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b Fact) int { return strings.Compare(a.Name, b.Name) })
}

// namesIn returns the account's name of each zone of the table; "" where the account does
// not say.
func namesIn(table, account []Zone) []string {
	names := make([]string, len(table))
	for i, z := range table {
		at := slices.IndexFunc(account, func(a Zone) bool { return a.ID != "" && a.ID == z.ID })
		if at >= 0 {
			names[i] = account[at].Name
		}
	}
	return names
}

// offered returns the market with the zones and offerings that are live, and the names of
// its zones. The table's spot prices stay where it is known which zone they are for.
func (l Live) offered(m Market, account []Zone, known []string) (out Market, names []string) {
	all := map[string]bool{}
	for _, in := range l.Zones {
		for _, z := range in {
			all[z] = true
		}
	}
	names = slices.Sorted(maps.Keys(all))
	out = m
	out.Zones, out.Offered, out.Spot = make([]Zone, len(names)), make(map[string][]int, len(l.Zones)), map[string][]quantity.Money{}
	for i, name := range names {
		out.Zones[i] = Zone{Name: name}
		if at := slices.IndexFunc(account, func(a Zone) bool { return a.Name == name }); at >= 0 {
			out.Zones[i] = account[at]
		}
	}
	for t, in := range l.Zones {
		sorted := slices.Sorted(slices.Values(in))
		prices := make([]quantity.Money, 0, len(sorted))
		for _, z := range slices.Compact(sorted) {
			i, _ := slices.BinarySearch(names, z)
			out.Offered[t] = append(out.Offered[t], i)
			price := quantity.Money(0)
			if of := slices.Index(known, z); of >= 0 {
				price = m.spotPrice(t, of)
			}
			prices = append(prices, price)
		}
		out.Spot[t] = prices
	}
	return out, names
}

// spot returns the spot prices of the market: in zones that the account names those that
// are live.
func (l Live) spot(m Market, names []string) map[string][]quantity.Money {
	out := make(map[string][]quantity.Money, len(m.Offered))
	for t, zones := range m.Offered {
		prices := make([]quantity.Money, len(zones))
		for i, z := range zones {
			if names[z] == "" {
				prices[i] = m.spotPrice(t, z)
			} else {
				prices[i] = l.Spot[t][names[z]]
			}
		}
		out[t] = prices
	}
	return out
}
