package main

import (
	"context"
	"fmt"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

// pricingText says that prices are from the Pricing service.
const pricingText = "Pricing API"

// priceList finds on-demand prices, and spot prices where there is no history.
type priceList struct {
	fromAPI  bool // else from published tables
	endpoint string
	tables   tables
	today    string
}

func newPriceList(o options) (priceList, error) {
	list := priceList{fromAPI: o.prices == pricesFromAPI, endpoint: o.endpoint, today: o.today.Format(time.DateOnly)}
	var err error
	list.tables, err = loadTables(o.karpenter)
	return list, err
}

func (l priceList) addOnDemand(ctx context.Context, m *catalog.Market) error {
	if !l.fromAPI {
		l.tables.addOnDemand(m)
		return nil
	}
	clients, err := newClients(ctx, m.Region, l.endpoint)
	if err != nil {
		return err
	}
	prices, err := clients.OnDemandPrices(ctx)
	if err != nil {
		return fmt.Errorf("%w; use -prices=tables if the endpoint has none", err)
	}
	for name := range m.Offered {
		if price, known := prices[name]; known {
			m.OnDemand[name] = price
		}
	}
	m.Sources = append(m.Sources, catalog.Source{Group: "on-demand", Date: l.today, Text: pricingText})
	return nil
}
