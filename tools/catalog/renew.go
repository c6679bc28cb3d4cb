package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded/facts"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// renew writes the facts anew that come from tables, with those of now. What EC2 and the
// Pricing service have said stays as it is. All tables are read before anything is written.
func renew(o options) error {
	t, err := loadTables(o.karpenter)
	if err != nil {
		return err
	}
	others, err := o.karpenter.elsewhere()
	if err != nil {
		return err
	}
	if err := rewrite(o.out, "types", t.renewTypes); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(o.out, "*-*.tsv"))
	if err != nil {
		return fmt.Errorf("facts find: %w", err)
	}
	for _, file := range files {
		region := regionOf(file)
		if err := rewrite(o.out, region, func(data []byte) ([]byte, error) { return t.renewMarket(region, data) }); err != nil {
			return err
		}
	}
	return writeElsewhere(others, o.out)
}

// regionOf is the region of a file of facts.
func regionOf(file string) string {
	name := filepath.Base(file)
	return name[:len(name)-len(filepath.Ext(name))]
}

func rewrite(folder, name string, change func([]byte) ([]byte, error)) error {
	file := filepath.Join(folder, name+".tsv")
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("facts read: %w", err)
	}
	if data, err = change(data); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return writeFacts(folder, name, data)
}

func (t tables) renewTypes(data []byte) ([]byte, error) {
	types, err := facts.DecodeTypes(data)
	if err != nil {
		return nil, fmt.Errorf("types read: %w", err)
	}
	for i, f := range types.Facts {
		types.Facts[i] = t.completed(f)
	}
	types.Sources = with(types.Sources, t.sources()...)
	return types.Encode(), nil
}

func (t tables) renewMarket(region string, data []byte) ([]byte, error) {
	m, err := facts.DecodeMarket(region, data)
	if err != nil {
		return nil, fmt.Errorf("market read: %w", err)
	}
	said, estimated := slices.Clone(m.Sources), m.SpotIsEstimate
	if !slices.ContainsFunc(said, func(s catalog.Source) bool { return s.Group == "on-demand" && s.Text == pricingText }) {
		m.OnDemand, m.OnDemandIsEstimate = map[string]quantity.Money{}, map[string]bool{}
		t.addOnDemand(&m)
	}
	if estimated {
		m.Spot = map[string][]quantity.Money{}
		t.addSpot(&m)
	}
	m.Sources = with(said, m.Sources[len(said):]...)
	return facts.EncodeMarket(m), nil
}

// with has each new source in the place of the one of its group.
func with(said []catalog.Source, now ...catalog.Source) []catalog.Source {
	for _, s := range now {
		if at := slices.IndexFunc(said, func(x catalog.Source) bool { return x.Group == s.Group }); at >= 0 {
			said[at] = s
		} else {
			said = append(said, s)
		}
	}
	return said
}

// elsewhere reads the published prices of regions whose offerings nobody has recorded.
func (k karpenter) elsewhere() (facts.Prices, error) {
	p := facts.Prices{
		Source: k.name() + ", on-demand tables, in the currency of the region",
		Dates:  map[string]string{}, ByType: map[string]map[string]quantity.Money{},
	}
	for _, file := range []string{"zz_generated.pricing_aws_us_gov.go", "zz_generated.pricing_aws_cn.go"} {
		date, byRegion, err := k.prices(file)
		if err != nil {
			return p, err
		}
		for region, prices := range byRegion {
			p.Dates[region], p.ByType[region] = date, prices
		}
	}
	return p, nil
}

func writeElsewhere(p facts.Prices, out string) error {
	return writeFacts(out, "prices", facts.EncodePrices(p))
}
