package claim

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// lateCloud is EC2 whose listings show nothing yet.
type lateCloud struct {
	Cloud
	state string // of every instance; empty: EC2 does not know the instance
}

func (c lateCloud) Instances(context.Context, map[string]string) ([]aws.Instance, error) {
	return nil, nil
}

func (c lateCloud) Instance(_ context.Context, id string) (aws.Instance, error) {
	if c.state == "" {
		return aws.Instance{}, aws.ErrNotFound
	}
	return aws.Instance{ID: id, State: c.state}, nil
}

func TestInstancesOf_RecordedInstanceIsNotForgottenWhileListingsAreLate(t *testing.T) {
	launched := time.Unix(1000, 0)
	claim := &v1.NodeClaim{}
	claim.Status.ProviderID = awsspec.ProviderID("us-west-2a", "i-1")
	claim.Conditions().SetTrue(v1.ConditionLaunched, launched)
	for name, tc := range map[string]struct {
		state string
		age   time.Duration
		want  []string
	}{
		"not shown yet":     {"", time.Second, []string{"i-1"}},
		"forgotten by EC2":  {"", 2 * time.Hour, nil},
		"shown by its id":   {"running", time.Second, []string{"i-1"}},
		"still on its way":  {"shutting-down", time.Minute, []string{"i-1"}},
		"ended a while ago": {"terminated", time.Minute, nil},
	} {
		c := &Controller{Cloud: lateCloud{state: tc.state}, Now: func() time.Time { return launched.Add(tc.age) }}
		got, err := c.instancesOf(context.Background(), claim)
		if err != nil || !slices.Equal(slices.Sorted(maps.Keys(got)), tc.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, tc.want)
		}
	}
}
