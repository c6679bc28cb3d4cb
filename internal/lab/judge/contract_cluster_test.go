//go:build lab

package judge

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
)

func clusterContracts() []contract {
	return []contract{
		{
			name: "cluster: says how it is reached and where it lies",
			run: func(ctx context.Context, w *world) facts {
				c := need(w.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String(cluster)})).Cluster
				ca := need(base64.StdEncoding.DecodeString(*c.CertificateAuthority.Data))
				return facts{
					"name": *c.Name, "arn": *c.Arn, "version": *c.Version, "status": c.Status, "endpoint": strings.HasPrefix(*c.Endpoint, "https://"), "ca": len(ca) > 0,
					"issuer": strings.HasPrefix(*c.Identity.Oidc.Issuer, "https://"), "cidr": *c.KubernetesNetworkConfig.ServiceIpv4Cidr != "", "subnets": len(c.ResourcesVpcConfig.SubnetIds),
					"tags": c.Tags, "platform": strings.HasPrefix(*c.PlatformVersion, "eks."), "dated": c.CreatedAt != nil,
				}
			},
			want: facts{
				"name": cluster, "arn": "arn:aws:eks:us-west-2:123456789012:cluster/lab", "version": "1.33", "status": ekstypes.ClusterStatusActive, "endpoint": true, "ca": true, "issuer": true, "cidr": true,
				"subnets": 3, "tags": map[string]string{"a": "1"}, "platform": true, "dated": true,
			},
		},
		{
			name: "cluster: one that is not there is named so",
			run: func(ctx context.Context, w *world) facts {
				return facts{"code": errorOf(w.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String("none")}))}
			},
			want: facts{"code": "ResourceNotFoundException"},
		},
		{
			name: "cluster: tags are set and removed",
			run: func(ctx context.Context, w *world) facts {
				arn := aws.String("arn:aws:eks:us-west-2:123456789012:cluster/lab")
				need(w.eks.TagResource(ctx, &eks.TagResourceInput{ResourceArn: arn, Tags: map[string]string{"b": "2"}}))
				need(w.eks.UntagResource(ctx, &eks.UntagResourceInput{ResourceArn: arn, TagKeys: []string{"b"}}))
				return facts{"tags": need(w.eks.ListTagsForResource(ctx, &eks.ListTagsForResourceInput{ResourceArn: arn})).Tags}
			},
			want: facts{"tags": map[string]string{"a": "1"}},
		},
	}
}

// nodesContracts are about what a cluster has for pods to run on.
func nodesContracts() []contract {
	name := aws.String(cluster)
	return []contract{
		{
			name: "node group: listed, and says what its nodes are",
			run: func(ctx context.Context, w *world) facts {
				g := need(w.eks.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: name, NodegroupName: aws.String("system")})).Nodegroup
				return facts{
					"listed": need(w.eks.ListNodegroups(ctx, &eks.ListNodegroupsInput{ClusterName: name})).Nodegroups, "name": *g.NodegroupName, "cluster": *g.ClusterName,
					"arn": strings.HasPrefix(*g.NodegroupArn, "arn:aws:eks:us-west-2:123456789012:nodegroup/lab/system/"), "status": g.Status, "capacity": g.CapacityType, "types": g.InstanceTypes,
					"sizes": []int32{*g.ScalingConfig.MinSize, *g.ScalingConfig.DesiredSize, *g.ScalingConfig.MaxSize}, "labels": g.Labels,
					"taints": sortedBy(g.Taints, func(t ekstypes.Taint) string { return *t.Key + "=" + *t.Value + ":" + string(t.Effect) }), "subnets": len(g.Subnets),
					"none": errorOf(w.eks.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: name, NodegroupName: aws.String("none")})),
				}
			},
			want: facts{
				"listed": []string{"system"}, "name": "system", "cluster": cluster, "arn": true, "status": ekstypes.NodegroupStatusActive, "capacity": ekstypes.CapacityTypesOnDemand, "types": []string{"m5.large"},
				"sizes": []int32{1, 2, 3}, "labels": map[string]string{"tier": "system"}, "taints": []string{"only=system:NO_SCHEDULE"}, "subnets": 3, "none": "ResourceNotFoundException",
			},
		},
		{
			name: "fargate profile: listed by name",
			run: func(ctx context.Context, w *world) facts {
				return facts{"listed": need(w.eks.ListFargateProfiles(ctx, &eks.ListFargateProfilesInput{ClusterName: name})).FargateProfileNames}
			},
			want: facts{"listed": []string{"pods"}},
		},
		{
			name: "add-on: listed by name",
			run: func(ctx context.Context, w *world) facts {
				return facts{"listed": need(w.eks.ListAddons(ctx, &eks.ListAddonsInput{ClusterName: name})).Addons}
			},
			want:      facts{"listed": []string{"vpc-cni"}},
			notOnMoto: "it has no add-ons", onMinistack: true,
		},
	}
}

// entry makes a role and an access entry of it.
func (w *world) entry(ctx context.Context, name, kind string) (role *string, made *ekstypes.AccessEntry) {
	role = need(w.createRole(ctx, name, ec2Trust)).Role.Arn
	out := need(w.eks.CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{ClusterName: aws.String(cluster), PrincipalArn: role, Type: &kind, Tags: map[string]string{"a": "1"}}))
	return role, out.AccessEntry
}

const noEntries = "it has no access entries"

func entryContracts() []contract {
	name := aws.String(cluster)
	return []contract{
		{
			name: "access entry: made once for a principal, deleted once",
			run: func(ctx context.Context, w *world) facts {
				role, made := w.entry(ctx, "entry-life", "EC2_LINUX")
				again := errorOf(w.eks.CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{ClusterName: name, PrincipalArn: role, Type: aws.String("EC2_LINUX")}))
				read := need(w.eks.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: name, PrincipalArn: role})).AccessEntry
				need(w.eks.DeleteAccessEntry(ctx, &eks.DeleteAccessEntryInput{ClusterName: name, PrincipalArn: role}))
				return facts{
					"type": *made.Type, "tags": made.Tags, "principal": *made.PrincipalArn == *role, "cluster": *made.ClusterName, "arn": strings.HasPrefix(*made.AccessEntryArn, "arn:aws:eks:us-west-2:123456789012:access-entry/lab/"),
					"read": *read.AccessEntryArn == *made.AccessEntryArn, "dated": made.CreatedAt != nil && made.ModifiedAt != nil, "again": again,
					"gone":       errorOf(w.eks.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: name, PrincipalArn: role})),
					"gone twice": errorOf(w.eks.DeleteAccessEntry(ctx, &eks.DeleteAccessEntryInput{ClusterName: name, PrincipalArn: role})),
				}
			},
			want: facts{
				"type": "EC2_LINUX", "tags": map[string]string{"a": "1"}, "principal": true, "cluster": cluster, "arn": true, "read": true, "dated": true, "again": "ResourceInUseException",
				"gone": "ResourceNotFoundException", "gone twice": "ResourceNotFoundException",
			},
			notOnMoto: noEntries, onMinistack: true,
		},
		{
			name: "access entry: listed, its tags set and removed",
			run: func(ctx context.Context, w *world) facts {
				role, made := w.entry(ctx, "entry-change", "STANDARD")
				need(w.eks.TagResource(ctx, &eks.TagResourceInput{ResourceArn: made.AccessEntryArn, Tags: map[string]string{"b": "2"}}))
				need(w.eks.UntagResource(ctx, &eks.UntagResourceInput{ResourceArn: made.AccessEntryArn, TagKeys: []string{"a"}}))
				return facts{
					"tags":   need(w.eks.ListTagsForResource(ctx, &eks.ListTagsForResourceInput{ResourceArn: made.AccessEntryArn})).Tags,
					"listed": slices.Contains(need(w.eks.ListAccessEntries(ctx, &eks.ListAccessEntriesInput{ClusterName: name})).AccessEntries, *role),
				}
			},
			want:      facts{"tags": map[string]string{"b": "2"}, "listed": true},
			notOnMoto: noEntries, onMinistack: true,
		},
		{
			name: "access entry: needs its cluster",
			run: func(ctx context.Context, w *world) facts {
				none := aws.String("none")
				role := need(w.createRole(ctx, "entry-none", ec2Trust)).Role.Arn
				return facts{
					"create": errorOf(w.eks.CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{ClusterName: none, PrincipalArn: role})),
					"list":   errorOf(w.eks.ListAccessEntries(ctx, &eks.ListAccessEntriesInput{ClusterName: none})),
				}
			},
			want:      facts{"create": "ResourceNotFoundException", "list": "ResourceNotFoundException"},
			notOnMoto: noEntries, onMinistack: true,
		},
		{
			name: "access entry: a node's user name and group are given by its type",
			run: func(ctx context.Context, w *world) facts {
				_, made := w.entry(ctx, "entry-names", "EC2_LINUX")
				return facts{"username": *made.Username, "groups": made.KubernetesGroups}
			},
			want:      facts{"username": "system:node:{{EC2PrivateDNSName}}", "groups": []string{"system:nodes"}},
			notOnMoto: noEntries + "; those of ministack have neither",
		},
	}
}

func parameterContracts() []contract {
	return []contract{
		{
			name: "parameter: read by name",
			run: func(ctx context.Context, w *world) facts {
				p := need(w.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(parameter)})).Parameter
				return facts{
					"name": *p.Name, "value": *p.Value == w.image, "type": p.Type, "version": p.Version, "arn": *p.ARN, "data type": *p.DataType, "dated": p.LastModifiedDate != nil,
				}
			},
			want: facts{
				"name": parameter, "value": true, "type": ssmtypes.ParameterTypeString, "version": int64(1), "arn": "arn:aws:ssm:us-west-2:123456789012:parameter/lab/image", "data type": "text", "dated": true,
			},
		},
		{
			name: "parameter: one that is not there is named so",
			run: func(ctx context.Context, w *world) facts {
				return facts{"code": errorOf(w.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/lab/none")}))}
			},
			want: facts{"code": "ParameterNotFound"},
		},
	}
}
