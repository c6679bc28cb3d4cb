package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// pricingRegion is one of the few that have the Pricing service; each answers
// for all regions.
const pricingRegion = "us-east-1"

// priceList finds on-demand prices, and spot prices where there is no history.
type priceList struct {
	api    *pricing.Client // nil: published tables
	tables tables
	today  string
}

func newPriceList(ctx context.Context, o options) (priceList, error) {
	list := priceList{today: o.today.Format(time.DateOnly)}
	var err error
	if list.tables, err = loadTables(); err != nil || o.prices == pricesFromTables {
		return list, err
	}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(pricingRegion))
	if err != nil {
		return list, fmt.Errorf("AWS configuration load: %w", err)
	}
	list.api = pricing.NewFromConfig(cfg, func(p *pricing.Options) {
		if o.endpoint != "" {
			p.BaseEndpoint = &o.endpoint
		}
	})
	return list, nil
}

func (l priceList) addOnDemand(ctx context.Context, m *catalog.Market) error {
	if l.api == nil {
		l.tables.addOnDemand(m)
		return nil
	}
	for _, kind := range []struct{ family, tenancy string }{
		{"Compute Instance", "Shared"},
		{"Compute Instance (bare metal)", "Dedicated"},
	} {
		if err := l.addProducts(ctx, m, kind.family, kind.tenancy); err != nil {
			return err
		}
	}
	m.Sources = append(m.Sources, catalog.Source{Group: "on-demand", Date: l.today, Text: "Pricing API"})
	return nil
}

func (l priceList) addProducts(ctx context.Context, m *catalog.Market, family, tenancy string) error {
	input := &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2")}
	for _, f := range [][2]string{
		{"regionCode", m.Region},
		{"preInstalledSw", "NA"},
		{"operatingSystem", "Linux"},
		{"capacitystatus", "Used"},
		{"marketoption", "OnDemand"},
		{"tenancy", tenancy},
		{"productFamily", family},
	} {
		input.Filters = append(input.Filters, types.Filter{Type: types.FilterTypeTermMatch, Field: &f[0], Value: &f[1]})
	}
	found := 0
	for pages := pricing.NewGetProductsPaginator(l.api, input); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("products get: %w", err)
		}
		for _, text := range page.PriceList {
			name, price, err := parseProduct(text)
			if err != nil {
				return err
			}
			if _, offered := m.Offered[name]; offered && price > 0 {
				m.OnDemand[name] = price
				found++
			}
		}
	}
	if found == 0 {
		return fmt.Errorf("products get: no price of a %q in %s; use -prices=tables if the endpoint has none", family, m.Region)
	}
	return nil
}

// parseProduct reads one product of the price list: the instance type and its
// price an hour, zero if it has none in dollars.
func parseProduct(text string) (string, quantity.Money, error) {
	var p struct {
		Product struct{ Attributes struct{ InstanceType string } }
		Terms   struct {
			OnDemand map[string]struct {
				PriceDimensions map[string]struct{ PricePerUnit map[string]string }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return "", 0, fmt.Errorf("product parse: %w", err)
	}
	for _, term := range p.Terms.OnDemand {
		for _, dimension := range term.PriceDimensions {
			if price, err := quantity.ParseMoney(dimension.PricePerUnit["USD"]); err == nil && price > 0 {
				return p.Product.Attributes.InstanceType, price, nil
			}
		}
	}
	return p.Product.Attributes.InstanceType, 0, nil
}
