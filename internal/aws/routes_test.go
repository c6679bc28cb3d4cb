package aws

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func TestLeadsToInternet_OnlyAnActiveRouteToAnInternetGatewayDoes(t *testing.T) {
	for name, test := range map[string]struct {
		route ec2types.Route
		want  bool
	}{
		"internet gateway":       {ec2types.Route{GatewayId: awssdk.String("igw-1"), State: ec2types.RouteStateActive}, true},
		"a gateway that is gone": {ec2types.Route{GatewayId: awssdk.String("igw-1"), State: ec2types.RouteStateBlackhole}, false},
		"the VPC itself":         {ec2types.Route{GatewayId: awssdk.String("local"), State: ec2types.RouteStateActive}, false},
		"VPN gateway":            {ec2types.Route{GatewayId: awssdk.String("vgw-1"), State: ec2types.RouteStateActive}, false},
		"NAT gateway":            {ec2types.Route{NatGatewayId: awssdk.String("nat-1"), State: ec2types.RouteStateActive}, false},
		"egress only":            {ec2types.Route{EgressOnlyInternetGatewayId: awssdk.String("eigw-1"), State: ec2types.RouteStateActive}, false},
	} {
		if got := leadsToInternet(ec2types.RouteTable{Routes: []ec2types.Route{test.route}}); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
