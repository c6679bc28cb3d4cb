package awsspec

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ControllerPolicyInput names what the daemon may use.
type ControllerPolicyInput struct {
	Partition, Region, Account, Cluster string
	Role                                string   // name of the daemon's role; empty: ControllerRoleName of the cluster
	NodeRoleARNs                        []string // the roles that the daemon may give to instances
	QueueARN                            string   // empty: no interruption queue
	QueueKeyARN                         string   // KMS key of the queue; empty: one of SQS's own
	ImageParameterARNs                  []string // SSM parameters of images, besides the public ones of AWS
	Further                             []string // statements of a policy of their own, in JSON
}

// Policy is a managed policy. Its name is unique in the account: IAM knows no regions, and
// the name of its role, which it begins with, is unique too. So a role that replaces
// another one has policies of its own.
type Policy struct {
	Kind           string // what the policy is for: nodes, profiles, read, interruption or additional
	Name, Document string
}

// ControllerPolicies returns the policies of the daemon's role. They allow it to launch,
// tag and terminate instances of this cluster, to make and delete the instance profiles of
// its node classes, to read what its decisions need, and to receive from its queue, and
// nothing else but what the statements in Further say. Conditions on tags exclude everything that the daemon did not make. The
// conditions follow the service authorization references of EC2 and IAM (actions with
// their resource types and condition keys).
func ControllerPolicies(in ControllerPolicyInput) []Policy {
	role := in.Role
	if role == "" {
		role = ControllerRoleName(in.Cluster)
	}
	policy := func(kind string, statements ...statement) Policy {
		name := shortened("", role, "-"+in.Region+"-"+kind, maxPolicyName)
		return Policy{Kind: strings.ToLower(kind), Name: name, Document: policyText(statements...)}
	}
	policies := []Policy{
		policy("Nodes", in.launchStatements()...), policy("Profiles", in.profileStatements()...), policy("Read", in.readStatements()...),
	}
	if in.QueueARN != "" {
		statements := []statement{allow("ReceiveInterruptions", []string{"sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"}, []string{in.QueueARN})}
		if in.QueueKeyARN != "" {
			statements = append(statements, allow("DecryptInterruptions", []string{"kms:Decrypt"}, []string{in.QueueKeyARN}))
		}
		policies = append(policies, policy("Interruption", statements...))
	}
	if len(in.Further) > 0 {
		var further []json.RawMessage
		for _, s := range in.Further {
			further = append(further, json.RawMessage(s))
		}
		p := policy("Additional")
		p.Document = mixedPolicy(nil, further)
		policies = append(policies, p)
	}
	return policies
}

// ShadowPolicy allows to read what AWS sells in the region, and for which prices. A shadow does
// without, too: then the prices are those of the list that is compiled into the daemon.
func ShadowPolicy(region string) string {
	return policyText(
		allow("ReadOfferings", []string{"ec2:DescribeInstanceTypeOfferings", "ec2:DescribeInstanceTypes", "ec2:DescribeSpotPriceHistory"}, []string{"*"}).
			when("StringEquals", "aws:RequestedRegion", region),
		readPrices())
}

// readPrices is for the Price List, which is in other regions than the cluster, and has no
// resources.
func readPrices() statement {
	return allow("ReadPrices", []string{"pricing:GetProducts"}, []string{"*"})
}

// AdditionalPolicy is the kind of the policy that has the statements of users.
const AdditionalPolicy = "additional"

func (in ControllerPolicyInput) launchStatements() []statement {
	owned := TagClusterPrefix + in.Cluster
	created := in.ec2("fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")
	requestTagged := func(s statement) statement {
		return s.when("StringEquals", "aws:RequestTag/"+owned, TagOwned).
			when("StringEquals", "aws:RequestTag/"+TagClusterName, in.Cluster).
			when("StringLike", "aws:RequestTag/"+TagNodePool, "*")
	}
	resourceTagged := func(s statement) statement {
		return s.when("StringEquals", "aws:ResourceTag/"+owned, TagOwned).
			when("StringLike", "aws:ResourceTag/"+TagNodePool, "*")
	}
	return []statement{
		allow("LaunchInto", []string{"ec2:CreateFleet", "ec2:RunInstances"}, append(
			[]string{fmt.Sprintf("arn:%s:ec2:%s::image/*", in.Partition, in.Region), fmt.Sprintf("arn:%s:ec2:%s::snapshot/*", in.Partition, in.Region)},
			in.ec2("capacity-reservation", "security-group", "subnet")...)),
		resourceTagged(allow("LaunchFromOwnTemplates", []string{"ec2:CreateFleet", "ec2:RunInstances"}, in.ec2("launch-template"))),
		requestTagged(allow("LaunchTagged", []string{"ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:RunInstances"}, created)),
		requestTagged(allow("TagWhatIsCreated", []string{"ec2:CreateTags"}, created)).
			when("StringEquals", "ec2:CreateAction", "CreateFleet", "CreateLaunchTemplate", "RunInstances"),
		// The tags of a NodeClaim are for instances that Karpenter launched for this cluster.
		resourceTagged(allow("TagOwnInstances", []string{"ec2:CreateTags"}, in.ec2("instance"))).
			when("ForAllValues:StringEquals", "aws:TagKeys", TagName, TagNodeClaim, TagNodeClaimUID),
		resourceTagged(allow("DeleteOwn", []string{"ec2:DeleteLaunchTemplate", "ec2:TerminateInstances"}, in.ec2("instance", "launch-template"))),
		allow("GiveNodeRole", []string{"iam:PassRole"}, in.NodeRoleARNs).
			when("StringEquals", "iam:PassedToService", ec2Principals(in.Partition)...),
	}
}

// profileStatements allow to tag below the cluster's path only. So no profile of somebody
// else can get the tags that allow to change it. IAM asks for iam:TagInstanceProfile where
// a profile is created with tags.
func (in ControllerPolicyInput) profileStatements() []statement {
	tagged := func(s statement, of string) statement {
		return s.when("StringEquals", of+TagClusterPrefix+in.Cluster, TagOwned).
			when("StringEquals", of+TagRegion, in.Region).
			when("StringLike", of+TagNodeClass, "*")
	}
	below := []string{in.profiles(ProfilePath(in.Region, in.Cluster) + "*")}
	return []statement{
		tagged(allow("MakeProfiles", []string{"iam:CreateInstanceProfile", "iam:TagInstanceProfile"}, below), "aws:RequestTag/").
			when("StringEquals", "aws:RequestTag/"+TagClusterName, in.Cluster),
		tagged(allow("ChangeOwnProfiles", []string{
			"iam:AddRoleToInstanceProfile", "iam:DeleteInstanceProfile", "iam:RemoveRoleFromInstanceProfile",
		}, []string{in.profiles("/*")}), "aws:ResourceTag/"),
		allow("ListProfiles", []string{"iam:ListInstanceProfiles"}, []string{"*"}),
	}
}

func (in ControllerPolicyInput) readStatements() []statement {
	return []statement{
		allow("ReadEC2", []string{
			"ec2:DescribeCapacityReservations", "ec2:DescribeImages", "ec2:DescribeInstanceTypeOfferings", "ec2:DescribeInstanceTypes", "ec2:DescribeInstances",
			"ec2:DescribeLaunchTemplates", "ec2:DescribeSecurityGroups", "ec2:DescribeSpotPriceHistory", "ec2:DescribeSubnets",
		}, []string{"*"}).when("StringEquals", "aws:RequestedRegion", in.Region),
		readPrices(),
		allow("ReadImageParameters", []string{"ssm:GetParameter"},
			append([]string{fmt.Sprintf("arn:%s:ssm:%s::parameter%s*", in.Partition, in.Region, PublicParameters)}, in.ImageParameterARNs...)),
		allow("ReadInstanceProfiles", []string{"iam:GetInstanceProfile"},
			[]string{in.profiles("/*")}),
		allow("ReadCluster", []string{"eks:DescribeCluster"},
			[]string{ClusterARN(in.Partition, in.Region, in.Account, in.Cluster)}),
	}
}

// profiles returns the ARN of the instance profiles whose path and name match.
func (in ControllerPolicyInput) profiles(match string) string {
	return fmt.Sprintf("arn:%s:iam::%s:instance-profile%s", in.Partition, in.Account, match)
}

// ec2 returns the ARNs of all resources of the types, in the region and in any account.
func (in ControllerPolicyInput) ec2(types ...string) []string {
	arns := make([]string, len(types))
	for i, t := range types {
		arns[i] = fmt.Sprintf("arn:%s:ec2:%s:*:%s/*", in.Partition, in.Region, t)
	}
	return arns
}
