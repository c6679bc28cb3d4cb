package region_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/aws-sdk-go-base/v2/endpoints"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/region"
)

func TestCheck_UnknownRegionNamesTheNearestOne(t *testing.T) {
	for name, want := range map[string]string{
		"us-esat-1":  `"us-east-1"`,
		"eu-west1":   `"eu-west-1"`,
		"us-west-2a": `"us-west-2"`,
	} {
		err := region.Check(name)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%q) = %v, want an error that suggests %s", name, err, want)
		}
	}
	for _, name := range []string{"ap-northeast-2", "cn-north-1", "us-gov-west-1", "us-isob-east-1", "eusc-de-east-1"} {
		if err := region.Check(name); err != nil {
			t.Errorf("a real region is refused: %v", err)
		}
	}
}

// Whatever is made of a region's name is of the partition that the SDK has the region in.
func TestRegions_AreInThePartitionThatTheSDKSays(t *testing.T) {
	seen := 0
	for _, partition := range endpoints.DefaultPartitions() {
		if got := awsspec.DNSSuffix(partition.ID()); got != partition.DNSSuffix() {
			t.Errorf("%s: endpoints end with %s, want %s", partition.ID(), got, partition.DNSSuffix())
		}
		for name := range partition.Regions() {
			seen++
			if got := awsspec.Partition(name); got != partition.ID() {
				t.Errorf("%s is in %s, want %s", name, got, partition.ID())
			}
			if err := install.CheckRegion(name); err != nil {
				t.Error(err)
			}
			if _, err := aws.New(t.Context(), aws.Config{Region: name}); err != nil {
				t.Error(err)
			}
			for _, d := range documents(name, partition) {
				for _, arn := range regexp.MustCompile(`arn:[a-z-]+:`).FindAllString(d.Text, -1) {
					if arn != "arn:"+partition.ID()+":" {
						t.Errorf("%s: %s has an ARN that begins with %s", name, d.Name, arn)
					}
				}
				for _, principal := range regexp.MustCompile(`"Service":"([^"]+)"`).FindAllStringSubmatch(d.Text, -1) {
					own := partition.ID() == "aws-cn" && principal[1] == "ec2.amazonaws.com.cn"
					if !own && !strings.HasSuffix(principal[1], ".amazonaws.com") {
						t.Errorf("%s: %s has the principal %s, which IAM does not know there", name, d.Name, principal[1])
					}
				}
			}
		}
	}
	if seen < 40 {
		t.Errorf("the SDK knows %d regions only", seen)
	}
}

func documents(region string, partition endpoints.Partition) []awsspec.Document {
	return awsspec.Documents(awsspec.Installation{
		Partition: awsspec.Partition(region), Region: region, Account: "123456789012", Cluster: "lab", QueueName: "lab",
		Issuer: "https://oidc.eks." + region + "." + partition.DNSSuffix() + "/id/LAB", Namespace: "karpenter", ServiceAccount: "karpenter",
	})
}
