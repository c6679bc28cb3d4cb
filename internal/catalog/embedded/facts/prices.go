package facts

import (
	"maps"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// regionKey begins the line of a region in prices.tsv: its name, and the date of its prices.
const regionKey = "region"

// Prices are the on-demand prices of regions whose offerings nobody has recorded, as
// prices.tsv has them.
type Prices struct {
	Source string            // where the prices are from
	Dates  map[string]string // of the prices, by region
	ByType map[string]map[string]quantity.Money
}

// EncodePrices renders prices.tsv.
func EncodePrices(p Prices) []byte {
	var b writer
	b.line(sourceKey, "on-demand", "", p.Source)
	regions := slices.Sorted(maps.Keys(p.ByType))
	names := map[string]bool{}
	for _, region := range regions {
		b.line(regionKey, region, p.Dates[region])
		for name := range p.ByType[region] {
			names[name] = true
		}
	}
	b.line(slices.Concat([]string{firstColumn}, regions)...)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		cells := []string{name}
		for _, region := range regions {
			var text []byte
			if price := p.ByType[region][name]; price > 0 {
				text = appendDollars(text, price)
			}
			cells = append(cells, string(text))
		}
		b.line(cells...)
	}
	return b.bytes()
}

// DecodePrices reads what EncodePrices wrote.
func DecodePrices(data []byte) (Prices, error) {
	p := Prices{Dates: map[string]string{}, ByType: map[string]map[string]quantity.Money{}}
	var columns []string
	r := newReader(data)
	for r.next() {
		if source, ok := r.source(); ok {
			p.Source = source.Text
			continue
		}
		switch r.cell(0) {
		case regionKey:
			p.Dates[r.cell(1)], p.ByType[r.cell(1)] = r.cell(2), map[string]quantity.Money{}
		case firstColumn:
			columns = slices.Clone(r.cells[1:])
		default:
			if err := decodePrices(&p, r, columns); err != nil {
				return Prices{}, err
			}
		}
	}
	return p, nil
}

func decodePrices(p *Prices, r *reader, columns []string) error {
	if len(r.cells) != 1+len(columns) {
		return r.errorf("has %d cells, want %d", len(r.cells), 1+len(columns))
	}
	for i, region := range columns {
		text := r.cell(1 + i)
		if text == "" {
			continue
		}
		price, err := quantity.ParseMoney(text)
		if err != nil {
			return r.errorf("%s: %w", region, err)
		}
		if p.ByType[region] == nil {
			return r.errorf("%s has no line of its own", region)
		}
		p.ByType[region][r.cell(0)] = price
	}
	return nil
}

// In returns the prices of the region, and their source.
func (p Prices) In(region string) (map[string]quantity.Money, catalog.Source, bool) {
	prices, known := p.ByType[region]
	return prices, catalog.Source{Group: "on-demand", Date: p.Dates[region], Text: p.Source}, known
}
