package aws

import (
	"context"
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Selector selects network resources by id, by name (security groups only) or by tags. All
// tags must match; the value "*" is any value.
type Selector struct {
	ID, Name string
	Tags     map[string]string
}

// Subnet is a subnet that instances can be launched into.
type Subnet struct {
	ID, Zone, ZoneID, VPCID string
	FreeIPs                 int
	PublicIPs               bool // instances get a public IPv4 address unless the launch says otherwise
	Tags                    map[string]string
}

// SecurityGroup is a security group.
type SecurityGroup struct {
	ID, Name, VPCID string
	Tags            map[string]string
}

// Subnets returns the subnets that match a selector. They are sorted by free addresses,
// the most first, then by id.
func (c *Clients) Subnets(ctx context.Context, selectors []Selector) ([]Subnet, error) {
	found := map[string]Subnet{}
	for _, filters := range selectorFilters(selectors, "subnet-id", "") {
		out, err := c.describeSubnets(ctx, filters...)
		if err != nil {
			return nil, wrap(err, "subnets list")
		}
		for _, s := range out {
			found[awssdk.ToString(s.SubnetId)] = Subnet{
				ID: awssdk.ToString(s.SubnetId), Zone: awssdk.ToString(s.AvailabilityZone), ZoneID: awssdk.ToString(s.AvailabilityZoneId),
				VPCID: awssdk.ToString(s.VpcId), FreeIPs: int(awssdk.ToInt32(s.AvailableIpAddressCount)), PublicIPs: awssdk.ToBool(s.MapPublicIpOnLaunch), Tags: fromEC2Tags(s.Tags),
			}
		}
	}
	subnets := slices.Collect(maps.Values(found))
	slices.SortFunc(subnets, func(a, b Subnet) int {
		if a.FreeIPs != b.FreeIPs {
			return b.FreeIPs - a.FreeIPs
		}
		return strings.Compare(a.ID, b.ID)
	})
	return subnets, nil
}

// SecurityGroups returns the security groups that match a selector, sorted by id.
func (c *Clients) SecurityGroups(ctx context.Context, selectors []Selector) ([]SecurityGroup, error) {
	found := map[string]SecurityGroup{}
	for _, filters := range selectorFilters(selectors, "group-id", "group-name") {
		out, err := c.describeSecurityGroups(ctx, filters...)
		if err != nil {
			return nil, wrap(err, "security groups list")
		}
		for _, g := range out {
			found[awssdk.ToString(g.GroupId)] = SecurityGroup{
				ID: awssdk.ToString(g.GroupId), Name: awssdk.ToString(g.GroupName), VPCID: awssdk.ToString(g.VpcId), Tags: fromEC2Tags(g.Tags),
			}
		}
	}
	groups := slices.Collect(maps.Values(found))
	slices.SortFunc(groups, func(a, b SecurityGroup) int { return strings.Compare(a.ID, b.ID) })
	return groups, nil
}

// selectorFilters makes the filters of the calls: one call for each tag selector, one for
// all ids, and one for all names.
func selectorFilters(selectors []Selector, idFilter, nameFilter string) [][]ec2types.Filter {
	var calls [][]ec2types.Filter
	var ids, names []string
	for _, s := range selectors {
		switch {
		case s.ID != "":
			ids = append(ids, s.ID)
		case s.Name != "":
			names = append(names, s.Name)
		case len(s.Tags) > 0:
			calls = append(calls, tagFilters(s.Tags))
		}
	}
	if len(ids) > 0 {
		calls = append(calls, []ec2types.Filter{{Name: &idFilter, Values: ids}})
	}
	if len(names) > 0 {
		calls = append(calls, []ec2types.Filter{{Name: &nameFilter, Values: names}})
	}
	return calls
}

// tagFilters makes filters that match all of the tags; the value "*" is any value.
func tagFilters(tags map[string]string) []ec2types.Filter {
	var filters []ec2types.Filter
	for _, t := range ec2Tags(tags) {
		if *t.Value == "*" {
			filters = append(filters, ec2types.Filter{Name: awssdk.String("tag-key"), Values: []string{*t.Key}})
		} else {
			filters = append(filters, ec2types.Filter{Name: awssdk.String("tag:" + *t.Key), Values: []string{*t.Value}})
		}
	}
	return filters
}

func (c *Clients) describeSubnets(ctx context.Context, filters ...ec2types.Filter) ([]ec2types.Subnet, error) {
	var all []ec2types.Subnet
	pages := ec2.NewDescribeSubnetsPaginator(c.ec2, &ec2.DescribeSubnetsInput{Filters: filters, MaxResults: awssdk.Int32(500)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Subnets...)
	}
	return all, nil
}

func (c *Clients) describeSecurityGroups(ctx context.Context, filters ...ec2types.Filter) ([]ec2types.SecurityGroup, error) {
	var all []ec2types.SecurityGroup
	pages := ec2.NewDescribeSecurityGroupsPaginator(c.ec2, &ec2.DescribeSecurityGroupsInput{Filters: filters, MaxResults: awssdk.Int32(500)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, page.SecurityGroups...)
	}
	return all, nil
}
