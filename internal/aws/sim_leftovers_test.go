package aws_test

import (
	"context"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// TestSim_LeftoversAreWhatWasMadeForTheNodesOfTheCluster launches an instance, and takes
// everything away again.
func TestSim_LeftoversAreWhatWasMadeForTheNodesOfTheCluster(t *testing.T) {
	cloud, c := start(t)
	ctx := context.Background()
	left := func(cluster string) aws.Leftovers { return try[aws.Leftovers](t)(c.Leftovers(ctx, cluster)) }
	if !left("lab").None() {
		t.Fatalf("nothing was made, and yet %s", left("lab"))
	}
	launched := launchOne(t, cloud, c)
	profile := try[aws.InstanceProfile](t)(c.CreateInstanceProfile(ctx, aws.InstanceProfile{Name: "made", Path: awsspec.ProfilePath(c.Region(), "lab"), Role: "node"}))
	got := left("lab")
	if len(got.Instances) != 1 || got.Instances[0] != launched.InstanceID || len(got.NetworkInterfaces) == 0 || len(got.LaunchTemplates) != 1 || len(got.InstanceProfiles) != 1 {
		t.Errorf("left: %s", got)
	}
	for _, part := range []string{"instances " + launched.InstanceID, "network interfaces eni-", "launch templates ", "instance profiles made"} {
		if !strings.Contains(got.String(), part) {
			t.Errorf("%q is not named in %s", part, got)
		}
	}
	if other := left("other"); !other.None() {
		t.Errorf("of another cluster: %s", other)
	}
	if err := c.Terminate(ctx, launched.InstanceID); err != nil {
		t.Fatal(err)
	}
	for _, name := range got.LaunchTemplates {
		if err := c.DeleteLaunchTemplate(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.DeleteInstanceProfile(ctx, profile.Name, profile.ID); err != nil {
		t.Fatal(err)
	}
	if after := left("lab"); len(after.LaunchTemplates)+len(after.InstanceProfiles) > 0 {
		t.Errorf("after everything was deleted: %s", after)
	}
}
