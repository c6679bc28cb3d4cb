package aws

import (
	"testing"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

func TestTemplateInput_AsksForDedicatedHardwareOnlyWhereItIsWanted(t *testing.T) {
	for _, dedicated := range []bool{false, true} {
		placement := templateInput(awsspec.LaunchTemplate{Dedicated: dedicated}, "us-west-2").LaunchTemplateData.Placement
		if got := placement != nil && placement.Tenancy == ec2types.TenancyDedicated; got != dedicated {
			t.Errorf("dedicated %v: placement %+v", dedicated, placement)
		}
	}
}

// EC2 refuses the option where it does not know it.
func TestTemplateInput_LeavesOutTheIPv6OptionWhereEC2DoesNotKnowIt(t *testing.T) {
	of := awsspec.LaunchTemplate{Metadata: awsspec.Metadata{HTTPProtocolIPv6: "disabled"}}
	for region, want := range map[string]string{
		"us-west-2": "disabled", "eusc-de-east-1": "disabled", "us-gov-west-1": "disabled", "us-iso-east-1": "", "us-isob-west-1": "", "us-isof-south-1": "",
	} {
		in := templateInput(of, region)
		if got := string(in.LaunchTemplateData.MetadataOptions.HttpProtocolIpv6); got != want || *in.LaunchTemplateName != of.Name() {
			t.Errorf("%s: %q, want %q; name %s", region, got, want, *in.LaunchTemplateName)
		}
	}
}
