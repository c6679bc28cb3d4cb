package aws_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// sold returns the embedded catalogue's facts of the types that the region sells, as far as
// EC2 tells them, and the region's market.
func sold(t *testing.T) ([]catalog.Fact, catalog.Market) {
	t.Helper()
	facts, market, err := embedded.Load(region)
	if err != nil {
		t.Fatal(err)
	}
	var out []catalog.Fact
	for _, f := range facts {
		if len(market.Offered[f.Name]) > 0 {
			f.BranchENIs = 0
			out = append(out, f)
		}
	}
	if len(out) < 500 {
		t.Fatalf("the catalogue has %d types in %s", len(out), region)
	}
	return out, market
}

// callsOf counts the calls of an action since the first n calls.
func callsOf(cloud *awssim.Cloud, n int, action string) int {
	count := 0
	for _, call := range cloud.Calls()[n:] {
		if call.Action == action {
			count++
		}
	}
	return count
}

func TestSim_InstanceTypesOfTheRegionAreTheFactsOfTheCatalogue(t *testing.T) {
	cloud, admin := start(t)
	c := daemonOf(t, cloud, admin)
	want, _ := sold(t)
	before := len(cloud.Calls())
	got := try[[]catalog.Fact](t)(c.InstanceTypes(t.Context()))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if pages := callsOf(cloud, before, "DescribeInstanceTypes"); pages != (len(want)+99)/100 {
		t.Errorf("%d types took %d pages", len(want), pages)
	}
}

func TestSim_OfferingsOfTheRegionAreThoseOfTheCatalogue(t *testing.T) {
	cloud, admin := start(t)
	c := daemonOf(t, cloud, admin)
	_, market := sold(t)
	want := map[string][]string{}
	for name, zones := range market.Offered {
		for _, z := range zones {
			want[name] = append(want[name], market.Zones[z].Name)
		}
		slices.Sort(want[name])
	}
	got := try[map[string][]string](t)(c.AllInstanceTypeZones(t.Context()))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSim_SpotPricesOfTheRegionAreThoseOfTheCatalogue(t *testing.T) {
	cloud, admin := start(t)
	c := daemonOf(t, cloud, admin)
	_, market := sold(t)
	want := map[string]map[string]quantity.Money{}
	for name, zones := range market.Offered {
		for i, z := range zones {
			if i >= len(market.Spot[name]) || market.Spot[name][i] == 0 {
				continue
			}
			if want[name] == nil {
				want[name] = map[string]quantity.Money{}
			}
			want[name][market.Zones[z].Name] = market.Spot[name][i]
		}
	}
	got := try[map[string]map[string]quantity.Money](t)(c.SpotPrices(t.Context(), time.Now()))
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 500 {
		t.Errorf("%d types (-want +got):\n%s", len(want), diff)
	}
}

func TestSim_OnDemandPricesOfTheRegionAreThoseOfTheCatalogueBareMetalIncluded(t *testing.T) {
	cloud, admin := start(t)
	c := daemonOf(t, cloud, admin)
	facts, market := sold(t)
	want, metal := map[string]quantity.Money{}, 0
	for _, f := range facts {
		if price := market.OnDemand[f.Name]; price > 0 {
			want[f.Name] = price
			if f.BareMetal {
				metal++
			}
		}
	}
	got := try[map[string]quantity.Money](t)(c.OnDemandPrices(t.Context()))
	if diff := cmp.Diff(want, got); diff != "" || metal < 50 || len(want) < 500 {
		t.Errorf("%d types, %d of bare metal (-want +got):\n%s", len(want), metal, diff)
	}
}

func TestSim_WhatTheDaemonMayNotReadIsAnErrorThatNamesTheAction(t *testing.T) {
	for action, read := range map[string]func(*aws.Clients) (any, error){
		"ec2:DescribeInstanceTypes":         func(c *aws.Clients) (any, error) { return c.InstanceTypes(t.Context()) },
		"ec2:DescribeInstanceTypeOfferings": func(c *aws.Clients) (any, error) { return c.AllInstanceTypeZones(t.Context()) },
		"ec2:DescribeSpotPriceHistory":      func(c *aws.Clients) (any, error) { return c.SpotPrices(t.Context(), time.Now()) },
		"pricing:GetProducts":               func(c *aws.Clients) (any, error) { return c.OnDemandPrices(t.Context()) },
	} {
		cloud, admin := start(t)
		if _, err := read(daemonOf(t, cloud, admin, action)); !errors.Is(err, aws.ErrUnauthorized) || !strings.Contains(err.Error(), "not authorized to perform "+action) {
			t.Errorf("without %s: %v", action, err)
		}
	}
}
