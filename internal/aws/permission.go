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

// ErrProfileEmpty says that EC2 knows of no role of the instance profile.
var ErrProfileEmpty = errors.New("EC2 knows of no role of the instance profile")

// Trial is a launch that EC2 is only asked about.
type Trial struct {
	Template     awsspec.LaunchTemplate
	InstanceType string
	Subnets      []string
	Tags         map[string]string // of the fleet, the instance and its volumes
	// Existing is a launch template of the class; empty if there is none. EC2 cannot be asked
	// about CreateFleet without one.
	Existing string
	// Named says that nobody else is asked about the instance profile: the existing launch
	// template may have another one.
	Named bool
}

// MayLaunch asks EC2 whether the caller may launch so, and launches nothing. Where there is
// a launch template, the launch is tried with it, as policies may ask for one; else it is
// tried without, and is allowed if it is in one of the subnets. Errors: ErrUnauthorized,
// ErrProfileUnknown, ErrProfileEmpty; any other error says nothing of permissions.
func (c *Clients) MayLaunch(ctx context.Context, t Trial) error {
	template := templateInput(t.Template, c.region)
	template.DryRun = awssdk.Bool(true)
	_, err := c.ec2.CreateLaunchTemplate(ctx, template)
	if err := allowed(err); err != nil {
		return fmt.Errorf("launch template: %w", err)
	}
	if t.Existing != "" {
		in := fleetInput(LaunchRequest{LaunchTemplate: t.Existing, CapacityType: CapacityTypeOnDemand, Tags: t.Tags, Overrides: []Override{{
			InstanceType: t.InstanceType, SubnetID: t.Subnets[0], ImageID: t.Template.ImageID,
		}}})
		in.DryRun, in.ClientToken = awssdk.Bool(true), nil
		_, err = c.ec2.CreateFleet(ctx, in)
		if err = allowed(err); err != nil {
			return fmt.Errorf("fleet: %w", err)
		}
		if !t.Named {
			return nil
		}
	}
	for _, subnet := range t.Subnets {
		_, err = c.ec2.RunInstances(ctx, runInput(t, subnet))
		if err = allowed(err); !errors.Is(err, ErrUnauthorized) {
			break
		}
	}
	aboutProfile := errors.Is(err, ErrProfileUnknown) || errors.Is(err, ErrProfileEmpty)
	if err != nil && (t.Existing == "" || aboutProfile) {
		return fmt.Errorf("instance: %w", err)
	}
	return nil
}

// runInput is the launch without a launch template.
func runInput(t Trial, subnet string) *ec2.RunInstancesInput {
	interfaces := []ec2types.InstanceNetworkInterfaceSpecification{{
		DeviceIndex: awssdk.Int32(0), SubnetId: &subnet, Groups: t.Template.SecurityGroupIDs, AssociatePublicIpAddress: t.Template.AssociatePublicIP,
	}}
	in := &ec2.RunInstancesInput{
		DryRun: awssdk.Bool(true), MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1), InstanceType: ec2types.InstanceType(t.InstanceType),
		ImageId: &t.Template.ImageID, NetworkInterfaces: interfaces,
		IamInstanceProfile: &ec2types.IamInstanceProfileSpecification{Name: &t.Template.InstanceProfile},
		MetadataOptions:    &ec2types.InstanceMetadataOptionsRequest{HttpTokens: ec2types.HttpTokensState(t.Template.Metadata.HTTPTokens)},
		TagSpecifications: []ec2types.TagSpecification{
			tagsFor(ec2types.ResourceTypeInstance, t.Tags), tagsFor(ec2types.ResourceTypeVolume, t.Tags),
			tagsFor(ec2types.ResourceTypeNetworkInterface, t.Template.Tags),
		},
	}
	for _, d := range t.Template.BlockDevices {
		of := blockDevice(d).Ebs
		in.BlockDeviceMappings = append(in.BlockDeviceMappings, ec2types.BlockDeviceMapping{DeviceName: awssdk.String(d.DeviceName), Ebs: &ec2types.EbsBlockDevice{
			VolumeSize: of.VolumeSize, VolumeType: of.VolumeType, Encrypted: of.Encrypted, KmsKeyId: of.KmsKeyId, SnapshotId: of.SnapshotId,
		}})
	}
	return in
}

// allowed reads the answer to a call that was only to be tried: EC2 answers it with an error
// always.
func allowed(err error) error {
	switch {
	case hasCode(err, "DryRunOperation", ""):
		return nil
	case isProfileUnknown(err):
		return ErrProfileUnknown
	case isProfileEmpty(err):
		return ErrProfileEmpty
	}
	return classify(err)
}

func isProfileUnknown(err error) bool {
	return hasCode(err, "InvalidParameterValue", "iamInstanceProfile")
}

func isProfileEmpty(err error) bool {
	return hasCode(err, "InvalidParameterValue", "has no associated IAM Roles")
}

// OfProfile says whether a launch failed because of its instance profile.
func OfProfile(err error) bool { return isProfileUnknown(err) || isProfileEmpty(err) }
