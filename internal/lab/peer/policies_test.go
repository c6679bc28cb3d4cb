//go:build lab && peer

package peer

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
)

// statement allows actions on resources under conditions.
func statement(actions, resources []string, conditions map[string]map[string]any) map[string]any {
	s := map[string]any{"Effect": "Allow", "Action": actions, "Resource": resources}
	if conditions != nil {
		s["Condition"] = conditions
	}
	return s
}

type conditions = map[string]map[string]any

// controllerPolicies are the policies that Karpenter's documentation has for the
// controller's role (v1.14, getting started), by the name that each has there.
func controllerPolicies(t *testing.T, l *lab.Lab, nodeRoleARN, queueARN string) map[string]string {
	t.Helper()
	cluster := "kubernetes.io/cluster/" + l.ClusterName
	document := func(statements ...map[string]any) string {
		raw, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": statements})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	clusterARN := fmt.Sprintf("arn:aws:eks:%s:%s:cluster/%s", l.Region, lab.Account, l.ClusterName)
	profiles := []string{"arn:aws:iam::" + lab.Account + ":instance-profile/*"}
	owned := func(of string, others ...string) map[string]any { // of: RequestTag or ResourceTag
		out := map[string]any{"aws:" + of + "/" + cluster: "owned"}
		for _, tag := range others {
			value := l.ClusterName
			if tag == "topology.kubernetes.io/region" {
				value = l.Region
			}
			out["aws:"+of+"/"+tag] = value
		}
		return out
	}
	join := func(a, b map[string]any) map[string]any {
		for k, v := range b {
			a[k] = v
		}
		return a
	}
	return map[string]string{
		"NodeLifecycle": document(lifecycleStatements(l, owned)...),
		"IAMIntegration": document(
			statement([]string{"iam:PassRole"}, []string{nodeRoleARN},
				conditions{"StringEquals": {"iam:PassedToService": []string{"ec2.amazonaws.com", "ec2.amazonaws.com.cn"}}}),
			statement([]string{"iam:CreateInstanceProfile"}, profiles, conditions{
				"StringEquals": owned("RequestTag", "eks:eks-cluster-name", "topology.kubernetes.io/region"),
				"StringLike":   {"aws:RequestTag/karpenter.k8s.aws/ec2nodeclass": "*"},
			}),
			statement([]string{"iam:TagInstanceProfile"}, profiles, conditions{
				"StringEquals": join(owned("ResourceTag", "topology.kubernetes.io/region"), owned("RequestTag", "eks:eks-cluster-name", "topology.kubernetes.io/region")),
				"StringLike":   {"aws:ResourceTag/karpenter.k8s.aws/ec2nodeclass": "*", "aws:RequestTag/karpenter.k8s.aws/ec2nodeclass": "*"},
			}),
			statement([]string{"iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"}, profiles, conditions{
				"StringEquals": owned("ResourceTag", "topology.kubernetes.io/region"),
				"StringLike":   {"aws:ResourceTag/karpenter.k8s.aws/ec2nodeclass": "*"},
			})),
		"EKSIntegration": document(statement([]string{"eks:DescribeCluster"}, []string{clusterARN}, nil)),
		"Interruption":   document(statement([]string{"sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"}, []string{queueARN}, nil)),
		"ZonalShift": document(statement([]string{"arc-zonal-shift:GetManagedResource"}, []string{"*"},
			conditions{"StringEquals": {"arc-zonal-shift:ResourceIdentifier": clusterARN}})),
		"ResourceDiscovery": document(
			statement([]string{
				"ec2:DescribeCapacityReservations", "ec2:DescribeImages", "ec2:DescribeInstances", "ec2:DescribeInstanceStatus",
				"ec2:DescribeInstanceTypeOfferings", "ec2:DescribeInstanceTypes", "ec2:DescribeLaunchTemplates", "ec2:DescribePlacementGroups",
				"ec2:DescribeSecurityGroups", "ec2:DescribeSpotPriceHistory", "ec2:DescribeSubnets",
			}, []string{"*"}, conditions{"StringEquals": {"aws:RequestedRegion": l.Region}}),
			statement([]string{"ssm:GetParameter"}, []string{"arn:aws:ssm:" + l.Region + "::parameter/aws/service/*"}, nil),
			statement([]string{"pricing:GetProducts"}, []string{"*"}, nil),
			statement([]string{"iam:ListInstanceProfiles"}, []string{"*"}, nil),
			statement([]string{"iam:GetInstanceProfile"}, profiles, nil)),
	}
}

// lifecycleStatements let the controller launch, tag and end its own nodes.
func lifecycleStatements(l *lab.Lab, owned func(string, ...string) map[string]any) []map[string]any {
	arns := func(account string, kinds ...string) []string {
		out := make([]string, len(kinds))
		for i, kind := range kinds {
			out[i] = fmt.Sprintf("arn:aws:ec2:%s:%s:%s/*", l.Region, account, kind)
		}
		return out
	}
	created := arns("*", "fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")
	pool := func(of string) map[string]any { return map[string]any{"aws:" + of + "/karpenter.sh/nodepool": "*"} }
	tagging := owned("RequestTag", "eks:eks-cluster-name")
	tagging["ec2:CreateAction"] = []string{"RunInstances", "CreateFleet", "CreateLaunchTemplate"}
	return []map[string]any{
		statement([]string{"ec2:RunInstances", "ec2:CreateFleet"},
			append(arns("", "image", "snapshot"), arns("*", "security-group", "subnet", "capacity-reservation", "placement-group")...), nil),
		statement([]string{"ec2:RunInstances", "ec2:CreateFleet"}, arns("*", "launch-template"),
			conditions{"StringEquals": owned("ResourceTag"), "StringLike": pool("ResourceTag")}),
		statement([]string{"ec2:RunInstances", "ec2:CreateFleet", "ec2:CreateLaunchTemplate"}, created,
			conditions{"StringEquals": owned("RequestTag", "eks:eks-cluster-name"), "StringLike": pool("RequestTag")}),
		statement([]string{"ec2:CreateTags"}, created, conditions{"StringEquals": tagging, "StringLike": pool("RequestTag")}),
		statement([]string{"ec2:CreateTags"}, arns("*", "instance"), conditions{
			"StringEquals": owned("ResourceTag"), "StringLike": pool("ResourceTag"),
			"StringEqualsIfExists":      {"aws:RequestTag/eks:eks-cluster-name": l.ClusterName},
			"ForAllValues:StringEquals": {"aws:TagKeys": []string{"eks:eks-cluster-name", "karpenter.sh/nodeclaim", "Name"}},
		}),
		statement([]string{"ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"}, arns("*", "instance", "launch-template"),
			conditions{"StringEquals": owned("ResourceTag"), "StringLike": pool("ResourceTag")}),
	}
}
