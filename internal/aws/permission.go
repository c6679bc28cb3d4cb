package aws

import (
	"context"
	"errors"
	"fmt"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// ErrProfileUnknown says that EC2 does not know an instance profile yet that IAM has.
var ErrProfileUnknown = errors.New("EC2 does not know the instance profile yet")

// Trial is a launch that EC2 is only asked about.
type Trial struct {
	Template     awsspec.LaunchTemplate
	InstanceType string
	Subnets      []string
	Tags         map[string]string // of the fleet, the instance and its volumes
	// Existing is a launch template of the cluster; without one EC2 cannot be asked about
	// CreateFleet.
	Existing string
}

// MayLaunch asks EC2 whether the caller may launch so, and launches nothing. It is allowed
// if one of the subnets is. Errors: ErrUnauthorized, ErrProfileUnknown; any other error says
// nothing of permissions.
func (c *Clients) MayLaunch(ctx context.Context, t Trial) error {
	name, dry := t.Template.Name(), awssdk.Bool(true)
	_, err := c.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name, LaunchTemplateData: templateData(t.Template), DryRun: dry,
		TagSpecifications: []ec2types.TagSpecification{tagsFor(ec2types.ResourceTypeLaunchTemplate, t.Template.Tags)},
	})
	if err := allowed(err); err != nil {
		return fmt.Errorf("launch template: %w", err)
	}
	for _, subnet := range t.Subnets {
		_, err := c.ec2.RunInstances(ctx, runInput(t, subnet))
		if err = allowed(err); err == nil {
			break
		}
		if !errors.Is(err, ErrUnauthorized) || subnet == t.Subnets[len(t.Subnets)-1] {
			return fmt.Errorf("instance in %s: %w", subnet, err)
		}
	}
	if t.Existing == "" {
		return nil
	}
	in := fleetInput(LaunchRequest{LaunchTemplate: t.Existing, CapacityType: CapacityTypeOnDemand, Tags: t.Tags, Overrides: []Override{{
		InstanceType: t.InstanceType, SubnetID: t.Subnets[0], ImageID: t.Template.ImageID,
	}}})
	in.DryRun, in.ClientToken = dry, nil
	_, err = c.ec2.CreateFleet(ctx, in)
	if err := allowed(err); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	return nil
}

// runInput is the launch without a launch template.
func runInput(t Trial, subnet string) *ec2.RunInstancesInput {
	interfaces := []ec2types.InstanceNetworkInterfaceSpecification{{
		DeviceIndex: awssdk.Int32(0), SubnetId: &subnet, Groups: t.Template.SecurityGroupIDs, AssociatePublicIpAddress: t.Template.AssociatePublicIP,
	}}
	return &ec2.RunInstancesInput{
		DryRun: awssdk.Bool(true), MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1), InstanceType: ec2types.InstanceType(t.InstanceType),
		ImageId: &t.Template.ImageID, NetworkInterfaces: interfaces,
		IamInstanceProfile: &ec2types.IamInstanceProfileSpecification{Name: &t.Template.InstanceProfile},
		MetadataOptions:    &ec2types.InstanceMetadataOptionsRequest{HttpTokens: ec2types.HttpTokensState(t.Template.Metadata.HTTPTokens)},
		TagSpecifications: []ec2types.TagSpecification{
			tagsFor(ec2types.ResourceTypeInstance, t.Tags), tagsFor(ec2types.ResourceTypeVolume, t.Tags),
			tagsFor(ec2types.ResourceTypeNetworkInterface, t.Template.Tags),
		},
	}
}

// allowed reads the answer to a call that was only to be tried: EC2 answers it with an error
// always.
func allowed(err error) error {
	switch {
	case hasCode(err, "DryRunOperation", ""):
		return nil
	case hasCode(err, "InvalidParameterValue", "iamInstanceProfile"):
		return ErrProfileUnknown
	}
	return classify(err)
}
