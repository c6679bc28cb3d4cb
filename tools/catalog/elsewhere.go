package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded/facts"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// The published prices of regions whose offerings nobody has recorded are in Go files that a
// program has written. They are read as text, so that the version of the prices need not be
// that of go.mod.
var (
	tableDate   = regexp.MustCompile(`// generated at ([0-9]{4}-[0-9]{2}-[0-9]{2})T`)
	tableRegion = regexp.MustCompile(`^\t"([a-z0-9-]+)": \{$`)
	tablePrice  = regexp.MustCompile(`"([a-z0-9-]+\.[a-z0-9-]+)": ([0-9.]+)`)
)

var errTable = errors.New("no table of prices")

// elsewhere reads the tables in the folder, which is pkg/providers/pricing of
// karpenter-provider-aws. source is what to call it.
func elsewhere(folder, source string) (facts.Prices, error) {
	p := facts.Prices{Source: source, Dates: map[string]string{}, ByType: map[string]map[string]quantity.Money{}}
	for _, file := range []string{"zz_generated.pricing_aws_us_gov.go", "zz_generated.pricing_aws_cn.go"} {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			return p, fmt.Errorf("prices read: %w", err)
		}
		date, into := tableDate.FindStringSubmatch(string(text)), map[string]quantity.Money(nil)
		if date == nil {
			return p, fmt.Errorf("%s: %w: it has no date", file, errTable)
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			if region := tableRegion.FindStringSubmatch(line); region != nil {
				into = map[string]quantity.Money{}
				p.Dates[region[1]], p.ByType[region[1]] = date[1], into
			}
			for _, entry := range tablePrice.FindAllStringSubmatch(line, -1) {
				price, err := quantity.ParseMoney(entry[2])
				if err != nil || into == nil {
					return p, fmt.Errorf("%s: %s: %w: %w", file, entry[1], errTable, err)
				}
				if price > 0 {
					into[entry[1]] = price
				}
			}
		}
	}
	return p, nil
}

func writeElsewhere(folder, source, out string) error {
	p, err := elsewhere(folder, source)
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
