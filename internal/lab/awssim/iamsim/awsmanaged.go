package iamsim

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/policy"
)

// AdministratorAccess is the ARN of AWS's policy that allows everything.
const AdministratorAccess = "arn:aws:iam::aws:policy/AdministratorAccess"

// awsManaged are AWS's own policies that EKS nodes, controllers and their
// deployers attach by name. The documents allow what the real ones are for,
// shortened to services that exist here.
func awsManaged() []*managed {
	// AWS made them long before any account that uses them.
	created := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	texts := []struct{ name, text string }{
		{"AdministratorAccess", statement(`"*"`)},
		{"ReadOnlyAccess", statement(`"ec2:Describe*","ec2:Get*","iam:Get*","iam:List*","eks:Describe*","eks:List*","sqs:Get*","sqs:List*","events:Describe*","events:List*","ssm:Get*","ssm:Describe*","pricing:*"`)},
		{"AmazonEKSWorkerNodePolicy", statement(`"ec2:DescribeInstances","ec2:DescribeInstanceTypes","ec2:DescribeRouteTables","ec2:DescribeSecurityGroups","ec2:DescribeSubnets","ec2:DescribeVolumes","ec2:DescribeVolumesModifications","ec2:DescribeVpcs","eks:DescribeCluster","eks-auth:AssumeRoleForPodIdentity"`)},
		{"AmazonEKSWorkerNodeMinimalPolicy", statement(`"eks-auth:AssumeRoleForPodIdentity"`)},
		{"AmazonEKS_CNI_Policy", statement(`"ec2:AssignPrivateIpAddresses","ec2:AttachNetworkInterface","ec2:CreateNetworkInterface","ec2:DeleteNetworkInterface","ec2:DescribeInstances","ec2:DescribeInstanceTypes","ec2:DescribeNetworkInterfaces","ec2:DescribeSubnets","ec2:DescribeTags","ec2:DetachNetworkInterface","ec2:ModifyNetworkInterfaceAttribute","ec2:UnassignPrivateIpAddresses"`)},
		{"AmazonEC2ContainerRegistryPullOnly", statement(`"ecr:GetAuthorizationToken","ecr:BatchGetImage","ecr:GetDownloadUrlForLayer","ecr:BatchImportUpstreamImage"`)},
		{"AmazonEC2ContainerRegistryReadOnly", statement(`"ecr:GetAuthorizationToken","ecr:BatchCheckLayerAvailability","ecr:BatchGetImage","ecr:GetDownloadUrlForLayer","ecr:Describe*","ecr:List*"`)},
		{"AmazonSSMManagedInstanceCore", statement(`"ssm:GetParameter","ssm:GetParameters","ssm:UpdateInstanceInformation","ssmmessages:*","ec2messages:*"`)},
		{"AmazonEKSClusterPolicy", statement(`"ec2:Describe*","ec2:CreateTags","elasticloadbalancing:*","autoscaling:Describe*"`)},
	}
	out := make([]*managed, 0, len(texts))
	for _, t := range texts {
		doc, err := policy.Parse(t.text, policy.Identity)
		if err != nil {
			panic("iamsim: built-in policy " + t.name + ": " + err.Error()) //nolint:forbidigo // a constant of this file is broken
		}
		out = append(out, &managed{
			name: t.name, path: "/", arn: "arn:aws:iam::aws:policy/" + t.name, id: newID("ANPA"), created: created, updated: created,
			versions: []policyVersion{{"v1", t.text, doc, created}}, defaultVersion: "v1", nextVersion: 2, aws: true,
		})
	}
	return out
}

func statement(actions string) string {
	return `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":[` + actions + `],"Resource":"*"}]}`
}
