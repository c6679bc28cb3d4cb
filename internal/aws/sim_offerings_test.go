package aws_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws/awstest"
)

func TestSim_TheDaemonLearnsInWhichZonesATypeIsSold(t *testing.T) {
	cloud, admin := start(t)
	c := daemonOf(t, cloud, admin)
	got := try[map[string][]string](t)(c.InstanceTypeZones(t.Context(), []string{"m5.large", "x9.huge"}))
	want := map[string][]string{"m5.large": {"us-west-2a", "us-west-2b", "us-west-2c", "us-west-2d"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	many := make([]string, 450) // more than one filter holds
	for i := range many {
		many[i] = "x9.huge"
	}
	many[449] = "m5.large"
	if diff := cmp.Diff(want, try[map[string][]string](t)(c.InstanceTypeZones(t.Context(), many))); diff != "" {
		t.Errorf("many (-want +got):\n%s", diff)
	}
	if none := try[map[string][]string](t)(c.InstanceTypeZones(t.Context(), nil)); len(none) > 0 {
		t.Errorf("no type: %v", none)
	}
}

func TestSim_OfferingsWithoutPermissionAreAnErrorAndNoAnswer(t *testing.T) {
	cloud, _ := start(t)
	c := awstest.Clients(t, cloud, cloud.IAM.SeedUser("nobody"))
	got, err := c.InstanceTypeZones(t.Context(), []string{"m5.large"})
	if !errors.Is(err, aws.ErrUnauthorized) || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}
