package aws_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
)

func TestSim_ReservationsAreFoundByTheirSelectors(t *testing.T) {
	cloud, admin := start(t)
	c := daemonOf(t, cloud, admin)
	end := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	tags := map[string]string{"team": "a", "use": "nodes"}
	mine := cloud.EC2.SeedReservation(ec2sim.Reservation{InstanceType: "m5.large", Zone: "us-west-2a", Count: 3, Tags: tags, End: end})
	shared := cloud.EC2.SeedReservation(ec2sim.Reservation{InstanceType: "c5.large", Zone: "us-west-2b", Count: 1, Match: "open", OwnerID: "210987654321"})
	block := cloud.EC2.SeedReservation(ec2sim.Reservation{InstanceType: "p5.48xlarge", Zone: "us-west-2b", Count: 1, Type: "capacity-block"})
	over := cloud.EC2.SeedReservation(ec2sim.Reservation{InstanceType: "m5.large", Zone: "us-west-2a", Count: 3, Tags: tags})
	if err := cloud.EC2.EndReservation(over); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		selectors []aws.ReservationSelector
		want      []string
	}{
		"none":                {nil, nil},
		"tags":                {[]aws.ReservationSelector{{Tags: map[string]string{"team": "a", "use": "*"}}}, []string{mine}},
		"tags that few have":  {[]aws.ReservationSelector{{Tags: map[string]string{"team": "a", "use": "other"}}}, nil},
		"ids":                 {[]aws.ReservationSelector{{ID: block}, {ID: "cr-00000000000000000"}, {ID: over}}, []string{block}},
		"owner":               {[]aws.ReservationSelector{{Match: "open", OwnerID: "210987654321"}}, []string{shared}},
		"match":               {[]aws.ReservationSelector{{Match: "targeted"}}, []string{mine, block}},
		"one by several ways": {[]aws.ReservationSelector{{ID: mine}, {Tags: map[string]string{"team": "*"}}}, []string{mine}},
	} {
		found := map[string]bool{}
		for _, r := range try[[]aws.CapacityReservation](t)(c.CapacityReservations(t.Context(), test.selectors)) {
			found[r.ID] = true
		}
		want := map[string]bool{}
		for _, id := range test.want {
			want[id] = true
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	got := try[[]aws.CapacityReservation](t)(c.CapacityReservations(t.Context(), []aws.ReservationSelector{{ID: mine}}))
	want := []aws.CapacityReservation{{
		ID: mine, InstanceType: "m5.large", Zone: "us-west-2a", OwnerID: account, Match: "targeted", Type: "default", End: end, Available: 3,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSim_ALaunchGoesIntoItsReservationOrFails(t *testing.T) {
	cloud, admin := start(t)
	c := daemonOf(t, cloud, admin)
	ctx := context.Background()
	r := launchable(t, cloud, admin, c)
	id := cloud.EC2.SeedReservation(ec2sim.Reservation{InstanceType: "m5.large", Zone: "us-west-2a", Count: 1})
	open := cloud.EC2.SeedReservation(ec2sim.Reservation{InstanceType: "m5.large", Zone: "us-west-2a", Count: 1, Match: "open"})
	template := awsspec.LaunchTemplate{
		ImageID: r.Overrides[0].ImageID, InstanceProfile: "node", UserData: "hello", Metadata: awsspec.Metadata{HTTPTokens: "required", HopLimit: 1},
		Tags: owner.Tags(nil),
	}
	r.CapacityType, r.Overrides = aws.CapacityTypeOnDemand, r.Overrides[:1]
	r.LaunchTemplate, r.ClientToken = try[string](t)(c.EnsureLaunchTemplate(ctx, template)), awsspec.ClientToken("uid", 2)
	if got := try[aws.Launched](t)(c.Launch(ctx, r)); got.CapacityType != aws.CapacityTypeOnDemand || got.Reservation != "" {
		t.Errorf("on demand: %+v", got)
	}
	if left := try[[]aws.CapacityReservation](t)(c.CapacityReservations(ctx, []aws.ReservationSelector{{ID: open}})); left[0].Available != 1 {
		t.Errorf("a launch on demand went into an open reservation: %+v", left)
	}

	template.Reservation = id
	r.CapacityType, r.Reservation = aws.CapacityTypeReserved, id
	r.LaunchTemplate, r.ClientToken = try[string](t)(c.EnsureLaunchTemplate(ctx, template)), awsspec.ClientToken("uid", 3)
	got := try[aws.Launched](t)(c.Launch(ctx, r))
	if got.CapacityType != aws.CapacityTypeReserved || got.Reservation != id {
		t.Errorf("reserved: %+v", got)
	}
	if i := try[aws.Instance](t)(c.Instance(ctx, got.InstanceID)); i.CapacityType != aws.CapacityTypeReserved || i.Reservation != id {
		t.Errorf("reserved: %+v", i)
	}
	full := func(token int, code string) {
		r.ClientToken = awsspec.ClientToken("uid", token)
		_, err := c.Launch(ctx, r)
		var lack *aws.InsufficientCapacityError
		want := catalog.OfferingKey{InstanceType: "m5.large", Zone: "us-west-2a", CapacityType: aws.CapacityTypeReserved, Reservation: id}
		if !errors.As(err, &lack) || len(lack.Offerings) != 1 || lack.Offerings[0].OfferingKey != want || lack.Offerings[0].Code != code {
			t.Errorf("%s: got %v", code, err)
		}
	}
	full(4, "ReservationCapacityExceeded")
	if err := cloud.EC2.EndReservation(id); err != nil {
		t.Fatal(err)
	}
	full(5, "InvalidCapacityReservationState")
	if i := try[aws.Instance](t)(c.Instance(ctx, got.InstanceID)); i.CapacityType != aws.CapacityTypeOnDemand || i.Reservation != "" {
		t.Errorf("after the reservation's end: %+v", i)
	}
}
