package facts

import (
	"maps"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const (
	firstColumn = "type"
	// zoneLetters name the zone lines in their order; no region has as many.
	zoneLetters = "abcdefghijklmnopqrstuvwxyz"
)

// EncodeMarket renders a region's file.
func EncodeMarket(m catalog.Market) []byte {
	var b writer
	b.sources(m.Sources)
	for _, z := range m.Zones {
		b.line("zone", z.ID, z.Name)
	}
	if m.SpotIsEstimate {
		b.line("spot", "estimated")
	}
	b.line(firstColumn, "zones", "on-demand", "spot")
	for _, name := range slices.Sorted(maps.Keys(m.Offered)) {
		var letters, spot []byte
		for _, z := range m.Offered[name] {
			letters = append(letters, zoneLetters[z])
		}
		for i, p := range m.Spot[name] {
			if i > 0 {
				spot = append(spot, ' ')
			}
			spot = appendDollars(spot, p)
		}
		var onDemand []byte
		if p, known := m.OnDemand[name]; known {
			if m.OnDemandIsEstimate[name] {
				onDemand = append(onDemand, '~')
			}
			onDemand = appendDollars(onDemand, p)
		}
		b.line(name, string(letters), string(onDemand), string(spot))
	}
	return b.bytes()
}

// DecodeMarket reads what EncodeMarket wrote. The region's name is the file's,
// so the caller gives it.
func DecodeMarket(region string, data []byte) (catalog.Market, error) {
	m := catalog.Market{
		Region:             region,
		Offered:            map[string][]int{},
		OnDemand:           map[string]quantity.Money{},
		OnDemandIsEstimate: map[string]bool{},
		Spot:               map[string][]quantity.Money{},
	}
	r := newReader(data)
	for r.next() {
		if source, ok := r.source(); ok {
			m.Sources = append(m.Sources, source)
			continue
		}
		switch r.cell(0) {
		case "zone":
			m.Zones = append(m.Zones, catalog.Zone{ID: r.cell(1), Name: r.cell(2)})
		case "spot":
			m.SpotIsEstimate = r.cell(1) == "estimated"
		case firstColumn:
		default:
			if err := decodeListing(&m, r); err != nil {
				return catalog.Market{}, err
			}
		}
	}
	return m, nil
}

func decodeListing(m *catalog.Market, r *reader) error {
	if len(r.cells) != 4 {
		return r.errorf("has %d cells, want 4", len(r.cells))
	}
	name, letters := r.cell(0), r.cell(1)
	zones := make([]int, len(letters))
	for i := range letters {
		zones[i] = strings.IndexByte(zoneLetters, letters[i])
		if zones[i] < 0 || zones[i] >= len(m.Zones) {
			return r.errorf("no zone is lettered %q", letters[i])
		}
	}
	m.Offered[name] = zones
	if onDemand, estimated := strings.CutPrefix(r.cell(2), "~"); onDemand != "" {
		price, err := quantity.ParseMoney(onDemand)
		if err != nil {
			return r.errorf("on-demand: %w", err)
		}
		m.OnDemand[name] = price
		if estimated {
			m.OnDemandIsEstimate[name] = true
		}
	}
	if r.cell(3) == "" {
		return nil
	}
	prices := make([]quantity.Money, 0, len(zones))
	for cell := range strings.SplitSeq(r.cell(3), " ") {
		price, err := quantity.ParseMoney(cell)
		if err != nil {
			return r.errorf("spot: %w", err)
		}
		prices = append(prices, price)
	}
	if len(prices) != len(zones) {
		return r.errorf("has %d spot prices for %d zones", len(prices), len(zones))
	}
	m.Spot[name] = prices
	return nil
}
