package ec2sim_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/iamsim"
)

// A lost answer is the reason for client tokens: the SDK sends the request
// again, signed anew, and must find the instance of the first time.
func TestFrontEnd_LostAnswerLaunchesOnce(t *testing.T) {
	cloud, err := awssim.New(awssim.Options{Region: "us-west-2", Account: "123456789012"})
	if err != nil {
		t.Fatal(err)
	}
	if err := cloud.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	key := cloud.IAM.SeedUser("admin", iamsim.AdministratorAccess)
	client := ec2.New(ec2.Options{
		Region: "us-west-2", BaseEndpoint: aws.String(cloud.URL()),
		Credentials: credentials.NewStaticCredentialsProvider(key.AccessKeyID, key.SecretAccessKey, ""),
	})
	vpc := cloud.EC2.SeedVPC("10.0.0.0/16", []string{"us-west-2a", "us-west-2b"})
	image := cloud.EC2.SeedImage(ec2sim.Image{Name: "node", Arch: "arm64"})
	ctx := context.Background()
	if _, err := client.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("nodes"), LaunchTemplateData: &types.RequestLaunchTemplateData{ImageId: &image},
	}); err != nil {
		t.Fatal(err)
	}
	cloud.Faults().Inject(awssim.Fault{Service: "ec2", Action: "CreateFleet", DropResponse: true, Times: 1})
	fleet, err := client.CreateFleet(ctx, &ec2.CreateFleetInput{
		Type: types.FleetTypeInstant, ClientToken: aws.String("claim-1"),
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{DefaultTargetCapacityType: types.DefaultTargetCapacityTypeSpot, TotalTargetCapacity: aws.Int32(1)},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: aws.String("nodes")},
			Overrides: []types.FleetLaunchTemplateOverridesRequest{
				{InstanceType: "m6g.large", SubnetId: &vpc.SubnetIDs[0]}, {InstanceType: "c6g.large", SubnetId: &vpc.SubnetIDs[1]},
			},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	launched := cloud.EC2.Instances()
	if len(launched) != 1 || len(fleet.Instances) != 1 || fleet.Instances[0].InstanceIds[0] != launched[0].ID || launched[0].Type != "c6g.large" {
		t.Errorf("answer %+v, instances %+v", fleet.Instances, launched)
	}
}
