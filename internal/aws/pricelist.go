package aws

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"golang.org/x/sync/errgroup"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// priceList is the Price List that has the prices of a region: where it is, and the
// currency of its prices.
type priceList struct{ region, currency string }

// priceListOf returns the Price List of a region. A partition has one, in one or a few
// regions; the partition aws-us-gov has none. Source: the endpoints of AWS's SDKs.
func priceListOf(region string) (priceList, bool) {
	switch awsspec.Partition(region) {
	case "aws":
		switch {
		case strings.HasPrefix(region, "ap-"):
			return priceList{"ap-south-1", dollar}, true
		case strings.HasPrefix(region, "eu-"):
			return priceList{"eu-central-1", dollar}, true
		}
		return priceList{"us-east-1", dollar}, true
	case "aws-cn":
		return priceList{"cn-northwest-1", "CNY"}, true
	case "aws-eusc":
		return priceList{"eusc-de-east-1", "EUR"}, true
	case "aws-iso":
		return priceList{"us-iso-east-1", dollar}, true
	case "aws-iso-b":
		return priceList{"us-isob-east-1", dollar}, true
	case "aws-iso-e":
		return priceList{"eu-isoe-west-1", dollar}, true
	case "aws-iso-f":
		return priceList{"us-isof-south-1", dollar}, true
	}
	return priceList{}, false
}

// Currency is that of AWS's prices in the region, of instances on demand and of spot
// instances: USD, CNY in aws-cn, EUR in aws-eusc.
func Currency(region string) string {
	if list, ok := priceListOf(region); ok {
		return list.currency
	}
	return dollar // aws-us-gov
}

// dollar is the currency of most regions.
const dollar = "USD"

// OnDemandPrices returns the list prices of Linux instances on demand, by instance type:
// with shared tenancy, and for bare metal types with dedicated tenancy, as the Price List
// has these so. If a type has several prices, the lowest above zero counts. A type without
// entry has no price above zero in the list.
//
// Prices are in the currency of the region; see Currency.
//
// Errors: ErrNoPriceList where the region's partition has no Price List;
// ErrNotFound if the list has nothing of the region. A product that cannot be read, or that
// has no price in the currency, is left out. The error is an *UnreadError then, and the
// prices that come with it are those of all other products. With every other error there
// are no prices.
func (c *Clients) OnDemandPrices(ctx context.Context) (map[string]quantity.Money, error) {
	list, ok := priceListOf(c.region)
	if !ok {
		return nil, fmt.Errorf("on-demand prices get: region %s: %w", c.region, ErrNoPriceList)
	}
	shared := products{currency: list.currency, prices: map[string]quantity.Money{}}
	metal := products{currency: list.currency, prices: map[string]quantity.Money{}}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.addProducts(ctx, &shared, "Compute Instance", "Shared") })
	group.Go(func() error { return c.addProducts(ctx, &metal, "Compute Instance (bare metal)", "Dedicated") })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if shared.seen == 0 {
		return nil, fmt.Errorf("on-demand prices get: region %s in the Price List: %w", c.region, ErrNotFound)
	}
	for name, price := range metal.prices {
		shared.add(name, price)
	}
	shared.unread.join(metal.unread)
	return shared.prices, shared.unread.err("on-demand prices get")
}

func (c *Clients) addProducts(ctx context.Context, p *products, family, tenancy string) error {
	in := &pricing.GetProductsInput{ServiceCode: awssdk.String("AmazonEC2"), MaxResults: awssdk.Int32(100)}
	for _, f := range [][2]string{
		{"regionCode", c.region},
		{"productFamily", family},
		{"tenancy", tenancy},
		{"operatingSystem", "Linux"},
		{"preInstalledSw", "NA"},
		{"capacitystatus", "Used"},
		{"marketoption", "OnDemand"},
	} {
		in.Filters = append(in.Filters, pricingtypes.Filter{Type: pricingtypes.FilterTypeTermMatch, Field: &f[0], Value: &f[1]})
	}
	for pages := pricing.NewGetProductsPaginator(c.pricing, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return wrap(err, "on-demand prices get")
		}
		for _, text := range page.PriceList {
			p.read(text)
		}
	}
	return nil
}

// products are what the Price List has answered.
type products struct {
	currency string
	prices   map[string]quantity.Money
	seen     int // also those without a price
	unread   unreadEntries
}

// product is an element of the Price List, which is JSON in a string.
type product struct {
	Product struct {
		SKU        string
		Attributes struct{ InstanceType string }
	}
	Terms struct {
		OnDemand map[string]struct {
			PriceDimensions map[string]struct{ PricePerUnit map[string]string }
		}
	}
}

func (p *products) read(text string) {
	p.seen++
	var one product
	err := json.Unmarshal([]byte(text), &one)
	name := one.Product.Attributes.InstanceType
	if err != nil {
		p.unread.note(fmt.Errorf("product of the Price List of instance type %q: %w", name, err))
		return
	}
	if name == "" {
		p.unread.note(fmt.Errorf("product %s of the Price List has no instance type", one.Product.SKU))
		return
	}
	price, err := one.price(p.currency)
	if err != nil {
		p.unread.note(fmt.Errorf("on-demand price of %s: %w", name, err))
		return
	}
	p.add(name, price)
}

func (p *products) add(name string, price quantity.Money) {
	if have, known := p.prices[name]; price > 0 && (!known || price < have) {
		p.prices[name] = price
	}
}

// price returns the lowest price above zero, and zero if all are zero: so the list has
// types that are not sold on demand.
func (p product) price(currency string) (quantity.Money, error) {
	var lowest quantity.Money
	priced := false
	for _, term := range p.Terms.OnDemand {
		for _, dimension := range term.PriceDimensions {
			text, ok := dimension.PricePerUnit[currency]
			if !ok {
				return 0, errors.New("the Price List has none in " + currency)
			}
			price, err := quantity.ParseMoney(text)
			if err != nil {
				return 0, err
			}
			priced = true
			if price > 0 && (lowest == 0 || price < lowest) {
				lowest = price
			}
		}
	}
	if !priced {
		return 0, errors.New("the Price List has none")
	}
	return lowest, nil
}
