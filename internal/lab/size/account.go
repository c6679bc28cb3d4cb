package size

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/iamsim"
)

const (
	partition = "aws"
	nodeRole  = "node"
)

// cloud is how the deployer reaches the simulated AWS.
func (r *run) cloud() aws.Config {
	key := r.lab.Deployer
	return aws.Config{
		Region: r.lab.Region, BaseEndpoint: aws.String(r.lab.Cloud.URL()),
		Credentials: credentials.NewStaticCredentialsProvider(key.AccessKeyID, key.SecretAccessKey, key.SessionToken),
	}
}

// account gives the account what the daemon needs of AWS, and says how to install
// the daemon. Its role may do everything: rights are not what is measured here.
func (r *run) account(ctx context.Context) (install.Options, error) {
	roles := iam.NewFromConfig(r.cloud())
	issuer := strings.TrimPrefix(r.lab.Issuer(), "https://")
	trust := awsspec.IRSATrust(issuer, lab.Account, partition, install.DefaultNamespace, install.DefaultServiceAccount)
	for name, document := range map[string]string{"controller": trust, nodeRole: awsspec.NodeTrust(partition)} {
		if _, err := roles.CreateRole(ctx, &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: &document}); err != nil {
			return install.Options{}, fmt.Errorf("role %s create: %w", name, err)
		}
	}
	if _, err := roles.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: aws.String("controller"), PolicyArn: aws.String(iamsim.AdministratorAccess)}); err != nil {
		return install.Options{}, fmt.Errorf("role policy attach: %w", err)
	}
	if _, err := roles.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String(nodeRole)}); err != nil {
		return install.Options{}, fmt.Errorf("instance profile create: %w", err)
	}
	if _, err := roles.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String(nodeRole), RoleName: aws.String(nodeRole)}); err != nil {
		return install.Options{}, fmt.Errorf("instance profile fill: %w", err)
	}
	queue := awsspec.QueueName(r.lab.ClusterName)
	if _, err := sqs.NewFromConfig(r.cloud()).CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &queue}); err != nil {
		return install.Options{}, fmt.Errorf("queue create: %w", err)
	}
	_, err := ec2.NewFromConfig(r.cloud()).CreateTags(ctx, &ec2.CreateTagsInput{
		Resources: append(slices.Clone(r.lab.VPC.SubnetIDs), r.lab.VPC.ClusterSecurityGroupID),
		Tags:      []types.Tag{{Key: aws.String(awsspec.TagDiscovery), Value: &r.lab.ClusterName}},
	})
	if err != nil {
		return install.Options{}, fmt.Errorf("discovery tags create: %w", err)
	}
	return install.Options{
		Image: install.DefaultImage("0.0.0"), RoleARN: "arn:" + partition + ":iam::" + lab.Account + ":role/controller",
		ClusterName: r.lab.ClusterName, Region: r.lab.Region, QueueName: queue,
	}, nil
}
