package awsspec

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/policies-*.txt")

// texts are all documents for a cluster of a region, each under its name.
func texts(region string) string {
	partition := Partition(region)
	in := ControllerPolicyInput{
		Partition: partition, Region: region, Account: "123456789012", Cluster: "lab",
		NodeRoleARNs: []string{fmt.Sprintf("arn:%s:iam::123456789012:role/nodes", partition)}, QueueARN: fmt.Sprintf("arn:%s:sqs:%s:123456789012:lab", partition, region),
	}
	var out strings.Builder
	section := func(name, document string) {
		fmt.Fprintf(&out, "# %s (%d characters)\n%s\n\n", name, PolicySize(document), strings.ReplaceAll(document, `{"Sid"`, "\n"+`{"Sid"`))
	}
	for _, p := range ControllerPolicies(in) {
		section("policy "+p.Kind+" "+p.Name, p.Document)
	}
	section("trust by IRSA", IRSATrust("oidc.eks."+region+"."+DNSSuffix(partition)+"/id/LAB", in.Account, partition, "karpenter", "karpenter"))
	section("trust by Pod Identity", PodIdentityTrust(ClusterARN(partition, region, in.Account, in.Cluster), "karpenter", "karpenter"))
	section("trust of nodes", NodeTrust(partition))
	section("queue policy", QueuePolicy(in.QueueARN, partition))
	fmt.Fprintf(&out, "# managed policies of nodes\n%s\n", strings.Join(NodeManagedPolicyARNs(partition), "\n"))
	return out.String()
}

// TestPolicies_OfEachPartitionAreAsRecorded compares all policy texts of five partitions
// with what was read and found right. -update records them anew.
func TestPolicies_OfEachPartitionAreAsRecorded(t *testing.T) {
	for _, region := range []string{"us-west-2", "cn-north-1", "us-gov-west-1", "eusc-de-east-1", "us-iso-east-1"} {
		file := "testdata/policies-" + Partition(region) + ".txt"
		got := texts(region)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: the policies have changed; -update records them:\n%s", region, got)
		}
	}
}

// TestPolicies_NameNoOtherPartition reads every ARN and every principal.
func TestPolicies_NameNoOtherPartition(t *testing.T) {
	for region, ec2 := range map[string]string{"us-west-2": "ec2.amazonaws.com", "cn-northwest-1": "ec2.amazonaws.com.cn", "us-gov-east-1": "ec2.amazonaws.com", "eusc-de-east-1": "ec2.amazonaws.com", "us-isof-east-1": "ec2.amazonaws.com"} {
		got := texts(region)
		for _, arn := range regexp.MustCompile(`arn:[a-z-]+:`).FindAllString(got, -1) {
			if arn != "arn:"+Partition(region)+":" {
				t.Errorf("%s: an ARN begins with %s", region, arn)
			}
		}
		for _, want := range []string{
			`"iam:PassedToService":["` + ec2 + `"`, `"Principal":{"Service":"` + ec2 + `"}`,
			`"Principal":{"Service":"pods.eks.amazonaws.com"}`, `"Principal":{"Service":"events.amazonaws.com"}`, `:aud":["sts.amazonaws.com"]`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: nothing has %s", region, want)
			}
		}
	}
}

func TestPolicies_FitIAMInEveryPartitionWithTheLongestNames(t *testing.T) {
	cluster := strings.Repeat("c", maxClusterName)
	for _, region := range []string{"ap-southeast-2", "cn-northwest-1", "us-gov-west-1", "us-isob-east-1", "eusc-de-east-1", "eu-isoe-west-1"} {
		partition := Partition(region)
		in := ControllerPolicyInput{
			Partition: partition, Region: region, Account: "123456789012", Cluster: cluster,
			NodeRoleARNs: []string{fmt.Sprintf("arn:%s:iam::123456789012:role/%s", partition, strings.Repeat("n", maxRoleName))}, QueueARN: fmt.Sprintf("arn:%s:sqs:%s:123456789012:%s", partition, region, QueueName(cluster)),
		}
		for _, p := range ControllerPolicies(in) {
			if err := CheckPolicySize(p.Name, p.Document); err != nil {
				t.Error(err)
			}
		}
		// IAM accepts 2048 characters of a trust policy, unless the quota is raised.
		trust := PodIdentityTrust(ClusterARN(partition, region, in.Account, cluster), strings.Repeat("n", 63), strings.Repeat("s", 63))
		if size := PolicySize(trust); size > 2048 {
			t.Errorf("%s: the trust policy has %d characters", region, size)
		}
	}
}

func TestPodIdentityTrust_IsForOneServiceAccountOfOneCluster(t *testing.T) {
	s := parse(t, PodIdentityTrust("arn:aws:eks:us-west-2:123456789012:cluster/lab", "karpenter", "daemon")).Statement[0]
	conditions := s.Condition["StringEquals"]
	if s.Effect != "Allow" || strings.Join(s.Action, " ") != "sts:AssumeRole sts:TagSession" ||
		conditions["aws:RequestTag/eks-cluster-arn"][0] != "arn:aws:eks:us-west-2:123456789012:cluster/lab" ||
		conditions["aws:RequestTag/kubernetes-namespace"][0] != "karpenter" || conditions["aws:RequestTag/kubernetes-service-account"][0] != "daemon" {
		t.Errorf("trust %+v", s)
	}
}
