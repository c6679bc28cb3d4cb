package facts

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// volumesColumn begins the line with the names of the columns in volumes.tsv.
const volumesColumn = "region"

// Volumes are the list prices of EBS volumes by region, as volumes.tsv has them.
type Volumes struct {
	Sources []catalog.Source
	Prices  map[string]catalog.VolumePrices
}

// DecodeVolumes reads volumes.tsv, which is written by hand.
func DecodeVolumes(data []byte) (Volumes, error) {
	v := Volumes{Prices: map[string]catalog.VolumePrices{}}
	var items []string
	r := newReader(data)
	for r.next() {
		if source, ok := r.source(); ok {
			v.Sources = append(v.Sources, source)
			continue
		}
		if r.cell(0) == volumesColumn {
			items = append(items, r.cells[1:]...)
			continue
		}
		if len(r.cells) != 1+len(items) {
			return Volumes{}, r.errorf("has %d cells, want %d", len(r.cells), 1+len(items))
		}
		prices := catalog.VolumePrices{}
		for i, item := range items {
			if r.cell(1+i) == "" {
				continue
			}
			price, err := quantity.ParseMoney(r.cell(1 + i))
			if err != nil {
				return Volumes{}, r.errorf("%s: %w", item, err)
			}
			prices[item] = price
		}
		v.Prices[r.cell(0)] = prices
	}
	return v, nil
}

// In returns the prices of the region. What has no price there costs as in the
// reference region.
func (v Volumes) In(region, reference string) catalog.VolumePrices {
	out := catalog.VolumePrices{}
	for _, from := range []string{reference, region} {
		for item, price := range v.Prices[from] {
			out[item] = price
		}
	}
	return out
}
