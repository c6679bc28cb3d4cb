package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	awsmarket "github.com/karpenterd/terraform-provider-karpenter/daemon/internal/market"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Prices say where prices are from. Without any of the fields it is the embedded list.
type Prices struct {
	// Cloud makes the clients that ask AWS what the region sells, and for which price.
	Cloud func(ctx context.Context, region string) (awsmarket.Cloud, error)
	Asked time.Time // when AWS is asked
	// List, which File has, replaces prices of the embedded list.
	File string
	List []Price
}

// Price is what an instance costs in place of what the embedded list says.
type Price struct {
	InstanceType   string      `json:"instanceType"`
	CapacityType   string      `json:"capacityType"`
	Zone           string      `json:"zone"` // "" is all zones
	DollarsPerHour json.Number `json:"dollarsPerHour"`

	price quantity.Money
}

// sold is what the region sells.
func (p Prices) sold(ctx context.Context, region string, zones []catalog.Zone) (*Offers, error) {
	if p.Cloud != nil {
		return p.live(ctx, region, zones)
	}
	o, err := market(region)
	if err != nil || p.File == "" {
		return o, err
	}
	if o.Market, err = p.over(o.Facts, o.Market); err != nil {
		return nil, err
	}
	o.From = fmt.Sprintf("%s, with %s of %s in place of its own", o.From, count(int64(len(p.List)), "price"), p.File)
	return o, nil
}

// live is what AWS says.
func (p Prices) live(ctx context.Context, region string, zones []catalog.Zone) (*Offers, error) {
	facts, table, err := embedded.Load(region)
	if errors.Is(err, embedded.ErrUnknownRegion) {
		facts, table, err = embedded.Elsewhere(region)
	}
	if err != nil {
		return nil, fmt.Errorf("embedded table read: %w", err)
	}
	cloud, err := p.Cloud(ctx, region)
	if err != nil {
		return nil, fmt.Errorf("--prices live: %w", err)
	}
	facts, m, listed, err := awsmarket.Once(ctx, cloud, facts, table, zones, p.Asked)
	if err != nil {
		return nil, unanswered(err)
	}
	said := fmt.Sprintf("those of AWS in %s at %s", region, p.Asked.UTC().Format(time.RFC3339))
	if !listed {
		said += "; on demand, AWS has no Price List of the region, and the embedded prices count" + dated(table)
	}
	if currency := aws.Currency(region); currency != "USD" {
		said += fmt.Sprintf("; AWS writes them in %[1]s, so read $ as %[1]s", currency)
	}
	return &Offers{facts, m, said}, nil
}

// rights are what the user needs to ask AWS, as package aws names them.
func rights() string {
	return "ec2:DescribeInstanceTypes, ec2:DescribeInstanceTypeOfferings, ec2:DescribeSpotPriceHistory and pricing:GetProducts"
}

// unanswered says in one sentence why AWS has not answered, and what to do about it.
func unanswered(err error) error {
	var all []error
	if many, is := err.(interface{ Unwrap() []error }); is {
		all = many.Unwrap()
	}
	var actions []string
	for _, one := range all {
		var refused *aws.UnauthorizedError
		if errors.Is(one, aws.ErrCredentials) {
			return fmt.Errorf("--prices live: %w: give AWS credentials, such as by $AWS_PROFILE, or leave out --prices", one)
		}
		if errors.As(one, &refused) {
			actions = append(actions, refused.Action)
		}
	}
	switch {
	case len(actions) > 0:
		return fmt.Errorf("--prices live: %w to perform %s: allow your AWS user %s, or leave out --prices", aws.ErrUnauthorized, strings.Join(actions, ", "), rights())
	case len(all) > 0:
		err = all[0]
	}
	return fmt.Errorf("--prices live: %w: try again, or leave out --prices", err)
}

// ReadPrices reads the list of prices in a file of YAML or JSON.
func ReadPrices(file string, text []byte) (Prices, error) {
	p := Prices{File: file}
	if _, further, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("---\n")), []byte("\n---\n")); len(bytes.TrimSpace(further)) > 0 {
		return p, fmt.Errorf("--prices %s: it has several documents: give one list", file)
	}
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return p, fmt.Errorf("--prices %s: it is neither YAML nor JSON: %s", file, strings.Join(strings.Fields(err.Error()), " "))
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&p.List); err != nil && !errors.Is(err, io.EOF) {
		return p, fmt.Errorf("--prices %s: %w: give a list whose entries have instanceType, capacityType, dollarsPerHour and, for one zone only, zone", file, err)
	}
	if len(p.List) == 0 {
		return p, fmt.Errorf("--prices %s: it has no prices: give a list whose entries have instanceType, capacityType and dollarsPerHour", file)
	}
	for i := range p.List {
		if err := p.List[i].read(); err != nil {
			return p, p.fault(i, err)
		}
	}
	return p, nil
}

// fault names the entry that is wrong.
func (p Prices) fault(i int, err error) error {
	x := p.List[i]
	name := strings.Join(slices.DeleteFunc([]string{x.InstanceType, x.CapacityType, x.Zone}, func(s string) bool { return s == "" }), ", ")
	if name != "" {
		name = " (" + name + ")"
	}
	return fmt.Errorf("--prices %s: entry %d%s: %w", p.File, i+1, name, err)
}

// read checks what can be said of the entry alone.
func (x *Price) read() error {
	switch {
	case x.InstanceType == "":
		return errors.New("instanceType is missing: give one, such as m5.large")
	case x.CapacityType != label.OnDemand && x.CapacityType != label.Spot:
		return fmt.Errorf("capacityType is %q: give %s or %s", x.CapacityType, label.OnDemand, label.Spot)
	case x.CapacityType == label.OnDemand && x.Zone != "":
		return errors.New("AWS has one price on demand for all zones: leave out zone")
	case x.DollarsPerHour == "":
		return errors.New("dollarsPerHour is missing: give a number above 0")
	}
	dollars, err := strconv.ParseFloat(x.DollarsPerHour.String(), 64)
	if err != nil {
		return fmt.Errorf("dollarsPerHour is %s: give a number above 0", x.DollarsPerHour)
	}
	x.price, err = quantity.ParseMoney(strconv.FormatFloat(max(0, dollars), 'f', 9, 64))
	if err != nil || x.price == 0 {
		return fmt.Errorf("dollarsPerHour is %s: give a number above 0, in dollars", x.DollarsPerHour)
	}
	return nil
}

// over lays the list over the market, which stays as it is.
func (p Prices) over(facts []catalog.Fact, m catalog.Market) (catalog.Market, error) {
	m.OnDemand, m.Spot = maps.Clone(m.OnDemand), maps.Clone(m.Spot)
	first := map[catalog.OfferingKey]int{} // which entry has the price
	own := map[string]bool{}               // types whose list of spot prices is a copy
	for i, x := range p.List {
		zones, err := x.zones(facts, m)
		if err != nil {
			return m, p.fault(i, err)
		}
		for _, at := range zones {
			key := catalog.OfferingKey{InstanceType: x.InstanceType, CapacityType: x.CapacityType, Zone: m.Zones[at].Name}
			if k, twice := first[key]; twice {
				return m, p.fault(i, fmt.Errorf("entry %d has a price of it, too: leave one of them out", k+1))
			}
			first[key] = i
		}
		if x.CapacityType == label.OnDemand {
			m.OnDemand[x.InstanceType] = x.price
			continue
		}
		if !own[x.InstanceType] {
			prices := make([]quantity.Money, len(m.Offered[x.InstanceType]))
			copy(prices, m.Spot[x.InstanceType])
			m.Spot[x.InstanceType], own[x.InstanceType] = prices, true
		}
		for k, at := range m.Offered[x.InstanceType] {
			if slices.Contains(zones, at) {
				m.Spot[x.InstanceType][k] = x.price
			}
		}
	}
	return m, nil
}

// zones are those that the price is for, as indexes into the market's.
func (x *Price) zones(facts []catalog.Fact, m catalog.Market) ([]int, error) {
	i := slices.IndexFunc(facts, func(f catalog.Fact) bool { return f.Name == x.InstanceType })
	if i < 0 {
		return nil, fmt.Errorf("%s is no instance type that this program knows: correct the name, or leave the entry out", x.InstanceType)
	}
	offered := m.Offered[x.InstanceType]
	if len(offered) == 0 || !slices.Contains(facts[i].UsageClasses, x.CapacityType) {
		return nil, fmt.Errorf("AWS does not sell %s %s in %s: leave the entry out", x.InstanceType, x.CapacityType, m.Region)
	}
	if x.Zone == "" {
		return offered, nil
	}
	var names []string
	for _, at := range offered {
		if m.Zones[at].Name == x.Zone {
			return []int{at}, nil
		}
		names = append(names, m.Zones[at].Name)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("AWS does not sell %s in zone %q: give one of %s, or leave out zone", x.InstanceType, x.Zone, strings.Join(names, ", "))
}
