package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// ec2Source reads one region's EC2: by clients what the daemon reads in the same way, and
// by client what it does not, as places go by zone IDs here.
type ec2Source struct {
	region  string
	clients *aws.Clients
	client  *ec2.Client
	tables  tables
}

func newEC2(ctx context.Context, region, endpoint string, known tables) (ec2Source, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(region))
	if err != nil {
		return ec2Source{}, fmt.Errorf("AWS configuration load: %w", err)
	}
	clients, err := newClients(ctx, region, endpoint)
	if err != nil {
		return ec2Source{}, err
	}
	return ec2Source{region, clients, ec2.NewFromConfig(cfg, func(o *ec2.Options) {
		if endpoint != "" {
			o.BaseEndpoint = &endpoint
		}
	}), known}, nil
}

// newClients makes the product's own clients; endpoint is AWS if empty.
func newClients(ctx context.Context, region, endpoint string) (*aws.Clients, error) {
	return aws.New(ctx, aws.Config{Region: region, Endpoints: map[string]string{"ec2": endpoint, "pricing": endpoint}})
}

func anyType(string) bool { return true }

// addTypes adds the facts of the region's instance types that are wanted and that a
// Linux node can run on. Facts do not depend on the region, so what is there already
// stays.
func (s ec2Source) addTypes(ctx context.Context, byName map[string]catalog.Fact, wanted func(name string) bool) error {
	found, err := s.clients.InstanceTypes(ctx)
	if err != nil {
		return err
	}
	for _, f := range found {
		if _, known := byName[f.Name]; !known && wanted(f.Name) {
			byName[f.Name] = s.tables.completed(f)
		}
	}
	return nil
}

// completed adds what EC2 does not tell, and what its documentation tells better.
func (t tables) completed(f catalog.Fact) catalog.Fact {
	f.BranchENIs = branchENIs(f.Name)
	if mbps, documented := t.bandwidth[f.Name]; documented {
		f.NetworkMbps = mbps
	}
	return f
}

// market reads what the region sells and prices it. It adds the facts of older families.
func (s ec2Source) market(ctx context.Context, o options, list priceList, byName map[string]catalog.Fact) (catalog.Market, error) {
	m := catalog.Market{
		Region:  s.region,
		Offered: map[string][]int{}, OnDemand: map[string]quantity.Money{}, OnDemandIsEstimate: map[string]bool{}, Spot: map[string][]quantity.Money{},
	}
	var err error
	if m.Zones, err = s.zones(ctx); err != nil {
		return m, err
	}
	if err := s.addOfferings(ctx, &m, anyType); err != nil {
		return m, err
	}
	if err := o.older.addTo(ctx, &m, byName, s.tables); err != nil {
		return m, err
	}
	m.Sources = []catalog.Source{{Group: "offerings", Date: o.ec2.Date, Text: o.ec2.Text + o.older.note(slices.Collect(maps.Keys(m.Offered)))}}
	if err := list.addOnDemand(ctx, &m); err != nil {
		return m, err
	}
	history, err := s.spotHistory(ctx, m, o.today)
	if err != nil {
		return m, err
	}
	if len(history) > 0 {
		m.Spot = history
		m.Sources = append(m.Sources, catalog.Source{Group: "spot", Date: o.ec2.Date, Text: o.ec2.Text})
		return m, nil
	}
	list.tables.addSpot(&m)
	return m, nil
}

func (s ec2Source) zones(ctx context.Context) ([]catalog.Zone, error) {
	out, err := s.client.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return nil, fmt.Errorf("availability zones describe: %w", err)
	}
	var zones []catalog.Zone
	for _, z := range out.AvailabilityZones {
		if awssdk.ToString(z.ZoneType) == "availability-zone" {
			zones = append(zones, catalog.Zone{Name: awssdk.ToString(z.ZoneName), ID: awssdk.ToString(z.ZoneId)})
		}
	}
	slices.SortFunc(zones, func(a, b catalog.Zone) int { return strings.Compare(a.ID, b.ID) })
	return zones, nil
}

// addOfferings goes by zone IDs: names mean other places to other accounts.
func (s ec2Source) addOfferings(ctx context.Context, m *catalog.Market, wanted func(name string) bool) error {
	pages := ec2.NewDescribeInstanceTypeOfferingsPaginator(s.client, &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: types.LocationTypeAvailabilityZoneId,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("instance type offerings describe: %w", err)
		}
		for _, offering := range page.InstanceTypeOfferings {
			at := slices.IndexFunc(m.Zones, func(z catalog.Zone) bool { return z.ID == awssdk.ToString(offering.Location) })
			if at >= 0 && wanted(string(offering.InstanceType)) {
				m.Offered[string(offering.InstanceType)] = append(m.Offered[string(offering.InstanceType)], at)
			}
		}
	}
	for _, at := range m.Offered {
		slices.Sort(at)
	}
	return nil
}
