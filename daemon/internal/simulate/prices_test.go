package simulate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	awsmarket "github.com/karpenterd/terraform-provider-karpenter/daemon/internal/market"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func prices(t *testing.T, text string) Prices {
	t.Helper()
	p, err := ReadPrices("prices.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPrices_OfAFileReplaceEmbeddedOnes(t *testing.T) {
	t.Parallel()
	before := run(t, groups(), hour())
	o := hour()
	o.Prices = prices(t, "- {instanceType: m5.2xlarge, capacityType: on-demand, dollarsPerHour: 0.2}\n")
	r := run(t, groups(), o)
	if got, want := r.Now.Pools[0].CostPerHour, 9*0.2; got != want || before.Now.Pools[0].CostPerHour <= want {
		t.Errorf("%v an hour, want %v; before %v", got, want, before.Now.Pools[0].CostPerHour)
	}
	if !strings.HasSuffix(r.Prices, ", with 1 price of prices.yaml in place of its own") || !strings.HasPrefix(r.Prices, before.Prices) {
		t.Errorf("prices: %s", r.Prices)
	}
	if again := run(t, groups(), hour()); again.Now.CostPerHour != before.Now.CostPerHour {
		t.Errorf("the embedded list has changed: %v, before %v", again.Now.CostPerHour, before.Now.CostPerHour)
	}
}

func TestPrices_OfSpotAreThoseOfAZoneOrOfAll(t *testing.T) {
	t.Parallel()
	facts, m, err := embedded.Load("us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	got, err := prices(t, `[{"instanceType":"m5.large","capacityType":"spot","zone":"us-east-1b","dollarsPerHour":0.00001},{"instanceType":"c5.large","capacityType":"spot","dollarsPerHour":"0.05"}]`).over(facts, m)
	if err != nil {
		t.Fatal(err)
	}
	for _, z := range []string{"us-east-1a", "us-east-1b", "us-east-1c"} {
		want := m.PriceOf("m5.large", label.Spot, z)
		if z == "us-east-1b" {
			want = quantity.NanoDollars / 100_000
		}
		if price := got.PriceOf("m5.large", label.Spot, z); price != want {
			t.Errorf("m5.large in %s: %d, want %d", z, price, want)
		}
		if price := got.PriceOf("c5.large", label.Spot, z); price != quantity.NanoDollars/20 {
			t.Errorf("c5.large in %s: %d", z, price)
		}
	}
	if m.PriceOf("c5.large", label.Spot, "us-east-1a") == quantity.NanoDollars/20 {
		t.Error("the embedded list has changed")
	}
}

func TestPrices_WhatIsWrongNamesFileEntryAndRemedy(t *testing.T) {
	t.Parallel()
	entry := func(fields string) string { return "- {" + fields + "}\n" }
	good := entry("instanceType: m5.large, capacityType: on-demand, dollarsPerHour: 1")
	for _, c := range []struct{ text, want string }{
		{"", "it has no prices: give a list"},
		{"[]", "it has no prices: give a list"},
		{"m5.large: 1\n", "give a list whose entries have"},
		{"- [\n", "it is neither YAML nor JSON"},
		{good + "---\n" + good, "it has several documents: give one list"},
		{entry("instanceType: m5.large, price: 1"), `unknown field "price": give a list whose entries have`},
		{entry("instanceType: m5.large, instanceType: m5.large"), "already set"},
		{good + entry("capacityType: spot, dollarsPerHour: 1"), "entry 2 (spot): instanceType is missing: give one"},
		{entry("instanceType: m5.large, dollarsPerHour: 1"), `entry 1 (m5.large): capacityType is "": give on-demand or spot`},
		{entry("instanceType: m5.large, capacityType: reserved, dollarsPerHour: 1"), `capacityType is "reserved": give on-demand or spot`},
		{entry("instanceType: m5.large, capacityType: on-demand, zone: us-east-1a, dollarsPerHour: 1"), "one price on demand for all zones: leave out zone"},
		{entry("instanceType: m5.large, capacityType: spot"), "dollarsPerHour is missing"},
		{entry("instanceType: m5.large, capacityType: spot, dollarsPerHour: -1"), "entry 1 (m5.large, spot): dollarsPerHour is -1: give a number above 0"},
		{entry("instanceType: m5.large, capacityType: spot, dollarsPerHour: 0"), "dollarsPerHour is 0: give a number above 0"},
		{entry("instanceType: m5.large, capacityType: spot, dollarsPerHour: 1e300"), "give a number above 0, in dollars"},
		{entry("instanceType: m5.large, capacityType: spot, dollarsPerHour: cheap"), "dollarsPerHour"},
		{good + entry("instanceType: m5.larg, capacityType: spot, dollarsPerHour: 1"), "entry 2 (m5.larg, spot): m5.larg is no instance type that this program knows: correct the name"},
		{entry("instanceType: m5.large, capacityType: spot, zone: us-east-1x, dollarsPerHour: 1"), `AWS does not sell m5.large in zone "us-east-1x": give one of us-east-1a, `},
		{good + good, "entry 2 (m5.large, on-demand): entry 1 has a price of it, too: leave one of them out"},
		{entry("instanceType: m5.large, capacityType: spot, dollarsPerHour: 1") + entry("instanceType: m5.large, capacityType: spot, zone: us-east-1a, dollarsPerHour: 2"), "entry 2 (m5.large, spot, us-east-1a): entry 1 has a price of it, too"},
		{entry("instanceType: mac1.metal, capacityType: spot, dollarsPerHour: 1"), "mac1.metal"},
	} {
		p, err := ReadPrices("prices.yaml", []byte(c.text))
		if err == nil {
			o := hour()
			o.Prices = p
			_, err = Run(t.Context(), groups(), o)
		}
		if err == nil || !strings.HasPrefix(err.Error(), "--prices prices.yaml: ") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
}

// cloud is an AWS in which everything costs half of what the embedded list says.
type cloud struct {
	facts  []catalog.Fact
	market catalog.Market
	fails  map[string]error // by call
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	facts, m, err := embedded.Load("us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	return &cloud{facts, m, map[string]error{}}
}

func (c *cloud) InstanceTypes(context.Context) ([]catalog.Fact, error) {
	return c.facts, c.fails["types"]
}

func (c *cloud) AllInstanceTypeZones(context.Context) (map[string][]string, error) {
	out := map[string][]string{}
	for name, zones := range c.market.Offered {
		for _, z := range zones {
			out[name] = append(out[name], c.market.Zones[z].Name)
		}
	}
	return out, c.fails["zones"]
}

func (c *cloud) OnDemandPrices(context.Context) (map[string]quantity.Money, error) {
	out := map[string]quantity.Money{}
	for name, price := range c.market.OnDemand {
		out[name] = price / 2
	}
	return out, c.fails["on-demand"]
}

func (c *cloud) SpotPrices(context.Context, time.Time) (map[string]map[string]quantity.Money, error) {
	out := map[string]map[string]quantity.Money{}
	for name, prices := range c.market.Spot {
		out[name] = map[string]quantity.Money{}
		for i, price := range prices {
			out[name][c.market.Zones[c.market.Offered[name][i]].Name] = price / 2
		}
	}
	return out, c.fails["spot"]
}

func (c *cloud) prices(t *testing.T) Prices {
	t.Helper()
	return Prices{Asked: seen().Time, Cloud: func(_ context.Context, region string) (awsmarket.Cloud, error) {
		if region != "us-east-1" {
			t.Errorf("AWS is asked in %s", region)
		}
		return c, c.fails["clients"]
	}}
}

func TestPrices_LiveAreThoseOfAWS(t *testing.T) {
	t.Parallel()
	before, o := run(t, groups(), hour()), hour()
	o.Prices = newCloud(t).prices(t)
	r := run(t, groups(), o)
	if got, was := r.Now.Pools[0].CostPerHour, before.Now.Pools[0].CostPerHour; got != was/2 {
		t.Errorf("%v an hour, before %v", got, was)
	}
	if want := "those of AWS in us-east-1 at 2026-11-20T09:00:00Z"; r.Prices != want {
		t.Errorf("prices: %s, want %s", r.Prices, want)
	}
	if r.Then.Pods != before.Then.Pods || !slices.Equal(r.Notes, before.Notes) {
		t.Errorf("then %+v, notes %q", r.Then, r.Notes)
	}
}

func TestPrices_LiveWithoutAnAnswerIsOneErrorWithTheRemedy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails map[string]error
		want  string
	}{
		"no credentials": {map[string]error{"types": aws.ErrCredentials, "spot": errors.New("else")}, "credentials not accepted: give AWS credentials, such as by $AWS_PROFILE, or leave out --prices"},
		"no rights": {
			map[string]error{"types": &aws.UnauthorizedError{Action: "ec2:DescribeInstanceTypes"}, "on-demand": &aws.UnauthorizedError{Action: "pricing:GetProducts"}},
			"not authorized to perform ec2:DescribeInstanceTypes, pricing:GetProducts: allow your AWS user ec2:DescribeInstanceTypes, ec2:DescribeInstanceTypeOfferings, ec2:DescribeSpotPriceHistory and pricing:GetProducts",
		},
		"no way":     {map[string]error{"zones": aws.ErrUnreachable, "spot": aws.ErrUnreachable}, "offerings ask: endpoint unreachable: try again, or leave out --prices"},
		"no clients": {map[string]error{"clients": errors.New("configure aws: broken")}, "configure aws: broken"},
	} {
		cloud, o := newCloud(t), hour()
		cloud.fails = c.fails
		o.Prices = cloud.prices(t)
		_, err := Run(t.Context(), groups(), o)
		if err == nil || !strings.HasPrefix(err.Error(), "--prices live: ") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPrices_LiveSayWhereThereIsNoPriceList(t *testing.T) {
	t.Parallel()
	cloud, o := newCloud(t), hour()
	cloud.fails["on-demand"] = aws.ErrNoPriceList
	o.Prices = cloud.prices(t)
	if r := run(t, groups(), o); !strings.Contains(r.Prices, "AWS has no Price List of the region, and the embedded prices count (on-demand of ") {
		t.Errorf("prices: %s", r.Prices)
	}
}
