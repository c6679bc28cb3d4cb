package aws

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// filterValues is how many values EC2 allows in one filter.
const filterValues = 200

// InstanceTypeZones returns the zones of the region where EC2 sells each of the instance
// types, by name and sorted. A type that EC2 does not sell, or does not know, has none.
func (c *Clients) InstanceTypeZones(ctx context.Context, types []string) (map[string][]string, error) {
	zones := map[string][]string{}
	for some := range slices.Chunk(types, filterValues) {
		if err := c.addOfferings(ctx, zones, ec2types.Filter{Name: awssdk.String("instance-type"), Values: some}); err != nil {
			return nil, err
		}
	}
	return sortedZones(zones), nil
}

// AllInstanceTypeZones returns the zones of the region where EC2 sells each instance type,
// by name and sorted: of all types that the region has, whatever can run on them.
func (c *Clients) AllInstanceTypeZones(ctx context.Context) (map[string][]string, error) {
	zones := map[string][]string{}
	if err := c.addOfferings(ctx, zones); err != nil {
		return nil, err
	}
	return sortedZones(zones), nil
}

func (c *Clients) addOfferings(ctx context.Context, zones map[string][]string, filters ...ec2types.Filter) error {
	pages := ec2.NewDescribeInstanceTypeOfferingsPaginator(c.ec2, &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: ec2types.LocationTypeAvailabilityZone, MaxResults: awssdk.Int32(1000), Filters: filters,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return wrap(err, "instance type offerings list")
		}
		for _, o := range page.InstanceTypeOfferings {
			zones[string(o.InstanceType)] = append(zones[string(o.InstanceType)], awssdk.ToString(o.Location))
		}
	}
	return nil
}

// sortedZones has each zone once: EC2 answers a type that two filters name twice.
func sortedZones(zones map[string][]string) map[string][]string {
	for name, list := range zones {
		slices.Sort(list)
		zones[name] = slices.Clip(slices.Compact(list))
	}
	return zones
}
