package ec2sim

import (
	"context"
	"encoding/xml"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/client"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// client is the real SDK's client of the cloud. The handler does the least
// that a front end must: no signatures.
func (c *cloud) client() *ec2.Client {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		action := r.PostForm.Get("Action")
		answer, err := c.Serve(r.Context(), &wire.Request{Service: "ec2", Action: action, Form: r.PostForm})
		var known *wire.Error
		if errors.As(err, &known) {
			w.WriteHeader(known.Status)
			answer = struct {
				XMLName xml.Name `xml:"Response"`
				Code    string   `xml:"Errors>Error>Code"`
				Message string   `xml:"Errors>Error>Message"`
			}{Code: known.Code, Message: known.Message}
		}
		if err := xml.NewEncoder(w).EncodeElement(answer, xml.StartElement{Name: xml.Name{Local: action + "Response"}}); err != nil {
			c.t.Error(err)
		}
	}))
	c.t.Cleanup(server.Close)
	return ec2.New(ec2.Options{
		Region: "us-west-2", BaseEndpoint: aws.String(server.URL), Retryer: aws.NopRetryer{}, HTTPClient: client.New(nil),
		Credentials: credentials.NewStaticCredentialsProvider("AKIA", "secret", ""),
	})
}

func TestSDK_LaunchesAsKarpenterDoes(t *testing.T) {
	c := newCloud(t)
	client, ctx := c.client(), context.Background()
	tags := []types.Tag{{Key: aws.String("karpenter.sh/nodepool"), Value: aws.String("default")}}
	made, err := client.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("karpenter.k8s.aws/123"),
		TagSpecifications:  []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: tags}},
		LaunchTemplateData: karpenterData(c, tags),
	})
	if err != nil {
		t.Fatal(err)
	}
	c.SetCapacity(spot, "m5.large", "us-west-2a", 0)
	fleet, err := client.CreateFleet(ctx, karpenterFleet(c, tags))
	if err != nil {
		t.Fatal(err)
	}
	if len(fleet.Instances) != 1 || fleet.Instances[0].InstanceType != types.InstanceTypeM5Large || fleet.Instances[0].Lifecycle != types.InstanceLifecycleSpot ||
		*fleet.Instances[0].LaunchTemplateAndOverrides.Overrides.AvailabilityZone != "us-west-2b" || *fleet.Instances[0].LaunchTemplateAndOverrides.Overrides.ImageId != c.amd64 {
		t.Fatalf("fleet %+v, errors %+v", fleet.Instances, fleet.Errors)
	}
	id := fleet.Instances[0].InstanceIds[0]
	seen, err := client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: []types.Filter{
		{Name: aws.String("tag-key"), Values: []string{"karpenter.sh/nodepool"}}, {Name: aws.String("instance-state-name"), Values: []string{"pending", "running"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	i := seen.Reservations[0].Instances[0]
	if *i.InstanceId != id || i.State.Name != types.InstanceStateNameRunning || *i.Placement.AvailabilityZoneId != "usw2-az2" || time.Since(*i.LaunchTime) > time.Minute ||
		*i.SpotInstanceRequestId == "" || *i.SecurityGroups[0].GroupId != c.vpc.ClusterSecurityGroupID || *i.PrivateDnsName == "" || *i.BlockDeviceMappings[0].Ebs.VolumeId == "" {
		t.Errorf("instance %+v", i)
	}
	volumes, err := client.DescribeVolumes(ctx, nil)
	if err != nil || *volumes.Volumes[0].Size != 20 || !*volumes.Volumes[0].Encrypted || i.MetadataOptions.HttpTokens != types.HttpTokensStateRequired ||
		!strings.HasSuffix(*i.IamInstanceProfile.Arn, "/nodes") || c.Instances()[0].UserData != "hello" {
		t.Errorf("the template's data came as %+v and %+v, %v", i, volumes, err)
	}
	gone, err := client.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	if err != nil || gone.TerminatingInstances[0].CurrentState.Name != types.InstanceStateNameShuttingDown {
		t.Errorf("terminate: %+v, %v", gone, err)
	}
	if _, err := client.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: made.LaunchTemplate.LaunchTemplateName}); err != nil {
		t.Error(err)
	}
}

// karpenterData is a template with every member that Karpenter sets.
func karpenterData(c *cloud, tags []types.Tag) *types.RequestLaunchTemplateData {
	return &types.RequestLaunchTemplateData{
		BlockDeviceMappings: []types.LaunchTemplateBlockDeviceMappingRequest{{
			DeviceName: aws.String("/dev/xvda"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(20), VolumeType: types.VolumeTypeGp3, Encrypted: aws.Bool(true)},
		}},
		CapacityReservationSpecification: &types.LaunchTemplateCapacityReservationSpecificationRequest{CapacityReservationPreference: types.CapacityReservationPreferenceNone},
		IamInstanceProfile:               &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("nodes")},
		Monitoring:                       &types.LaunchTemplatesMonitoringRequest{Enabled: aws.Bool(false)},
		UserData:                         aws.String("aGVsbG8="),
		ImageId:                          aws.String(c.amd64),
		MetadataOptions: &types.LaunchTemplateInstanceMetadataOptionsRequest{
			HttpEndpoint: types.LaunchTemplateInstanceMetadataEndpointStateEnabled, HttpProtocolIpv6: types.LaunchTemplateInstanceMetadataProtocolIpv6Disabled,
			HttpPutResponseHopLimit: aws.Int32(1), HttpTokens: types.LaunchTemplateHttpTokensStateRequired, InstanceMetadataTags: types.LaunchTemplateInstanceMetadataTagsStateDisabled,
		},
		NetworkInterfaces: []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{
			DeviceIndex: aws.Int32(0), NetworkCardIndex: aws.Int32(0), InterfaceType: aws.String("interface"), Groups: []string{c.vpc.ClusterSecurityGroupID},
		}},
		TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{
			{ResourceType: types.ResourceTypeNetworkInterface, Tags: tags}, {ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: tags},
		},
		Placement:      &types.LaunchTemplatePlacementRequest{Tenancy: types.TenancyDefault},
		EnclaveOptions: &types.LaunchTemplateEnclaveOptionsRequest{Enabled: aws.Bool(false)},
	}
}

func karpenterFleet(c *cloud, tags []types.Tag) *ec2.CreateFleetInput {
	var overrides []types.FleetLaunchTemplateOverridesRequest
	for n, zone := range []string{"us-west-2a", "us-west-2b", "us-west-2c"} {
		overrides = append(overrides, types.FleetLaunchTemplateOverridesRequest{
			InstanceType: types.InstanceTypeM5Large, SubnetId: aws.String(c.vpc.SubnetIDs[n]), ImageId: aws.String(c.amd64), AvailabilityZone: aws.String(zone), Priority: aws.Float64(0.034),
		})
	}
	return &ec2.CreateFleetInput{
		Type: types.FleetTypeInstant, SpotOptions: &types.SpotOptionsRequest{AllocationStrategy: types.SpotAllocationStrategyPriceCapacityOptimized},
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{DefaultTargetCapacityType: types.DefaultTargetCapacityTypeSpot, TotalTargetCapacity: aws.Int32(1)},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: aws.String("karpenter.k8s.aws/123"), Version: aws.String("$Latest")},
			Overrides:                   overrides,
		}},
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeInstance, Tags: tags}, {ResourceType: types.ResourceTypeVolume, Tags: tags}, {ResourceType: types.ResourceTypeFleet, Tags: tags},
		},
	}
}

func TestSDK_ReadsTheCatalogue(t *testing.T) {
	c := newCloud(t)
	client, ctx := c.client(), context.Background()
	_, err := client.DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{DryRun: aws.Bool(true)})
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != "DryRunOperation" {
		t.Errorf("the dry run that Karpenter starts with gave %v", err)
	}
	listed, err := client.DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{Filters: []types.Filter{
		{Name: aws.String("supported-virtualization-type"), Values: []string{"hvm"}}, {Name: aws.String("processor-info.supported-architecture"), Values: []string{"x86_64", "arm64"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range listed.InstanceTypes {
		network := i.NetworkInfo
		if *i.MemoryInfo.SizeInMiB == 0 || *i.VCpuInfo.DefaultVCpus == 0 || *network.NetworkCards[*network.DefaultNetworkCardIndex].MaximumNetworkInterfaces != 3 ||
			*network.Ipv4AddressesPerInterface != 10 || len(i.SupportedUsageClasses) != 2 || *i.ProcessorInfo.SustainedClockSpeedInGhz != 3.1 || *i.EbsInfo.EbsOptimizedInfo.MaximumBandwidthInMbps != 4750 {
			t.Errorf("type %+v", i)
		}
	}
	offerings, err := client.DescribeInstanceTypeOfferings(ctx, &ec2.DescribeInstanceTypeOfferingsInput{LocationType: types.LocationTypeAvailabilityZone})
	if err != nil || len(listed.InstanceTypes) != 5 || len(offerings.InstanceTypeOfferings) != 13 {
		t.Errorf("%d types, %d offerings, %v; want 5 and 13", len(listed.InstanceTypes), len(offerings.InstanceTypeOfferings), err)
	}
	prices, err := client.DescribeSpotPriceHistory(ctx, &ec2.DescribeSpotPriceHistoryInput{
		StartTime: aws.Time(time.Now()), MaxResults: aws.Int32(2000), ProductDescriptions: []string{"Linux/UNIX"}, Filters: []types.Filter{{Name: aws.String("instance-type"), Values: []string{"m5.large"}}},
	})
	if err != nil || len(prices.SpotPriceHistory) != 3 || *prices.SpotPriceHistory[1].SpotPrice != "0.031000" || *prices.SpotPriceHistory[1].AvailabilityZone != "us-west-2b" {
		t.Errorf("prices %+v, %v", prices, err)
	}
	images, err := client.DescribeImages(ctx, &ec2.DescribeImagesInput{Owners: []string{"amazon"}, Filters: []types.Filter{{Name: aws.String("name"), Values: []string{"al2023-*"}}, {Name: aws.String("architecture"), Values: []string{"arm64"}}}})
	if err != nil || len(images.Images) != 1 || *images.Images[0].ImageId != c.arm64 {
		t.Errorf("images %+v, %v", images, err)
	}
}

func TestSDK_EveryOtherListIsReadable(t *testing.T) {
	c := newCloud(t)
	c.template("lt-a")
	c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"})
	client, ctx := c.client(), context.Background()
	groups, err := client.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{c.vpc.ClusterSecurityGroupID}})
	if err != nil || len(groups.SecurityGroups) != 1 || *groups.SecurityGroups[0].GroupName != "eks-cluster-sg" {
		t.Errorf("groups %+v, %v", groups, err)
	}
	status, err := client.DescribeInstanceStatus(ctx, nil)
	if err != nil || len(status.InstanceStatuses) != 1 || status.InstanceStatuses[0].InstanceStatus.Status != types.SummaryStatusOk {
		t.Errorf("status %+v, %v", status, err)
	}
	volumes, err := client.DescribeVolumes(ctx, nil)
	if err != nil || len(volumes.Volumes) != 1 || *volumes.Volumes[0].Attachments[0].Device != "/dev/xvda" {
		t.Errorf("volumes %+v, %v", volumes, err)
	}
	enis, err := client.DescribeNetworkInterfaces(ctx, nil)
	if err != nil || len(enis.NetworkInterfaces) != 1 || *enis.NetworkInterfaces[0].PrivateIpAddress != "10.0.0.4" {
		t.Errorf("interfaces %+v, %v", enis, err)
	}
	none, err := client.DescribePlacementGroups(ctx, nil)
	if err != nil || len(none.PlacementGroups) != 0 {
		t.Errorf("placement groups %+v, %v", none, err)
	}
	reservations, err := client.DescribeCapacityReservations(ctx, nil)
	if err != nil || len(reservations.CapacityReservations) != 0 {
		t.Errorf("capacity reservations %+v, %v", reservations, err)
	}
}
