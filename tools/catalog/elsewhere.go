package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded/facts"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

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

func writeElsewhere(k karpenter, out string) error {
	p, err := k.elsewhere()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "prices.tsv"), facts.EncodePrices(p), 0o644); err != nil { //nolint:gosec // source files are for all to read
		return fmt.Errorf("facts write: %w", err)
	}
	for region, prices := range p.ByType {
		fmt.Printf("%s: %d on-demand prices of %s\n", region, len(prices), p.Dates[region])
	}
	return nil
}
