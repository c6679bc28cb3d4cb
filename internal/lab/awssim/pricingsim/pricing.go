// Package pricingsim is the simulated Price List: the on-demand prices of
// Linux instances, from the product's own catalogue, in the shape that the
// real one gives them. Prices are dollars per hour.
package pricingsim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Product is one instance type with its on-demand price in one region.
type Product struct {
	InstanceType string
	RegionCode   string
	PerHour      quantity.Money
	BareMetal    bool
	VCPU         int
	MemoryMiB    int64
}

// Config is what the Price List needs of its surroundings.
type Config struct {
	Now      func() time.Time
	Auth     wire.Authorizer
	Products func(region string) ([]Product, error) // of one region, sorted by type; nil: none
}

// Service is the simulated Price List. Safe for concurrent use.
type Service struct {
	Config
	wire.Handlers
}

const serviceCode = "AmazonEC2"

// New makes a Price List over a catalogue.
func New(c Config) *Service {
	s := &Service{Config: c}
	s.Handlers = wire.Handlers{"GetProducts": wire.JSON(s.getProducts)}
	return s
}

type filter struct{ Type, Field, Value string }

// attributes are the product's attributes, by which it can be filtered.
func (p Product) attributes() map[string]string {
	return map[string]string{
		"servicecode": serviceCode, "regionCode": p.RegionCode, "instanceType": p.InstanceType, "operatingSystem": "Linux", "preInstalledSw": "NA",
		"tenancy": "Shared", "capacitystatus": "Used", "marketoption": "OnDemand", "licenseModel": "No License required", "operation": "RunInstances",
		"locationType": "AWS Region", "vcpu": strconv.Itoa(p.VCPU), "memory": strconv.FormatFloat(float64(p.MemoryMiB)/1024, 'f', -1, 64) + " GiB",
	}
}

// family is the productFamily; bare metal types are a family of their own,
// sold only with dedicated tenancy in the list.
func (p Product) family() (name, tenancy string) {
	if p.BareMetal {
		return "Compute Instance (bare metal)", "Dedicated"
	}
	return "Compute Instance", "Shared"
}

func (p Product) matches(filters []filter) bool {
	attributes := p.attributes()
	name, tenancy := p.family()
	attributes["tenancy"] = tenancy
	attributes["productFamily"], attributes["serviceCode"] = name, serviceCode
	return !slices.ContainsFunc(filters, func(f filter) bool { return !strings.EqualFold(attributes[f.Field], f.Value) })
}

// document is the product as an element of PriceList: JSON in a string.
func (p Product) document(published time.Time) string {
	sum := sha256.Sum256([]byte(p.RegionCode + p.InstanceType))
	sku := strings.ToUpper(hex.EncodeToString(sum[:8]))
	term := sku + ".JRTCKXETXF"
	name, tenancy := p.family()
	attributes := p.attributes()
	attributes["tenancy"] = tenancy
	usd := fmt.Sprintf("%d.%09d", p.PerHour/quantity.NanoDollars, p.PerHour%quantity.NanoDollars)
	out, _ := json.Marshal(map[string]any{ // strings and maps of them always marshal
		"product":     map[string]any{"productFamily": name, "attributes": attributes, "sku": sku},
		"serviceCode": serviceCode,
		"terms": map[string]any{"OnDemand": map[string]any{term: map[string]any{
			"sku": sku, "offerTermCode": "JRTCKXETXF", "effectiveDate": published.Format(time.RFC3339), "termAttributes": map[string]any{},
			"priceDimensions": map[string]any{term + ".6YS6EN2CT7": map[string]any{
				"unit": "Hrs", "beginRange": "0", "endRange": "Inf", "appliesTo": []string{}, "rateCode": term + ".6YS6EN2CT7",
				"description": "$" + usd + " per On Demand Linux " + p.InstanceType + " Instance Hour", "pricePerUnit": map[string]string{"USD": usd},
			}},
		}}},
		"version": published.Format("20060102150405"), "publicationDate": published.Format(time.RFC3339),
	})
	return string(out)
}

func (s *Service) getProducts(ctx context.Context, req *wire.Request, in *struct {
	ServiceCode, FormatVersion, NextToken string
	Filters                               []filter
	MaxResults                            *int
},
) (any, error) {
	if err := s.Auth.Authorize(ctx, req, wire.Access{Action: "pricing:GetProducts"}); err != nil {
		return nil, err
	}
	limit := 100
	if in.MaxResults != nil {
		limit = *in.MaxResults
	}
	if limit < 1 || limit > 100 || in.FormatVersion != "" && in.FormatVersion != "aws_v1" {
		return nil, wire.Errorf("InvalidParameterException", "MaxResults is from 1 to 100 and FormatVersion is aws_v1")
	}
	if in.ServiceCode != serviceCode {
		return nil, &wire.Error{Code: "NotFoundException", Status: 400, Message: "Service code not found: " + in.ServiceCode}
	}
	region := ""
	for _, f := range in.Filters {
		if f.Type != "TERM_MATCH" && f.Type != "EQUALS" {
			return nil, wire.Errorf("InvalidParameterException", "Filter type %s is not simulated, only TERM_MATCH and EQUALS", f.Type)
		}
		if f.Field == "regionCode" {
			region = f.Value
		}
	}
	if region == "" {
		return nil, wire.Errorf("InvalidParameterException", "products without a filter on regionCode are not simulated")
	}
	var found []Product
	if s.Products != nil {
		all, err := s.Products(region)
		if err != nil {
			// The real list gives nothing for a region that it does not know.
			all = nil
		}
		for _, p := range all {
			if p.matches(in.Filters) {
				found = append(found, p)
			}
		}
	}
	found, next := wire.Page(found, func(p Product) string { return p.InstanceType }, in.NextToken, limit)
	out := struct {
		FormatVersion string
		PriceList     []string
		NextToken     string `json:",omitempty"`
	}{"aws_v1", []string{}, next}
	published := req.Now.UTC().Truncate(24 * time.Hour)
	for _, p := range found {
		out.PriceList = append(out.PriceList, p.document(published))
	}
	return out, nil
}
