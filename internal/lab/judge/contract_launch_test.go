//go:build lab

package judge

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// templateData is a launch template as the daemon makes it.
func (w *world) templateData() *types.RequestLaunchTemplateData {
	return &types.RequestLaunchTemplateData{
		ImageId: &w.image, IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String(profile)},
		UserData: aws.String(base64.StdEncoding.EncodeToString([]byte("hello"))), Monitoring: &types.LaunchTemplatesMonitoringRequest{Enabled: aws.Bool(true)},
		MetadataOptions: &types.LaunchTemplateInstanceMetadataOptionsRequest{
			HttpEndpoint: types.LaunchTemplateInstanceMetadataEndpointStateEnabled, HttpTokens: types.LaunchTemplateHttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(1),
		},
		NetworkInterfaces: []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{DeviceIndex: aws.Int32(0), Groups: []string{w.group}}},
		BlockDeviceMappings: []types.LaunchTemplateBlockDeviceMappingRequest{{
			DeviceName: aws.String("/dev/xvda"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(20), VolumeType: types.VolumeTypeGp3, Encrypted: aws.Bool(true), DeleteOnTermination: aws.Bool(true)},
		}},
		TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{{ResourceType: types.ResourceTypeNetworkInterface, Tags: ec2Tags("team", "a")}},
	}
}

func (w *world) createTemplate(ctx context.Context, name string, tags ...string) (*ec2.CreateLaunchTemplateOutput, error) {
	in := &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &name, LaunchTemplateData: w.templateData()}
	if len(tags) > 0 {
		in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: ec2Tags(tags...)}}
	}
	return w.ec2.CreateLaunchTemplate(ctx, in)
}

func (w *world) templates(ctx context.Context, filters ...types.Filter) []string {
	out := need(w.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{Filters: filters}))
	return sortedBy(out.LaunchTemplates, func(t types.LaunchTemplate) string { return *t.LaunchTemplateName })
}

func templateContracts() []contract {
	return []contract{
		{
			name: "launch template: creating gives id, version and tags",
			run: func(ctx context.Context, w *world) facts {
				t := need(w.createTemplate(ctx, "lt-create", "a", "1")).LaunchTemplate
				return facts{
					"prefix": (*t.LaunchTemplateId)[:3], "name": *t.LaunchTemplateName, "default": *t.DefaultVersionNumber, "latest": *t.LatestVersionNumber,
					"tags": ec2TagMap(t.Tags), "dated": t.CreateTime != nil, "by": *t.CreatedBy != "",
				}
			},
			want: facts{"prefix": "lt-", "name": "lt-create", "default": int64(1), "latest": int64(1), "tags": map[string]string{"a": "1"}, "dated": true, "by": true},
		},
		{
			name: "launch template: a name is used once",
			run: func(ctx context.Context, w *world) facts {
				need(w.createTemplate(ctx, "lt-twice"))
				return facts{"again": errorOf(w.createTemplate(ctx, "lt-twice"))}
			},
			want: facts{"again": "InvalidLaunchTemplateName.AlreadyExistsException"},
		},
		{
			name: "launch template: dry run makes none",
			run: func(ctx context.Context, w *world) facts {
				_, err := w.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{DryRun: aws.Bool(true), LaunchTemplateName: aws.String("lt-dry"), LaunchTemplateData: w.templateData()})
				return facts{"code": code(err), "made": w.templates(ctx, filter("launch-template-name", "lt-dry"))}
			},
			want: facts{"code": "DryRunOperation", "made": []string{}},
		},
		{
			name: "launch template: found by name, id, tag and tag key",
			run: func(ctx context.Context, w *world) facts {
				one := need(w.createTemplate(ctx, "lt-find-one", "find", "one", "who", "x")).LaunchTemplate
				need(w.createTemplate(ctx, "lt-find-two", "find", "two", "who", "x"))
				byName := need(w.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"lt-find-one"}}))
				byID := need(w.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{*one.LaunchTemplateId}}))
				return facts{
					"name": *byName.LaunchTemplates[0].LaunchTemplateId == *one.LaunchTemplateId, "id": *byID.LaunchTemplates[0].LaunchTemplateName,
					"tag": w.templates(ctx, filter("tag:find", "two")), "both": w.templates(ctx, filter("tag:find", "one", "two")),
					"all": w.templates(ctx, filter("tag:who", "x"), filter("tag:find", "one")), "key": w.templates(ctx, filter("tag-key", "find")),
					"filter": w.templates(ctx, filter("launch-template-name", "lt-find-one")),
				}
			},
			want: facts{
				"name": true, "id": "lt-find-one", "tag": []string{"lt-find-two"}, "both": []string{"lt-find-one", "lt-find-two"},
				"all": []string{"lt-find-one"}, "key": []string{"lt-find-one", "lt-find-two"}, "filter": []string{"lt-find-one"},
			},
		},
		{
			name: "launch template: what is not there is named so",
			run: func(ctx context.Context, w *world) facts {
				return facts{"name": errorOf(w.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"lt-none"}}))}
			},
			want: facts{"name": "InvalidLaunchTemplateName.NotFoundException"},
		},
		{
			name: "launch template: an unknown id, and a deletion of what is not there",
			run: func(ctx context.Context, w *world) facts {
				id := "lt-0123456789abcdef0"
				return facts{
					"describe":       errorOf(w.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{id}})),
					"delete":         errorOf(w.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &id})),
					"delete by name": errorOf(w.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String("lt-none")})),
				}
			},
			want: facts{
				"describe": "InvalidLaunchTemplateId.NotFound", "delete": "InvalidLaunchTemplateId.NotFound", "delete by name": "InvalidLaunchTemplateName.NotFoundException",
			},
			notOnMoto: "it lists nothing for an unknown id, and mixes up the codes of deletions",
		},
		{
			name: "launch template: deleted by name or id it is gone",
			run: func(ctx context.Context, w *world) facts {
				need(w.createTemplate(ctx, "lt-gone-a", "gone", "x"))
				b := need(w.createTemplate(ctx, "lt-gone-b", "gone", "x")).LaunchTemplate
				a := need(w.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String("lt-gone-a")}))
				need(w.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: b.LaunchTemplateId}))
				return facts{"deleted": *a.LaunchTemplate.LaunchTemplateName, "left": w.templates(ctx, filter("tag:gone", "x")), "again": errorOf(w.createTemplate(ctx, "lt-gone-a"))}
			},
			want: facts{"deleted": "lt-gone-a", "left": []string{}, "again": "none"},
		},
	}
}

// fleet asks for instances of the types, each in the subnet of its zone letter (type@a).
func (w *world) fleet(ctx context.Context, template string, market types.DefaultTargetCapacityType, count int32, pools []string, change ...func(*ec2.CreateFleetInput)) (*ec2.CreateFleetOutput, error) {
	var overrides []types.FleetLaunchTemplateOverridesRequest
	for _, pool := range pools {
		name, zone, _ := strings.Cut(pool, "@")
		overrides = append(overrides, types.FleetLaunchTemplateOverridesRequest{InstanceType: types.InstanceType(name), SubnetId: &w.subnets[zone[0]-'a']})
	}
	in := &ec2.CreateFleetInput{
		Type: types.FleetTypeInstant,
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: &template, Version: aws.String("$Latest")}, Overrides: overrides,
		}},
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{TotalTargetCapacity: &count, DefaultTargetCapacityType: market},
		TagSpecifications:           []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: ec2Tags("fleet", template)}},
	}
	if market == types.DefaultTargetCapacityTypeSpot {
		in.SpotOptions = &types.SpotOptionsRequest{AllocationStrategy: types.SpotAllocationStrategyPriceCapacityOptimized}
	} else {
		in.OnDemandOptions = &types.OnDemandOptionsRequest{AllocationStrategy: types.FleetOnDemandAllocationStrategyLowestPrice}
	}
	for _, fn := range change {
		fn(in)
	}
	return w.ec2.CreateFleet(ctx, in)
}

// launch makes a template and that many on-demand instances from it, tagged fleet=name.
func (w *world) launch(ctx context.Context, name string, count int32) []string {
	need(w.createTemplate(ctx, name))
	fleet := need(w.fleet(ctx, name, types.DefaultTargetCapacityTypeOnDemand, count, []string{"m5.large@a"}))
	var ids []string
	for _, i := range fleet.Instances {
		ids = append(ids, i.InstanceIds...)
	}
	return ids
}

func (w *world) instance(ctx context.Context, id string) types.Instance {
	return need(w.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})).Reservations[0].Instances[0]
}

func fleetContracts() []contract {
	return []contract{
		{
			name: "fleet: an on-demand instance is as the override says",
			run: func(ctx context.Context, w *world) facts {
				need(w.createTemplate(ctx, "lt-od"))
				out := need(w.fleet(ctx, "lt-od", types.DefaultTargetCapacityTypeOnDemand, 1, []string{"m5.large@b"}))
				f := out.Instances[0]
				i := w.instance(ctx, f.InstanceIds[0])
				return facts{
					"fleet": strings.HasPrefix(*out.FleetId, "fleet-"), "errors": len(out.Errors), "instances": len(out.Instances), "ids": len(f.InstanceIds), "type": f.InstanceType,
					"lifecycle": f.Lifecycle, "id": f.InstanceIds[0][:2], "instance type": i.InstanceType, "subnet": *i.SubnetId == w.subnets[1], "zone": *i.Placement.AvailabilityZone,
					"image": *i.ImageId == w.image, "tags": ec2TagMap(i.Tags),
					"spot": i.InstanceLifecycle, "vpc": *i.VpcId == w.vpc, "launched": i.LaunchTime != nil, "architecture": i.Architecture,
				}
			},
			want: facts{
				"fleet": true, "errors": 0, "instances": 1, "ids": 1, "type": types.InstanceTypeM5Large, "lifecycle": types.InstanceLifecycleOnDemand, "id": "i-",
				"instance type": types.InstanceTypeM5Large, "subnet": true, "zone": "us-west-2b", "image": true, "tags": map[string]string{"fleet": "lt-od"},
				"spot": types.InstanceLifecycleType(""), "vpc": true, "launched": true, "architecture": types.ArchitectureValuesX8664,
			},
		},
		{
			name: "fleet: profile, groups and disks are the template's",
			run: func(ctx context.Context, w *world) facts {
				i := w.instance(ctx, w.launch(ctx, "lt-whole", 1)[0])
				volume := need(w.ec2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{Filters: []types.Filter{filter("attachment.instance-id", *i.InstanceId)}})).Volumes[0]
				return facts{
					"profile": strings.HasSuffix(*i.IamInstanceProfile.Arn, ":instance-profile/"+profile), "groups": len(i.SecurityGroups), "group": *i.SecurityGroups[0].GroupId == w.group,
					"interface": *i.NetworkInterfaces[0].Groups[0].GroupId == w.group, "size": *volume.Size, "device": *volume.Attachments[0].Device, "encrypted": *volume.Encrypted,
					"tokens": i.MetadataOptions.HttpTokens,
				}
			},
			want: facts{
				"profile": true, "groups": 1, "group": true, "interface": true, "size": int32(20), "device": "/dev/xvda", "encrypted": true, "tokens": types.HttpTokensStateRequired,
			},
			notOnMoto: "its fleets take little more than the image from a template",
		},
		{
			name: "fleet: a spot instance says so",
			run: func(ctx context.Context, w *world) facts {
				need(w.createTemplate(ctx, "lt-spot"))
				f := need(w.fleet(ctx, "lt-spot", types.DefaultTargetCapacityTypeSpot, 1, []string{"m5.large@a"})).Instances[0]
				i := w.instance(ctx, f.InstanceIds[0])
				return facts{"lifecycle": f.Lifecycle, "instance": i.InstanceLifecycle}
			},
			want: facts{"lifecycle": types.InstanceLifecycleSpot, "instance": types.InstanceLifecycleTypeSpot},
		},
		{
			name: "fleet: two asked for, two launched",
			run: func(ctx context.Context, w *world) facts {
				return facts{"instances": len(w.launch(ctx, "lt-pair", 2))}
			},
			want: facts{"instances": 2},
		},
		{
			name: "fleet: a template that is not there is refused",
			run: func(ctx context.Context, w *world) facts {
				return facts{"code": errorOf(w.fleet(ctx, "lt-missing", types.DefaultTargetCapacityTypeOnDemand, 1, []string{"m5.large@a"}))}
			},
			want: facts{"code": "InvalidLaunchTemplateName.NotFoundException"},
		},
		{
			name: "fleet: dry run launches nothing",
			run: func(ctx context.Context, w *world) facts {
				need(w.createTemplate(ctx, "lt-dryfleet"))
				_, err := w.fleet(ctx, "lt-dryfleet", types.DefaultTargetCapacityTypeOnDemand, 1, []string{"m5.large@a"}, func(in *ec2.CreateFleetInput) { in.DryRun = aws.Bool(true) })
				return facts{"code": code(err), "instances": w.running(ctx, filter("tag:fleet", "lt-dryfleet"))}
			},
			want: facts{"code": "DryRunOperation", "instances": 0},
		},
		{
			name: "fleet: a client token launches once",
			run: func(ctx context.Context, w *world) facts {
				need(w.createTemplate(ctx, "lt-token"))
				token := func(in *ec2.CreateFleetInput) { in.ClientToken = aws.String("token-1") }
				first := need(w.fleet(ctx, "lt-token", types.DefaultTargetCapacityTypeOnDemand, 1, []string{"m5.large@a"}, token))
				again := need(w.fleet(ctx, "lt-token", types.DefaultTargetCapacityTypeOnDemand, 1, []string{"m5.large@a"}, token))
				_, err := w.fleet(ctx, "lt-token", types.DefaultTargetCapacityTypeOnDemand, 2, []string{"m5.large@a"}, token)
				return facts{"same": first.Instances[0].InstanceIds[0] == again.Instances[0].InstanceIds[0], "other": code(err), "instances": w.running(ctx, filter("tag:fleet", "lt-token"))}
			},
			want:      facts{"same": true, "other": "IdempotentParameterMismatch", "instances": 1},
			notOnMoto: "it has no idempotency of CreateFleet",
		},
		{
			name: "fleet: the lowest price wins, not the first override",
			run: func(ctx context.Context, w *world) facts {
				need(w.createTemplate(ctx, "lt-price"))
				f := need(w.fleet(ctx, "lt-price", types.DefaultTargetCapacityTypeOnDemand, 1, []string{"m5.4xlarge@a", "m5.large@a", "m5.xlarge@a"}))
				return facts{"type": f.Instances[0].InstanceType}
			},
			want:      facts{"type": types.InstanceTypeM5Large},
			notOnMoto: "it takes the first override",
		},
	}
}

// running counts the instances that are neither going nor gone.
func (w *world) running(ctx context.Context, filters ...types.Filter) int {
	out := need(w.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: append(filters, filter("instance-state-name", "pending", "running"))}))
	n := 0
	for _, r := range out.Reservations {
		n += len(r.Instances)
	}
	return n
}
