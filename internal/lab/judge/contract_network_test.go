//go:build lab

package judge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func networkContracts() []contract {
	return []contract{
		{
			name: "subnet: found by id, tag, tag key, wildcard, zone and VPC",
			run: func(ctx context.Context, w *world) facts {
				need(w.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: w.subnets[:2], Tags: ec2Tags("karpenter.sh/discovery", "find")}))
				need(w.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: w.subnets[1:2], Tags: ec2Tags("tier", "private")}))
				find := func(filters ...types.Filter) []string {
					out := need(w.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: append(filters, filter("vpc-id", w.vpc))}))
					return sortedBy(out.Subnets, func(n types.Subnet) string { return *n.AvailabilityZone })
				}
				byID := need(w.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: w.subnets[2:]})).Subnets
				return facts{
					"tag": find(filter("tag:karpenter.sh/discovery", "find")), "wildcard": find(filter("tag:karpenter.sh/discovery", "f*")), "any": find(filter("tag:karpenter.sh/discovery", "*")),
					"key": find(filter("tag-key", "tier")), "both": find(filter("tag-key", "tier"), filter("subnet-id", w.subnets[0])), "zone": find(filter("availability-zone", "us-west-2c")),
					"either": find(filter("subnet-id", w.subnets[0], w.subnets[2])), "id": *byID[0].AvailabilityZone, "vpc": len(find()),
				}
			},
			want: facts{
				"tag": []string{"us-west-2a", "us-west-2b"}, "wildcard": []string{"us-west-2a", "us-west-2b"}, "any": []string{"us-west-2a", "us-west-2b"}, "key": []string{"us-west-2b"},
				"both": []string{}, "zone": []string{"us-west-2c"}, "either": []string{"us-west-2a", "us-west-2c"}, "id": "us-west-2c", "vpc": 3,
			},
		},
		{
			name: "subnet: says what a launch needs to know",
			run: func(ctx context.Context, w *world) facts {
				n := need(w.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: w.subnets[:1]})).Subnets[0]
				return facts{
					"vpc": *n.VpcId == w.vpc, "zone": *n.AvailabilityZone, "zone id": strings.HasPrefix(*n.AvailabilityZoneId, "usw2-az"), "state": n.State, "free": *n.AvailableIpAddressCount > 100,
					"cidr": strings.HasPrefix(*n.CidrBlock, "10.0."), "arn": *n.SubnetArn == "arn:aws:ec2:us-west-2:123456789012:subnet/"+w.subnets[0], "public": *n.MapPublicIpOnLaunch,
				}
			},
			want: facts{"vpc": true, "zone": "us-west-2a", "zone id": true, "state": types.SubnetStateAvailable, "free": true, "cidr": true, "arn": true, "public": false},
		},
		{
			name: "subnet: a launch takes an address",
			run: func(ctx context.Context, w *world) facts {
				free := func() int32 {
					return *need(w.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: w.subnets[:1]})).Subnets[0].AvailableIpAddressCount
				}
				before := free()
				w.launch(ctx, "lt-address", 1)
				return facts{"taken": before - free()}
			},
			want: facts{"taken": int32(1)},
		},
		{
			name: "route table: the main one, and one of a subnet with a route to the internet",
			run: func(ctx context.Context, w *world) facts {
				find := func(filters ...types.Filter) []string {
					out := need(w.ec2.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{Filters: append(filters, filter("vpc-id", w.vpc))}))
					return sortedBy(out.RouteTables, func(t types.RouteTable) string {
						routes := sortedBy(t.Routes, func(r types.Route) string {
							return *r.DestinationCidrBlock + " " + (*r.GatewayId)[:4] + " " + string(r.State)
						})
						associations := sortedBy(t.Associations, func(a types.RouteTableAssociation) string {
							if *a.Main {
								return "main"
							}
							return fmt.Sprint(slices.Index(w.subnets, *a.SubnetId))
						})
						return strings.Join(associations, ",") + ": " + strings.Join(routes, ", ")
					})
				}
				return facts{
					"all": find(), "main": find(filter("association.main", "true")), "of a subnet": find(filter("association.subnet-id", w.subnets[2])),
					"none": errorOf(w.ec2.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{RouteTableIds: []string{"rtb-0123456789abcdef0"}})),
				}
			},
			want: facts{
				"all":  []string{"2: 0.0.0.0/0 igw- active, 10.0.0.0/16 loca active", "main: 10.0.0.0/16 loca active"},
				"main": []string{"main: 10.0.0.0/16 loca active"}, "of a subnet": []string{"2: 0.0.0.0/0 igw- active, 10.0.0.0/16 loca active"},
				"none": "InvalidRouteTableID.NotFound",
			},
		},
		{
			name: "network: what is not there is named so",
			run: func(ctx context.Context, w *world) facts {
				return facts{
					"subnet": errorOf(w.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{"subnet-0123456789abcdef0"}})),
					"group":  errorOf(w.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{"sg-0123456789abcdef0"}})),
				}
			},
			want: facts{"subnet": "InvalidSubnetID.NotFound", "group": "InvalidGroup.NotFound"},
		},
		{
			name: "network: a filter that does not exist is refused",
			run: func(ctx context.Context, w *world) facts {
				return facts{"code": errorOf(w.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: []types.Filter{filter("colour", "blue")}}))}
			},
			want:      facts{"code": "InvalidParameterValue"},
			notOnMoto: "a filter that it does not know is one it has not implemented: FilterNotImplementedError",
		},
		{
			name: "network: dry run answers so",
			run: func(ctx context.Context, w *world) facts {
				return facts{"code": errorOf(w.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{DryRun: aws.Bool(true)}))}
			},
			want: facts{"code": "DryRunOperation"},
		},
		{
			name: "security group: found by id, name, tag and VPC",
			run: func(ctx context.Context, w *world) facts {
				need(w.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{w.group}, Tags: ec2Tags("find/group", "lab-cluster")}))
				name := *need(w.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{w.group}})).SecurityGroups[0].GroupName
				find := func(filters ...types.Filter) bool {
					out := need(w.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: append(filters, filter("vpc-id", w.vpc))})).SecurityGroups
					return len(out) == 1 && *out[0].GroupId == w.group && *out[0].VpcId == w.vpc
				}
				return facts{
					"name": find(filter("group-name", name)), "tag": find(filter("tag:find/group", "lab-cluster")), "wildcard": find(filter("tag:find/group", "lab-*")),
					"key": find(filter("tag-key", "find/group")), "id": find(filter("group-id", w.group)), "name wildcard": find(filter("group-name", name[:3]+"*")), "none": find(filter("group-name", "none")),
				}
			},
			want: facts{"name": true, "tag": true, "wildcard": true, "key": true, "id": true, "name wildcard": true, "none": false},
		},
	}
}

func catalogueContracts() []contract {
	return []contract{
		{
			name: "instance types: say what their size is",
			run: func(ctx context.Context, w *world) facts {
				got := facts{}
				for _, i := range need(w.ec2.DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"m5.large", "c6g.xlarge", "t3.medium", "g4dn.xlarge"}})).InstanceTypes {
					what := facts{
						"vcpus": *i.VCpuInfo.DefaultVCpus, "mib": *i.MemoryInfo.SizeInMiB, "arch": i.ProcessorInfo.SupportedArchitectures[0], "enis": *i.NetworkInfo.MaximumNetworkInterfaces,
						"volumes": *i.EbsInfo.MaximumEbsAttachments, "slots": i.EbsInfo.AttachmentLimitType, "gbps": *i.NetworkInfo.NetworkCards[0].BaselineBandwidthInGbps,
						"ips": *i.NetworkInfo.Ipv4AddressesPerInterface, "hypervisor": i.Hypervisor, "metal": *i.BareMetal, "burstable": *i.BurstablePerformanceSupported,
						"classes": sortedBy(i.SupportedUsageClasses, func(c types.UsageClassType) string { return string(c) })[:2],
					}
					if i.GpuInfo != nil {
						what["gpu"] = *i.GpuInfo.Gpus[0].Name
					}
					got[string(i.InstanceType)] = what
				}
				return got
			},
			want: facts{
				"m5.large":    sized(2, 8192, "x86_64", 3, 10, 27, 0.75, false, ""),
				"c6g.xlarge":  sized(4, 8192, "arm64", 4, 15, 27, 1.25, false, ""),
				"t3.medium":   sized(2, 4096, "x86_64", 3, 6, 27, 0.256, true, ""),
				"g4dn.xlarge": sized(4, 16384, "x86_64", 3, 10, 25, 5, false, "T4"),
			},
		},
		{
			name: "instance types: found by wildcard and other filters",
			run: func(ctx context.Context, w *world) facts {
				find := func(filters ...types.Filter) []string {
					out := need(w.ec2.DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{Filters: filters}))
					return sortedBy(out.InstanceTypes, func(i types.InstanceTypeInfo) string { return string(i.InstanceType) })
				}
				return facts{
					"wildcard": find(filter("instance-type", "m6g.*")), "vcpus": find(filter("instance-type", "m6g.*"), filter("vcpu-info.default-vcpus", "4")),
					"architecture": find(filter("instance-type", "c5.large", "c6g.large"), filter("processor-info.supported-architecture", "arm64")),
					"metal":        find(filter("instance-type", "m6g.*"), filter("bare-metal", "true")),
				}
			},
			want: facts{
				"wildcard": []string{"m6g.12xlarge", "m6g.16xlarge", "m6g.2xlarge", "m6g.4xlarge", "m6g.8xlarge", "m6g.large", "m6g.medium", "m6g.metal", "m6g.xlarge"},
				"vcpus":    []string{"m6g.xlarge"}, "architecture": []string{"c6g.large"}, "metal": []string{"m6g.metal"},
			},
		},
		{
			name: "instance types: one that does not exist is refused",
			run: func(ctx context.Context, w *world) facts {
				return facts{"code": errorOf(w.ec2.DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"x9.huge"}}))}
			},
			want: facts{"code": "InvalidInstanceType"},
		},
		{
			name: "offerings: by zone and type",
			run: func(ctx context.Context, w *world) facts {
				find := func(kind types.LocationType, filters ...types.Filter) []string {
					out := need(w.ec2.DescribeInstanceTypeOfferings(ctx, &ec2.DescribeInstanceTypeOfferingsInput{LocationType: kind, Filters: filters}))
					return sortedBy(out.InstanceTypeOfferings, func(o types.InstanceTypeOffering) string { return string(o.InstanceType) + " " + *o.Location })
				}
				return facts{
					"zones": find(types.LocationTypeAvailabilityZone, filter("instance-type", "m5.large"), filter("location", zones()...)), "region": find(types.LocationTypeRegion, filter("instance-type", "m5.large", "c5.large")),
					"none": find(types.LocationTypeAvailabilityZone, filter("instance-type", "x9.huge")),
				}
			},
			want: facts{
				"zones":  []string{"m5.large us-west-2a", "m5.large us-west-2b", "m5.large us-west-2c"},
				"region": []string{"c5.large us-west-2", "m5.large us-west-2"}, "none": []string{},
			},
		},
		{
			name: "image: found by id, name, architecture and owner",
			run: func(ctx context.Context, w *world) facts {
				i := need(w.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{w.image}})).Images[0]
				find := func(filters ...types.Filter) bool {
					out := need(w.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{Filters: filters})).Images
					return slices.ContainsFunc(out, func(i types.Image) bool { return *i.ImageId == w.image })
				}
				return facts{
					"architecture": i.Architecture, "state": i.State, "root": *i.RootDeviceName != "", "created": *i.CreationDate != "", "name": find(filter("name", *i.Name)),
					"wildcard": find(filter("name", (*i.Name)[:4]+"*")), "id": find(filter("image-id", w.image)), "x86_64": find(filter("architecture", "x86_64")), "arm64": find(filter("architecture", "arm64")),
				}
			},
			want: facts{
				"architecture": types.ArchitectureValuesX8664, "state": types.ImageStateAvailable, "root": true, "created": true, "name": true, "wildcard": true, "id": true, "x86_64": true, "arm64": false,
			},
		},
		{
			name: "image: unknown and malformed ids are refused",
			run: func(ctx context.Context, w *world) facts {
				describe := func(id string) string {
					return errorOf(w.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{id}}))
				}
				return facts{"unknown": describe("ami-0123456789abcdef0"), "malformed": describe("nonsense")}
			},
			want: facts{"unknown": "InvalidAMIID.NotFound", "malformed": "InvalidAMIID.Malformed"},
		},
	}
}

// sized are the facts of an instance type that is sold on demand and as spot.
func sized(vcpus int32, mib int64, arch string, enis, ips, volumes int32, gbps float64, burstable bool, gpu string) facts {
	out := facts{
		"vcpus": vcpus, "mib": mib, "arch": types.ArchitectureType(arch), "enis": enis, "ips": ips, "hypervisor": types.InstanceTypeHypervisorNitro, "metal": false, "burstable": burstable,
		"classes": []string{"on-demand", "spot"}, "volumes": volumes, "slots": types.AttachmentLimitTypeShared, "gbps": gbps,
	}
	if gpu != "" {
		out["gpu"] = gpu
	}
	return out
}
