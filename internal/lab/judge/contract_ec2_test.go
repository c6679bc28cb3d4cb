//go:build lab

package judge

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func (w *world) terminate(ctx context.Context, ids ...string) *ec2.TerminateInstancesOutput {
	return need(w.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids}))
}

func instanceContracts() []contract {
	return []contract{
		{
			name: "instance: runs with addresses, names and a root volume",
			run: func(ctx context.Context, w *world) facts {
				i := w.instance(ctx, w.launch(ctx, "lt-runs", 1)[0])
				return facts{
					"state": i.State.Name, "code": *i.State.Code, "ip": strings.HasPrefix(*i.PrivateIpAddress, "10.0."), "name": strings.HasPrefix(*i.PrivateDnsName, "ip-"+strings.ReplaceAll(*i.PrivateIpAddress, ".", "-")+"."),
					"root": i.RootDeviceType, "interfaces": len(i.NetworkInterfaces), "hypervisor": i.Hypervisor, "virtualization": i.VirtualizationType,
				}
			},
			want: facts{
				"state": types.InstanceStateNameRunning, "code": int32(16), "ip": true, "name": true, "root": types.DeviceTypeEbs, "interfaces": 1,
				"hypervisor": types.HypervisorTypeXen, "virtualization": types.VirtualizationTypeHvm,
			},
		},
		{
			name: "instance: found by tag, tag key, wildcard and state",
			run: func(ctx context.Context, w *world) facts {
				w.launch(ctx, "lt-find-instance", 2)
				return facts{
					"tag": w.running(ctx, filter("tag:fleet", "lt-find-instance")), "wildcard": w.running(ctx, filter("tag:fleet", "lt-find-inst*")),
					"question mark": w.running(ctx, filter("tag:fleet", "lt-find-instanc?")), "key": w.running(ctx, filter("tag-key", "fleet"), filter("tag:fleet", "lt-find-instance")),
					"other": w.running(ctx, filter("tag:fleet", "lt-find")), "type": w.running(ctx, filter("tag:fleet", "lt-find-instance"), filter("instance-type", "m5.large")),
					"subnet": w.running(ctx, filter("tag:fleet", "lt-find-instance"), filter("subnet-id", w.subnets[1])),
				}
			},
			want: facts{"tag": 2, "wildcard": 2, "question mark": 2, "key": 2, "other": 0, "type": 2, "subnet": 0},
		},
		{
			name: "instance: unknown ids are refused",
			run: func(ctx context.Context, w *world) facts {
				describe := func(id string) string {
					return errorOf(w.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}}))
				}
				return facts{
					"unknown":   describe("i-0123456789abcdef0"),
					"terminate": errorOf(w.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{"i-0123456789abcdef0"}})),
				}
			},
			want: facts{"unknown": "InvalidInstanceID.NotFound", "terminate": "InvalidInstanceID.NotFound"},
		},
		{
			name: "instance: malformed ids are refused as such",
			run: func(ctx context.Context, w *world) facts {
				return facts{"code": errorOf(w.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{"nonsense"}}))}
			},
			want:      facts{"code": "InvalidInstanceID.Malformed"},
			notOnMoto: "to it they are unknown",
		},
		{
			name: "instance: terminating goes through shutting-down, and again changes nothing",
			run: func(ctx context.Context, w *world) facts {
				id := w.launch(ctx, "lt-end", 1)[0]
				first := w.terminate(ctx, id).TerminatingInstances[0]
				after := w.instance(ctx, id)
				again := w.terminate(ctx, id).TerminatingInstances[0]
				return facts{
					"id": *first.InstanceId == id, "from": first.PreviousState.Name, "to": first.CurrentState.Name, "after": after.State.Name,
					"again": again.PreviousState.Name, "running": w.running(ctx, filter("tag:fleet", "lt-end")),
				}
			},
			want: facts{
				"id": true, "from": types.InstanceStateNameRunning, "to": types.InstanceStateNameShuttingDown, "after": types.InstanceStateNameTerminated,
				"again": types.InstanceStateNameTerminated, "running": 0,
			},
		},
		{
			name: "instance: dry run of terminating leaves it",
			run: func(ctx context.Context, w *world) facts {
				id := w.launch(ctx, "lt-dryend", 1)[0]
				_, err := w.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}, DryRun: aws.Bool(true)})
				return facts{"code": code(err), "state": w.instance(ctx, id).State.Name}
			},
			want: facts{"code": "DryRunOperation", "state": types.InstanceStateNameRunning},
		},
		{
			name: "instance: pages show everything once",
			run: func(ctx context.Context, w *world) facts {
				ids := w.launch(ctx, "lt-pages", 7)
				var got []string
				pages, largest := 0, 0
				for p := ec2.NewDescribeInstancesPaginator(w.ec2, &ec2.DescribeInstancesInput{MaxResults: aws.Int32(5), Filters: []types.Filter{filter("tag:fleet", "lt-pages")}}); p.HasMorePages(); pages++ {
					before := len(got)
					for _, r := range need(p.NextPage(ctx)).Reservations {
						for _, i := range r.Instances {
							got = append(got, *i.InstanceId)
						}
					}
					largest = max(largest, len(got)-before)
				}
				slices.Sort(got)
				slices.Sort(ids)
				return facts{"same": slices.Equal(got, ids), "pages": pages, "largest": largest}
			},
			want:      facts{"same": true, "pages": 2, "largest": 5},
			notOnMoto: "it counts reservations, not instances",
		},
		{
			name: "instance: ids and MaxResults exclude each other",
			run: func(ctx context.Context, w *world) facts {
				id := w.launch(ctx, "lt-exclude", 1)[0]
				return facts{"code": errorOf(w.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}, MaxResults: aws.Int32(5)}))}
			},
			want: facts{"code": "InvalidParameterCombination"},
		},
		{
			name: "instance: its volume and interface are listed",
			run: func(ctx context.Context, w *world) facts {
				id := w.launch(ctx, "lt-volume", 1)[0]
				volumes := need(w.ec2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{Filters: []types.Filter{filter("attachment.instance-id", id)}})).Volumes
				interfaces := need(w.ec2.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{filter("attachment.instance-id", id)}})).NetworkInterfaces
				return facts{
					"volumes": len(volumes), "state": volumes[0].State, "attached": *volumes[0].Attachments[0].InstanceId == id, "zone": *volumes[0].AvailabilityZone,
					"interfaces": len(interfaces), "subnet": *interfaces[0].SubnetId == w.subnets[0],
				}
			},
			want: facts{"volumes": 1, "state": types.VolumeStateInUse, "attached": true, "zone": "us-west-2a", "interfaces": 1, "subnet": true},
		},
		{
			name: "instance: status lists the running ones",
			run: func(ctx context.Context, w *world) facts {
				ids := w.launch(ctx, "lt-status", 2)
				w.terminate(ctx, ids[0])
				alive := need(w.ec2.DescribeInstanceStatus(ctx, &ec2.DescribeInstanceStatusInput{InstanceIds: ids}))
				all := need(w.ec2.DescribeInstanceStatus(ctx, &ec2.DescribeInstanceStatusInput{InstanceIds: ids, IncludeAllInstances: aws.Bool(true)}))
				return facts{"alive": len(alive.InstanceStatuses), "state": alive.InstanceStatuses[0].InstanceState.Name, "status": alive.InstanceStatuses[0].InstanceStatus.Status, "all": len(all.InstanceStatuses)}
			},
			want: facts{"alive": 1, "state": types.InstanceStateNameRunning, "status": types.SummaryStatusOk, "all": 2},
		},
	}
}

func tagContracts() []contract {
	return []contract{
		{
			name: "tags: set, replaced and deleted, on several resources at once",
			run: func(ctx context.Context, w *world) facts {
				ids := []string{w.subnets[0], w.group}
				tags := func() map[string]string {
					return ec2TagMap(need(w.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: ids[:1]})).Subnets[0].Tags)
				}
				need(w.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: ids, Tags: ec2Tags("life/a", "1", "life/b", "2")}))
				need(w.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: ids[:1], Tags: ec2Tags("life/a", "9")}))
				replaced := tags()["life/a"]
				need(w.ec2.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: ids[:1], Tags: ec2Tags("life/a", "other")}))
				kept := tags()["life/a"]
				need(w.ec2.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: ids[:1], Tags: []types.Tag{{Key: aws.String("life/a")}}}))
				need(w.ec2.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: ids[:1], Tags: ec2Tags("life/b", "2")}))
				again := errorOf(w.ec2.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: ids[:1], Tags: []types.Tag{{Key: aws.String("life/a")}}}))
				left := tags()
				_, a := left["life/a"]
				_, b := left["life/b"]
				group := need(w.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: ids[1:]})).SecurityGroups[0]
				return facts{"replaced": replaced, "kept": kept, "a": a, "b": b, "again": again, "group": ec2TagMap(group.Tags)["life/a"]}
			},
			want: facts{"replaced": "9", "kept": "9", "a": false, "b": false, "again": "none", "group": "1"},
		},
		{
			name: "tags: listed by resource, key, value and type",
			run: func(ctx context.Context, w *world) facts {
				need(w.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{w.subnets[1], w.vpc}, Tags: ec2Tags("list/a", "1", "list/b", "2")}))
				count := func(filters ...types.Filter) []string {
					out := need(w.ec2.DescribeTags(ctx, &ec2.DescribeTagsInput{Filters: filters}))
					return sortedBy(out.Tags, func(t types.TagDescription) string { return string(t.ResourceType) + " " + *t.Key + "=" + *t.Value })
				}
				return facts{
					"resource": count(filter("resource-id", w.vpc), filter("key", "list/a", "list/b")), "key": count(filter("key", "list/a")),
					"wildcard": count(filter("key", "list/*"), filter("resource-type", "vpc")), "value": count(filter("key", "list/a", "list/b"), filter("value", "2")),
				}
			},
			want: facts{
				"resource": []string{"vpc list/a=1", "vpc list/b=2"}, "key": []string{"subnet list/a=1", "vpc list/a=1"},
				"wildcard": []string{"vpc list/a=1", "vpc list/b=2"}, "value": []string{"subnet list/b=2", "vpc list/b=2"},
			},
		},
		{
			name: "tags: what begins with aws: is reserved",
			run: func(ctx context.Context, w *world) facts {
				return facts{"code": errorOf(w.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{w.vpc}, Tags: ec2Tags("aws:x", "1")}))}
			},
			want:      facts{"code": "InvalidParameterValue"},
			notOnMoto: "it sets them",
		},
		{
			name: "tags: a resource that is not there is named by its kind",
			run: func(ctx context.Context, w *world) facts {
				tag := func(id string) string {
					return errorOf(w.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: ec2Tags("a", "1")}))
				}
				return facts{"subnet": tag("subnet-0123456789abcdef0"), "group": tag("sg-0123456789abcdef0")}
			},
			want: facts{"subnet": "InvalidSubnetID.NotFound", "group": "InvalidGroup.NotFound"},
		},
		{
			name: "tags: dry run sets none",
			run: func(ctx context.Context, w *world) facts {
				_, err := w.ec2.CreateTags(ctx, &ec2.CreateTagsInput{DryRun: aws.Bool(true), Resources: []string{w.vpc}, Tags: ec2Tags("dry/a", "1")})
				tags := need(w.ec2.DescribeTags(ctx, &ec2.DescribeTagsInput{Filters: []types.Filter{filter("key", "dry/a")}})).Tags
				return facts{"code": code(err), "tags": len(tags)}
			},
			want: facts{"code": "DryRunOperation", "tags": 0},
		},
		{
			name: "tags: more than fifty are too many",
			run: func(ctx context.Context, w *world) facts {
				var pairs []string
				for n := range 51 {
					pairs = append(pairs, "many/"+strings.Repeat("x", n), "1")
				}
				return facts{"code": errorOf(w.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{w.subnets[2]}, Tags: ec2Tags(pairs...)}))}
			},
			want: facts{"code": "TagLimitExceeded"},
		},
	}
}

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
			name: "network: what is not there is named so",
			run: func(ctx context.Context, w *world) facts {
				return facts{
					"subnet": errorOf(w.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{"subnet-0123456789abcdef0"}})),
					"group":  errorOf(w.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{"sg-0123456789abcdef0"}})),
					"vpc":    errorOf(w.ec2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{"vpc-0123456789abcdef0"}})),
				}
			},
			want: facts{"subnet": "InvalidSubnetID.NotFound", "group": "InvalidGroup.NotFound", "vpc": "InvalidVpcID.NotFound"},
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
		{
			name: "zones: three of the region are available",
			run: func(ctx context.Context, w *world) facts {
				out := need(w.ec2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{ZoneNames: zones()})).AvailabilityZones
				return facts{"names": sortedBy(out, func(z types.AvailabilityZone) string { return *z.ZoneName }), "state": out[0].State, "region": *out[0].RegionName, "id": (*out[0].ZoneId)[:7]}
			},
			want: facts{"names": zones(), "state": types.AvailabilityZoneStateAvailable, "region": region, "id": "usw2-az"},
		},
		{
			name: "regions: this one is known",
			run: func(ctx context.Context, w *world) facts {
				out := need(w.ec2.DescribeRegions(ctx, &ec2.DescribeRegionsInput{RegionNames: []string{region}})).Regions
				return facts{"names": sortedBy(out, func(r types.Region) string { return *r.RegionName })}
			},
			want: facts{"names": []string{region}},
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
				"m5.large":    sized(2, 8192, "x86_64", 3, 10, false, ""),
				"c6g.xlarge":  sized(4, 8192, "arm64", 4, 15, false, ""),
				"t3.medium":   sized(2, 4096, "x86_64", 3, 6, true, ""),
				"g4dn.xlarge": sized(4, 16384, "x86_64", 3, 10, false, "T4"),
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
func sized(vcpus int32, mib int64, arch string, enis, ips int32, burstable bool, gpu string) facts {
	out := facts{
		"vcpus": vcpus, "mib": mib, "arch": types.ArchitectureType(arch), "enis": enis, "ips": ips, "hypervisor": types.InstanceTypeHypervisorNitro, "metal": false, "burstable": burstable,
		"classes": []string{"on-demand", "spot"},
	}
	if gpu != "" {
		out["gpu"] = gpu
	}
	return out
}
