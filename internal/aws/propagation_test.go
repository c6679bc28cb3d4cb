package aws_test

import (
	"context"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
)

func TestSim_WaitsForARoleThatIsMadeAMomentLater(t *testing.T) {
	cloud, c := start(t)
	ctx := context.Background()
	cloud.CreateCluster(ekssim.Cluster{Name: "lab", Version: "1.36"})
	made := make(chan error, 1)
	time.AfterFunc(40*time.Millisecond, func() {
		_, err := c.CreateRole(ctx, aws.Role{Name: "node", TrustPolicy: awsspec.NodeTrust("aws")})
		made <- err
	})
	entry, err := c.CreateAccessEntry(ctx, aws.AccessEntry{Cluster: "lab", PrincipalARN: "arn:aws:iam::123456789012:role/node", Type: "EC2_LINUX"})
	if err != nil || entry.ARN == "" {
		t.Errorf("access entry: %+v, %v", entry, err)
	}
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	profile, err := c.CreateInstanceProfile(ctx, aws.InstanceProfile{Name: "p", Role: "node"})
	if err != nil || profile.Role != "node" {
		t.Errorf("instance profile: %+v, %v", profile, err)
	}
}
