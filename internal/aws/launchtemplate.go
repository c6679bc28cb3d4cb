package aws

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// EnsureLaunchTemplate makes the launch template if it does not exist, and returns its
// name. The name follows from the content, so two callers at the same time both succeed.
func (c *Clients) EnsureLaunchTemplate(ctx context.Context, t awsspec.LaunchTemplate) (string, error) {
	name := t.Name()
	_, err := c.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{name}})
	err = wrap(err, "launch template %q find", name)
	if err == nil || !errors.Is(err, ErrNotFound) {
		return name, err
	}
	_, err = c.ec2.CreateLaunchTemplate(ctx, templateInput(t, c.region))
	err = wrap(err, "launch template %q create", name)
	if errors.Is(err, ErrConflict) {
		return name, nil
	}
	return name, err
}

func templateInput(t awsspec.LaunchTemplate, region string) *ec2.CreateLaunchTemplateInput {
	data := templateData(t)
	if !awsspec.MetadataByIPv6(region) {
		data.MetadataOptions.HttpProtocolIpv6 = ""
	}
	return &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: awssdk.String(t.Name()),
		LaunchTemplateData: data,
		TagSpecifications:  []ec2types.TagSpecification{tagsFor(ec2types.ResourceTypeLaunchTemplate, t.Tags)},
	}
}

func templateData(t awsspec.LaunchTemplate) *ec2types.RequestLaunchTemplateData {
	tags := func(kind ec2types.ResourceType) ec2types.LaunchTemplateTagSpecificationRequest {
		return ec2types.LaunchTemplateTagSpecificationRequest{ResourceType: kind, Tags: ec2Tags(t.Tags)}
	}
	data := &ec2types.RequestLaunchTemplateData{
		ImageId:            optional(t.ImageID),
		IamInstanceProfile: &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: &t.InstanceProfile},
		UserData:           awssdk.String(base64.StdEncoding.EncodeToString([]byte(t.UserData))),
		Monitoring:         &ec2types.LaunchTemplatesMonitoringRequest{Enabled: &t.Monitoring},
		MetadataOptions: &ec2types.LaunchTemplateInstanceMetadataOptionsRequest{
			HttpEndpoint:         ec2types.LaunchTemplateInstanceMetadataEndpointState(t.Metadata.HTTPEndpoint),
			HttpProtocolIpv6:     ec2types.LaunchTemplateInstanceMetadataProtocolIpv6(t.Metadata.HTTPProtocolIPv6),
			HttpTokens:           ec2types.LaunchTemplateHttpTokensState(t.Metadata.HTTPTokens),
			InstanceMetadataTags: ec2types.LaunchTemplateInstanceMetadataTagsStateDisabled, // the metadata service refuses tag keys with a slash, such as ours
		},
		// If there is a network interface, EC2 wants the security groups there.
		NetworkInterfaces: []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{
			DeviceIndex: awssdk.Int32(0), Groups: slices.Sorted(slices.Values(t.SecurityGroupIDs)), AssociatePublicIpAddress: t.AssociatePublicIP,
		}},
		TagSpecifications: []ec2types.LaunchTemplateTagSpecificationRequest{tags(ec2types.ResourceTypeNetworkInterface)},
	}
	if t.Metadata.HopLimit != 0 {
		data.MetadataOptions.HttpPutResponseHopLimit = awssdk.Int32(int32(t.Metadata.HopLimit))
	}
	data.CapacityReservationSpecification = &ec2types.LaunchTemplateCapacityReservationSpecificationRequest{
		CapacityReservationPreference: ec2types.CapacityReservationPreferenceNone,
	}
	if t.Reservation != "" {
		data.CapacityReservationSpecification = &ec2types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationPreference: ec2types.CapacityReservationPreferenceCapacityReservationsOnly,
			CapacityReservationTarget:     &ec2types.CapacityReservationTarget{CapacityReservationId: &t.Reservation},
		}
	}
	if t.Dedicated {
		data.Placement = &ec2types.LaunchTemplatePlacementRequest{Tenancy: ec2types.TenancyDedicated}
	}
	if t.Spot {
		data.TagSpecifications = append(data.TagSpecifications, tags(ec2types.ResourceTypeSpotInstancesRequest))
	}
	for _, b := range t.BlockDevices {
		data.BlockDeviceMappings = append(data.BlockDeviceMappings, blockDevice(b))
	}
	return data
}

func blockDevice(b awsspec.BlockDevice) ec2types.LaunchTemplateBlockDeviceMappingRequest {
	narrow := func(n *int64) *int32 {
		if n == nil {
			return nil
		}
		return awssdk.Int32(int32(*n))
	}
	var size *int32
	if b.SizeGiB > 0 {
		size = narrow(&b.SizeGiB)
	}
	return ec2types.LaunchTemplateBlockDeviceMappingRequest{
		DeviceName: &b.DeviceName,
		Ebs: &ec2types.LaunchTemplateEbsBlockDeviceRequest{
			VolumeSize: size, VolumeType: ec2types.VolumeType(b.Type), Encrypted: b.Encrypted,
			DeleteOnTermination: b.DeleteOnTermination, Iops: narrow(b.IOPS), Throughput: narrow(b.ThroughputMiBps), KmsKeyId: optional(b.KMSKeyID),
			SnapshotId: optional(b.SnapshotID), VolumeInitializationRate: narrow(b.InitializationMiBps),
		},
	}
}

// LaunchTemplates returns the sorted names of the launch templates that have all of the
// tags ("*": any value).
func (c *Clients) LaunchTemplates(ctx context.Context, tags map[string]string) ([]string, error) {
	var names []string
	pages := ec2.NewDescribeLaunchTemplatesPaginator(c.ec2, &ec2.DescribeLaunchTemplatesInput{Filters: tagFilters(tags), MaxResults: awssdk.Int32(200)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, wrap(err, "launch templates list")
		}
		for _, t := range page.LaunchTemplates {
			names = append(names, awssdk.ToString(t.LaunchTemplateName))
		}
	}
	slices.Sort(names)
	return names, nil
}

// DeleteLaunchTemplate deletes the launch template. It is no error if it is gone.
func (c *Clients) DeleteLaunchTemplate(ctx context.Context, name string) error {
	_, err := c.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: &name})
	return unlessGone(wrap(err, "launch template %q delete", name))
}

func tagsFor(kind ec2types.ResourceType, tags map[string]string) ec2types.TagSpecification {
	return ec2types.TagSpecification{ResourceType: kind, Tags: ec2Tags(tags)}
}
