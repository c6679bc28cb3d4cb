package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/iamsim"
)

// NodeRole is the name of the role of the nodes and of its instance profile.
const NodeRole = "node"

const partition = "aws"

// seenWithin is how long IAM may take to show a new role to EKS.
const seenWithin = time.Minute

// Config is how the deployer reaches the simulated AWS.
func Config(l *lab.Lab) aws.Config {
	key := l.Deployer
	return aws.Config{
		Region: l.Region, BaseEndpoint: aws.String(l.Cloud.URL()),
		Credentials: credentials.NewStaticCredentialsProvider(key.AccessKeyID, key.SecretAccessKey, key.SessionToken),
	}
}

// grant gives the role of the nodes its access entry, as soon as EKS sees the role.
func grant(ctx context.Context, l *lab.Lab) error {
	ctx, cancel := context.WithTimeout(ctx, seenWithin)
	defer cancel()
	for {
		_, err := eks.NewFromConfig(Config(l)).CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{
			ClusterName: &l.ClusterName, PrincipalArn: aws.String("arn:" + partition + ":iam::" + lab.Account + ":role/" + NodeRole), Type: aws.String("EC2_LINUX"),
		})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("access entry create: %w", err)
		case <-time.After(time.Second):
		}
	}
}

// furnishQueue makes the interruption queue, and the rules that send EC2's events there.
func furnishQueue(ctx context.Context, l *lab.Lab) (name string, err error) {
	name = awsspec.QueueName(l.ClusterName)
	arn := fmt.Sprintf("arn:%s:sqs:%s:%s:%s", partition, l.Region, lab.Account, name)
	_, err = sqs.NewFromConfig(Config(l)).CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{
		"Policy": awsspec.QueuePolicy(arn, partition), "MessageRetentionPeriod": fmt.Sprint(awsspec.QueueRetentionSeconds),
	}})
	if err != nil {
		return "", fmt.Errorf("queue create: %w", err)
	}
	events := eventbridge.NewFromConfig(Config(l))
	for _, r := range awsspec.EventRules(l.ClusterName) {
		if _, err := events.PutRule(ctx, &eventbridge.PutRuleInput{Name: &r.Name, EventPattern: &r.Pattern}); err != nil {
			return "", fmt.Errorf("event rule create: %w", err)
		}
		_, err := events.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: &r.Name, Targets: []eventtypes.Target{{Id: aws.String(awsspec.QueueTargetID), Arn: &arn}}})
		if err != nil {
			return "", fmt.Errorf("event target create: %w", err)
		}
	}
	return name, nil
}

// Account gives the account what the daemon and its nodes need of AWS, and says how
// to install the daemon. The daemon's role may do everything: rights are not what is
// measured with it.
func Account(ctx context.Context, l *lab.Lab) (install.Options, error) {
	roles := iam.NewFromConfig(Config(l))
	issuer := strings.TrimPrefix(l.Issuer(), "https://")
	trust := awsspec.IRSATrust(issuer, lab.Account, partition, install.DefaultNamespace, install.DefaultServiceAccount)
	for name, document := range map[string]string{"controller": trust, NodeRole: awsspec.NodeTrust(partition)} {
		if _, err := roles.CreateRole(ctx, &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: &document}); err != nil {
			return install.Options{}, fmt.Errorf("role %s create: %w", name, err)
		}
	}
	if _, err := roles.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: aws.String("controller"), PolicyArn: aws.String(iamsim.AdministratorAccess)}); err != nil {
		return install.Options{}, fmt.Errorf("role policy attach: %w", err)
	}
	if _, err := roles.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String(NodeRole)}); err != nil {
		return install.Options{}, fmt.Errorf("instance profile create: %w", err)
	}
	if _, err := roles.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String(NodeRole), RoleName: aws.String(NodeRole)}); err != nil {
		return install.Options{}, fmt.Errorf("instance profile fill: %w", err)
	}
	if err := grant(ctx, l); err != nil {
		return install.Options{}, err
	}
	queue, err := furnishQueue(ctx, l)
	if err != nil {
		return install.Options{}, err
	}
	_, err = ec2.NewFromConfig(Config(l)).CreateTags(ctx, &ec2.CreateTagsInput{
		Resources: append(slices.Clone(l.VPC.SubnetIDs), l.VPC.ClusterSecurityGroupID),
		Tags:      []types.Tag{{Key: aws.String(awsspec.TagDiscovery), Value: &l.ClusterName}},
	})
	if err != nil {
		return install.Options{}, fmt.Errorf("discovery tags create: %w", err)
	}
	return install.Options{
		Image: install.ReleaseImage("0.0.0").String(), RoleARN: "arn:" + partition + ":iam::" + lab.Account + ":role/controller",
		ClusterName: l.ClusterName, Region: l.Region, QueueName: queue,
	}, nil
}
