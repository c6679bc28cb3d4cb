//go:build lab

package judge

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
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
				return facts{"code": errorOf(w.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String("none")})), "listed": need(w.eks.ListClusters(ctx, nil)).Clusters}
			},
			want: facts{"code": "ResourceNotFoundException", "listed": []string{cluster}},
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
		{
			name: "access entry: made, found in use, deleted",
			run: func(ctx context.Context, w *world) facts {
				role := need(w.iam.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("entry"), AssumeRolePolicyDocument: aws.String(ec2Trust)})).Role.Arn
				create := func() (*eks.CreateAccessEntryOutput, error) {
					return w.eks.CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{ClusterName: aws.String(cluster), PrincipalArn: role, Type: aws.String("EC2_LINUX")})
				}
				made := need(create()).AccessEntry
				again := errorOf(create())
				need(w.eks.DeleteAccessEntry(ctx, &eks.DeleteAccessEntryInput{ClusterName: aws.String(cluster), PrincipalArn: role}))
				return facts{
					"username": *made.Username, "groups": made.KubernetesGroups, "again": again,
					"gone": errorOf(w.eks.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: aws.String(cluster), PrincipalArn: role})),
				}
			},
			want:      facts{"username": "system:node:{{EC2PrivateDNSName}}", "groups": []string{"system:nodes"}, "again": "ResourceInUseException", "gone": "ResourceNotFoundException"},
			notOnMoto: "it has no access entries",
		},
	}
}

func parameterContracts() []contract {
	return []contract{
		{
			name: "parameter: read by name, several, and by path",
			run: func(ctx context.Context, w *world) facts {
				p := need(w.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(parameter)})).Parameter
				several := need(w.ssm.GetParameters(ctx, &ssm.GetParametersInput{Names: []string{parameter, "/lab/none"}}))
				path := func(path string, recursive bool) []string {
					out := need(w.ssm.GetParametersByPath(ctx, &ssm.GetParametersByPathInput{Path: &path, Recursive: &recursive}))
					return sortedBy(out.Parameters, func(p ssmtypes.Parameter) string { return *p.Name })
				}
				return facts{
					"name": *p.Name, "value": *p.Value == w.image, "type": p.Type, "version": p.Version, "arn": *p.ARN, "data type": *p.DataType, "dated": p.LastModifiedDate != nil,
					"several": len(several.Parameters), "invalid": several.InvalidParameters, "path": path("/lab", false), "slash": path("/lab/", true), "none": path("/la", true),
				}
			},
			want: facts{
				"name": parameter, "value": true, "type": ssmtypes.ParameterTypeString, "version": int64(1), "arn": "arn:aws:ssm:us-west-2:123456789012:parameter/lab/image", "data type": "text", "dated": true,
				"several": 1, "invalid": []string{"/lab/none"}, "path": []string{parameter}, "slash": []string{parameter}, "none": []string{},
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
