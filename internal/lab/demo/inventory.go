package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
)

// Inventory lists, as the deployer sees it through the API, everything in the account of a
// laboratory that the product could leave behind.
func Inventory(ctx context.Context, l *lab.Lab) ([]string, error) {
	config := awssdk.Config{
		Region: l.Region, BaseEndpoint: awssdk.String(l.Cloud.URL()),
		Credentials: credentials.NewStaticCredentialsProvider(l.Deployer.AccessKeyID, l.Deployer.SecretAccessKey, ""),
	}
	var found []string
	rest := func(ctx context.Context, config awssdk.Config) ([]string, error) {
		return listRest(ctx, config, l.ClusterName)
	}
	for _, list := range []func(context.Context, awssdk.Config) ([]string, error){listEC2, listIAM, rest} {
		more, err := list(ctx, config)
		if err != nil {
			return nil, fmt.Errorf("inventory take: %w", err)
		}
		found = append(found, more...)
	}
	slices.Sort(found)
	return found, nil
}

// leftovers compares the account with what it held before the apply.
func (d *demo) leftovers(ctx context.Context) ([]string, error) {
	now, err := Inventory(ctx, d.lab)
	return slices.DeleteFunc(now, func(x string) bool { return slices.Contains(d.inventory, x) }), err
}

func listEC2(ctx context.Context, config awssdk.Config) ([]string, error) {
	client := ec2.NewFromConfig(config)
	var found []string
	instances, err := client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{})
	if err != nil {
		return nil, err
	}
	for _, r := range instances.Reservations {
		for _, i := range r.Instances {
			if i.State.Name != ec2types.InstanceStateNameTerminated {
				found = append(found, "instance "+*i.InstanceId)
			}
		}
	}
	templates, err := client.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		return nil, err
	}
	for _, t := range templates.LaunchTemplates {
		found = append(found, "launch template "+*t.LaunchTemplateName)
	}
	volumes, err := client.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{})
	if err != nil {
		return nil, err
	}
	for _, v := range volumes.Volumes {
		found = append(found, "volume "+*v.VolumeId)
	}
	tags, err := client.DescribeTags(ctx, &ec2.DescribeTagsInput{})
	if err != nil {
		return nil, err
	}
	for _, t := range tags.Tags {
		// A terminated instance and its fleet keep their tags for about an hour.
		if t.ResourceType != ec2types.ResourceTypeInstance && t.ResourceType != ec2types.ResourceTypeFleet && t.ResourceType != ec2types.ResourceTypeSpotInstancesRequest {
			found = append(found, fmt.Sprintf("tag %s=%s on %s", *t.Key, *t.Value, *t.ResourceId))
		}
	}
	return found, nil
}

func listIAM(ctx context.Context, config awssdk.Config) ([]string, error) {
	client := iam.NewFromConfig(config)
	var found []string
	roles, err := client.ListRoles(ctx, &iam.ListRolesInput{})
	if err != nil {
		return nil, err
	}
	for _, r := range roles.Roles {
		if *r.RoleName == awsspec.SpotRoleName {
			continue // the account has it for all clusters, and the quick start leaves it
		}
		found = append(found, "role "+*r.RoleName)
	}
	profiles, err := client.ListInstanceProfiles(ctx, &iam.ListInstanceProfilesInput{})
	if err != nil {
		return nil, err
	}
	for _, p := range profiles.InstanceProfiles {
		found = append(found, "instance profile "+*p.InstanceProfileName)
	}
	policies, err := client.ListPolicies(ctx, &iam.ListPoliciesInput{Scope: "Local"})
	if err != nil {
		return nil, err
	}
	for _, p := range policies.Policies {
		found = append(found, "policy "+*p.PolicyName)
	}
	return found, nil
}

func listRest(ctx context.Context, config awssdk.Config, cluster string) ([]string, error) {
	var found []string
	queues, err := sqs.NewFromConfig(config).ListQueues(ctx, &sqs.ListQueuesInput{})
	if err != nil {
		return nil, err
	}
	for _, q := range queues.QueueUrls {
		found = append(found, "queue "+q[strings.LastIndexByte(q, '/')+1:])
	}
	rules, err := eventbridge.NewFromConfig(config).ListRules(ctx, &eventbridge.ListRulesInput{})
	if err != nil {
		return nil, err
	}
	for _, r := range rules.Rules {
		found = append(found, "event rule "+*r.Name)
	}
	entries, err := eks.NewFromConfig(config).ListAccessEntries(ctx, &eks.ListAccessEntriesInput{ClusterName: awssdk.String(cluster)})
	if err != nil {
		return nil, err
	}
	for _, e := range entries.AccessEntries {
		found = append(found, "access entry "+e)
	}
	return found, nil
}
