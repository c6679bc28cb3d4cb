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
