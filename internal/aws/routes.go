package aws

import (
	"context"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// PublicSubnets returns those of the VPC's subnets that are public: their route table has an
// active route to an internet gateway. A subnet without a table of its own has the main
// table of the VPC.
func (c *Clients) PublicSubnets(ctx context.Context, vpcID string, subnetIDs []string) ([]string, error) {
	main, own := false, map[string]bool{} // whether the tables lead to an internet gateway
	pages := ec2.NewDescribeRouteTablesPaginator(c.ec2, &ec2.DescribeRouteTablesInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("vpc-id"), Values: []string{vpcID}},
	}, MaxResults: awssdk.Int32(100)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, wrap(err, "route tables of %s list", vpcID)
		}
		for _, table := range page.RouteTables {
			public := leadsToInternet(table)
			for _, a := range table.Associations {
				if awssdk.ToBool(a.Main) {
					main = public
				}
				if a.SubnetId != nil {
					own[*a.SubnetId] = public
				}
			}
		}
	}
	var out []string
	for _, id := range subnetIDs {
		public, has := own[id]
		if has && public || !has && main {
			out = append(out, id)
		}
	}
	return out, nil
}

// leadsToInternet tells whether a route of the table ends at an internet gateway. A route
// whose gateway is gone is a black hole.
func leadsToInternet(table ec2types.RouteTable) bool {
	for _, r := range table.Routes {
		if strings.HasPrefix(awssdk.ToString(r.GatewayId), "igw-") && r.State != ec2types.RouteStateBlackhole {
			return true
		}
	}
	return false
}
