package awsspec

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

func input(cluster string) ControllerPolicyInput {
	return ControllerPolicyInput{
		Partition: "aws", Region: "us-west-2", Account: "123456789012", Cluster: cluster,
		NodeRoleARNs: []string{"arn:aws:iam::123456789012:role/" + cluster + "-node"},
		QueueARN:     "arn:aws:sqs:us-west-2:123456789012:" + cluster,
	}
}

// parsed is a policy document as IAM reads it.
type parsed struct {
	Version   string
	Statement []struct {
		Sid, Effect string
		Principal   any
		Action      []string
		Resource    []string
		Condition   map[string]map[string][]string
	}
}

func parse(t *testing.T, text string) parsed {
	t.Helper()
	var p parsed
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if p.Version != "2012-10-17" || len(p.Statement) == 0 {
		t.Fatalf("version %q, %d statements", p.Version, len(p.Statement))
	}
	return p
}

func TestControllerPolicies_FitIAMWithTheLongestNames(t *testing.T) {
	in := input(strings.Repeat("c", maxClusterName))
	in.Partition, in.Region = "aws-us-gov", "ap-southeast-2"
	in.NodeRoleARNs = []string{"arn:aws-us-gov:iam::123456789012:role/" + strings.Repeat("p", 512) + "/" + strings.Repeat("n", maxRoleName)}
	for _, p := range ControllerPolicies(in) {
		if err := CheckPolicySize(p.Name, p.Document); err != nil {
			t.Error(err)
		}
		if len(p.Name) > maxPolicyName {
			t.Errorf("name %q has %d characters", p.Name, len(p.Name))
		}
		t.Logf("%s...: %d of %d characters", p.Name[:20], PolicySize(p.Document), MaxPolicySize)
	}
}

func TestControllerPolicies_AllowWhatTheDaemonCallsAndNothingElse(t *testing.T) {
	want := []string{
		"ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:CreateTags", "ec2:DeleteLaunchTemplate",
		"ec2:DescribeCapacityReservations", "ec2:DescribeImages",
		"ec2:DescribeInstanceTypeOfferings", "ec2:DescribeInstanceTypes", "ec2:DescribeInstances", "ec2:DescribeLaunchTemplates", "ec2:DescribeSecurityGroups", "ec2:DescribeSpotPriceHistory",
		"ec2:DescribeSubnets", "ec2:RunInstances", "ec2:TerminateInstances", "eks:DescribeCluster",
		"iam:AddRoleToInstanceProfile", "iam:CreateInstanceProfile", "iam:DeleteInstanceProfile", "iam:GetInstanceProfile", "iam:ListInstanceProfiles",
		"iam:PassRole", "iam:RemoveRoleFromInstanceProfile", "iam:TagInstanceProfile", "pricing:GetProducts", "sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage", "ssm:GetParameter",
	}
	actions := map[string]bool{}
	for _, p := range ControllerPolicies(input("lab")) {
		for _, s := range parse(t, p.Document).Statement {
			if s.Effect != "Allow" || len(s.Resource) == 0 {
				t.Errorf("statement %s: effect %s, resources %v", s.Sid, s.Effect, s.Resource)
			}
			for _, action := range s.Action {
				actions[action] = true
				lists := strings.HasPrefix(action, "ec2:Describe") || action == "iam:ListInstanceProfiles" || action == "pricing:GetProducts"
				if slices.Contains(s.Resource, "*") != lists {
					t.Errorf("statement %s: %s on %v; only descriptions and lists have no resource", s.Sid, action, s.Resource)
				}
			}
		}
	}
	if got := slices.Sorted(maps.Keys(actions)); !slices.Equal(got, want) {
		t.Errorf("actions\n%v\nwant\n%v", got, want)
	}
}

func TestControllerPolicies_ChangeOnlyWhatBelongsToTheCluster(t *testing.T) {
	for _, s := range append(parse(t, ControllerPolicies(input("lab"))[0].Document).Statement, parse(t, ControllerPolicies(input("lab"))[1].Document).Statement...) {
		switch s.Sid {
		case "LaunchInto": // images, snapshots, subnets and security groups are not ours
		case "ListProfiles":
		case "GiveNodeRole":
			if !slices.Equal(s.Resource, input("lab").NodeRoleARNs) || !slices.Equal(s.Condition["StringEquals"]["iam:PassedToService"], []string{"ec2.amazonaws.com"}) {
				t.Errorf("role is passed to %v: %v", s.Condition, s.Resource)
			}
		default:
			owned := s.Condition["StringEquals"]["aws:RequestTag/kubernetes.io/cluster/lab"]
			if owned == nil {
				owned = s.Condition["StringEquals"]["aws:ResourceTag/kubernetes.io/cluster/lab"]
			}
			if !slices.Equal(owned, []string{"owned"}) {
				t.Errorf("statement %s has no condition on the cluster's tag: %v", s.Sid, s.Condition)
			}
		}
	}
}

func TestControllerPolicies_TagWhatExistsOnlyAsAnInstanceOfTheClusterByThreeKeys(t *testing.T) {
	found := 0
	for _, s := range parse(t, ControllerPolicies(input("lab"))[0].Document).Statement {
		if !slices.Contains(s.Action, "ec2:CreateTags") || s.Condition["StringEquals"]["ec2:CreateAction"] != nil {
			continue
		}
		found++
		if keys := s.Condition["ForAllValues:StringEquals"]["aws:TagKeys"]; !slices.Equal(keys, []string{TagName, TagNodeClaim, TagNodeClaimUID}) {
			t.Errorf("statement %s allows the keys %v", s.Sid, keys)
		}
		if !slices.Equal(s.Resource, []string{"arn:aws:ec2:us-west-2:*:instance/*"}) || !slices.Equal(s.Condition["StringLike"]["aws:ResourceTag/"+TagNodePool], []string{"*"}) {
			t.Errorf("statement %s: %v under %v", s.Sid, s.Resource, s.Condition)
		}
	}
	if found != 1 {
		t.Errorf("%d statements allow to tag what exists", found)
	}
}

func TestControllerPolicies_ReadPublicParametersAndNoOthers(t *testing.T) {
	found := false
	for _, p := range ControllerPolicies(input("lab")) {
		for _, s := range parse(t, p.Document).Statement {
			reads := slices.Contains(s.Action, "ssm:GetParameter")
			found = found || reads
			if reads && !slices.Equal(s.Resource, []string{"arn:aws:ssm:us-west-2::parameter/aws/service/*"}) {
				t.Errorf("parameters that may be read: %v", s.Resource)
			}
		}
	}
	if !found {
		t.Error("no parameter may be read")
	}
}

// EC2 is read in the cluster's region only. The Price List is in a few regions, and a
// condition on the cluster's would refuse all others.
func TestControllerPolicies_ReadEC2InTheRegionAndPricesInAny(t *testing.T) {
	conditions := map[string]map[string]map[string][]string{}
	for _, p := range ControllerPolicies(input("lab")) {
		for _, s := range parse(t, p.Document).Statement {
			for _, action := range s.Action {
				conditions[action] = s.Condition
			}
		}
	}
	for _, action := range []string{"ec2:DescribeInstanceTypes", "ec2:DescribeInstanceTypeOfferings", "ec2:DescribeSpotPriceHistory"} {
		if got := conditions[action]["StringEquals"]["aws:RequestedRegion"]; !slices.Equal(got, []string{"us-west-2"}) {
			t.Errorf("%s in regions %v", action, got)
		}
	}
	if got, granted := conditions["pricing:GetProducts"]; !granted || len(got) > 0 {
		t.Errorf("pricing:GetProducts granted %t on the condition %v", granted, got)
	}
}

func TestControllerPolicies_WithoutQueueHaveNoQueueStatement(t *testing.T) {
	in := input("lab")
	in.QueueARN = ""
	for _, p := range ControllerPolicies(in) {
		if strings.Contains(p.Document, "sqs:") {
			t.Errorf("policy %s: %s", p.Name, p.Document)
		}
	}
}

func TestControllerPolicies_NamesDifferByRegionAndCluster(t *testing.T) {
	seen := map[string]bool{}
	for _, cluster := range []string{"a", "b", strings.Repeat("c", 99) + "d", strings.Repeat("c", 99) + "e"} {
		for _, region := range []string{"us-west-2", "us-east-1"} {
			in := input(cluster)
			in.Region = region
			for _, p := range ControllerPolicies(in) {
				if seen[p.Name] {
					t.Errorf("policy name %s is given twice", p.Name)
				}
				seen[p.Name] = true
			}
		}
	}
}

func TestCheckPolicySize_CountsWithoutWhiteSpaceAndNamesTheLimit(t *testing.T) {
	if err := CheckPolicySize("p", strings.Repeat("x ", MaxPolicySize)); err != nil {
		t.Error(err)
	}
	err := CheckPolicySize("p", strings.Repeat("x", MaxPolicySize+1))
	if err == nil || !strings.Contains(err.Error(), `policy "p": has 6145 characters, and IAM accepts 6144`) {
		t.Errorf("error %v", err)
	}
}

func TestIRSATrust_IsForOneServiceAccount(t *testing.T) {
	text := IRSATrust("oidc.eks.us-west-2.amazonaws.com/id/ABC", "123456789012", "aws-cn", "karpenter", "daemon")
	s := parse(t, text).Statement[0]
	conditions := s.Condition["StringEquals"]
	if conditions["oidc.eks.us-west-2.amazonaws.com/id/ABC:sub"][0] != "system:serviceaccount:karpenter:daemon" ||
		conditions["oidc.eks.us-west-2.amazonaws.com/id/ABC:aud"][0] != "sts.amazonaws.com" ||
		s.Action[0] != "sts:AssumeRoleWithWebIdentity" ||
		!strings.Contains(text, `"Federated":"arn:aws-cn:iam::123456789012:oidc-provider/oidc.eks.us-west-2.amazonaws.com/id/ABC"`) {
		t.Errorf("trust %s", text)
	}
}

func TestNodeTrust_NamesEC2InThePartition(t *testing.T) {
	for partition, want := range map[string]string{"aws": `"Service":"ec2.amazonaws.com"`, "aws-cn": `"Service":"ec2.amazonaws.com.cn"`, "aws-iso": `"Service":"ec2.amazonaws.com"`, "aws-eusc": `"Service":"ec2.amazonaws.com"`} {
		if text := NodeTrust(partition); !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %s", partition, text, want)
		}
	}
	arns := NodeManagedPolicyARNs("aws-cn")
	if !slices.IsSorted(arns) || !strings.HasPrefix(arns[0], "arn:aws-cn:iam::aws:policy/") {
		t.Errorf("managed policies %v", arns)
	}
}

func TestQueuePolicy_TakesEventRulesOfTheAccountOverTLSOnly(t *testing.T) {
	statements := parse(t, QueuePolicy("arn:aws:sqs:us-west-2:123456789012:lab", "aws")).Statement
	if got := statements[0].Condition["ArnLike"]["aws:SourceArn"]; !slices.Equal(got, []string{"arn:aws:events:us-west-2:123456789012:rule/*"}) {
		t.Errorf("sender %v", got)
	}
	if s := statements[1]; s.Effect != "Deny" || s.Principal != "*" || s.Condition["Bool"]["aws:SecureTransport"][0] != "false" {
		t.Errorf("second statement %+v", s)
	}
}

func TestEventRules_AreFiveWithinEventBridgesLimits(t *testing.T) {
	names := map[string]bool{}
	for _, cluster := range []string{"lab", strings.Repeat("c", 100), strings.Repeat("c", 99) + "d"} {
		rules := EventRules(cluster)
		if len(rules) != 5 {
			t.Fatalf("%d rules", len(rules))
		}
		for _, r := range rules {
			var pattern map[string][]string
			if err := json.Unmarshal([]byte(r.Pattern), &pattern); err != nil || len(pattern["source"]) != 1 || len(pattern["detail-type"]) != 1 {
				t.Errorf("rule %s: pattern %s", r.Name, r.Pattern)
			}
			if len(r.Name) > maxRuleName || names[r.Name] {
				t.Errorf("rule name %q is too long or given twice", r.Name)
			}
			names[r.Name] = true
		}
	}
	if got := EventRules("lab")[0]; got.Name != "Karpenter-lab-SpotInterruption" ||
		got.Pattern != `{"detail-type":["EC2 Spot Instance Interruption Warning"],"source":["aws.ec2"]}` {
		t.Errorf("first rule %+v", got)
	}
}
