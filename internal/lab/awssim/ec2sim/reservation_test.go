package ec2sim

import (
	"context"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func (c *cloud) available(id string) int {
	c.t.Helper()
	out := do[page[capacityReservationItem]](c, "DescribeCapacityReservations", "CapacityReservationId.1", id)
	return out.Items[0].Available
}

// in are the parameters of a template that goes into the reservation only.
func in(id string) []string {
	const spec = "LaunchTemplateData.CapacityReservationSpecification."
	return []string{spec + "CapacityReservationPreference", onlyReserved, spec + "CapacityReservationTarget.CapacityReservationId", id}
}

func TestReservation_HoldsSoManyInstancesAndNoMore(t *testing.T) {
	c := newCloud(t)
	id := c.SeedReservation(Reservation{InstanceType: "m5.large", Zone: "us-west-2a", Count: 2})
	c.SetCapacity(onDemand, "m5.large", "us-west-2a", 0) // it has capacity of its own
	c.template("lt-a", in(id)...)
	for want := 1; want >= 0; want-- {
		if answer := c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"}); len(answer.Instances) != 1 || c.available(id) != want {
			t.Fatalf("%d left of 2, want %d: %+v", c.available(id), want, answer)
		}
	}
	answer := c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"})
	if codes := errorCodes(answer); len(answer.Instances) != 0 || !slices.Equal(codes, []string{"ReservationCapacityExceeded"}) {
		t.Errorf("a third: %+v", answer)
	}
	item := do[page[reservationItem]](c, "DescribeInstances").Items[0].Instances[0]
	if item.ReservationID != id || item.Reservation.Preference != onlyReserved || item.Reservation.Target.ID != id {
		t.Errorf("instance %+v", item)
	}
	if c.asks("ec2:RunInstances", ":capacity-reservation/"+id) == nil {
		t.Error("IAM was not asked about the reservation")
	}
	if err := c.Terminate(item.ID); err != nil || c.available(id) != 1 {
		t.Errorf("%d left after one went, %v", c.available(id), err)
	}
	if err := c.UseReservation(id, 1, 0); err != nil || c.available(id) != 0 {
		t.Errorf("%d left beside another's, %v", c.available(id), err)
	}
	if err := c.UseReservation(id, 1, 1); err != nil || c.available(id) != 1 {
		t.Errorf("%d left beside another's that is not seen yet, %v", c.available(id), err)
	}
	if answer := c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"}); len(answer.Instances) != 0 {
		t.Errorf("a place was given twice: %+v", answer)
	}
}

func TestReservation_RefusesWhatItIsNotFor(t *testing.T) {
	c := newCloud(t)
	id := c.SeedReservation(Reservation{InstanceType: "m5.large", Zone: "us-west-2a", Count: 2})
	c.template("lt-a", in(id)...)
	for _, test := range []struct{ market, pool, code string }{
		{onDemand, "m5.large@b", "InvalidParameterCombination"},
		{onDemand, "m5.xlarge@a", "InvalidParameterCombination"},
		{spot, "m5.large@a", "InvalidParameterCombination"},
	} {
		if codes := errorCodes(c.fleet(test.market, "lowest-price", 1, []string{test.pool})); !slices.Equal(codes, []string{test.code}) {
			t.Errorf("%s of %s: %v, want %s", test.market, test.pool, codes, test.code)
		}
	}
	if err := c.EndReservation(id); err != nil {
		t.Fatal(err)
	}
	if codes := errorCodes(c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"})); !slices.Equal(codes, []string{"InvalidCapacityReservationState"}) {
		t.Errorf("into one that has ended: %v", codes)
	}
	if err := c.EndReservation(id); err == nil {
		t.Error("it ended twice")
	}
}

func TestReservation_AnOpenOneTakesWhatDoesNotRefuseIt(t *testing.T) {
	c := newCloud(t)
	id := c.SeedReservation(Reservation{InstanceType: "m5.large", Zone: "us-west-2a", Count: 1, Match: "open"})
	c.template("lt-none", "LaunchTemplateData.CapacityReservationSpecification.CapacityReservationPreference", "none")
	c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"}, "LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName", "lt-none")
	if n := c.available(id); n != 1 {
		t.Errorf("a launch that refuses reservations is in one: %d left", n)
	}
	c.template("lt-a")
	for range 2 { // the second is on demand
		if answer := c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"}); len(answer.Instances) != 1 {
			t.Errorf("%+v", answer)
		}
	}
	if n := c.available(id); n != 0 {
		t.Errorf("%d left, want none", n)
	}
	if err := c.EndReservation(id); err != nil {
		t.Fatal(err)
	}
	for _, r := range do[page[reservationItem]](c, "DescribeInstances").Items {
		if i := r.Instances[0]; i.ReservationID != "" || i.State.Name != StateRunning {
			t.Errorf("after the end: %+v", i)
		}
	}
}

func TestSDK_ReadsReservations(t *testing.T) {
	c := newCloud(t)
	c.SeedReservation(Reservation{InstanceType: "m5.large", Zone: "us-west-2a", Count: 3, Tags: map[string]string{"team": "a"}})
	c.SeedReservation(Reservation{InstanceType: "c5.large", Zone: "us-west-2b", Count: 1, Match: "open", OwnerID: "210987654321"})
	filter := func(name string, values ...string) types.Filter {
		return types.Filter{Name: aws.String(name), Values: values}
	}
	out, err := c.client().DescribeCapacityReservations(context.Background(), &ec2.DescribeCapacityReservationsInput{
		MaxResults: aws.Int32(1000), Filters: []types.Filter{filter("state", "active"), filter("tag:team", "a"), filter("instance-match-criteria", "targeted")},
	})
	if err != nil || len(out.CapacityReservations) != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	r := out.CapacityReservations[0]
	if *r.InstanceType != "m5.large" || *r.AvailabilityZone != "us-west-2a" || *r.AvailableInstanceCount != 3 || *r.OwnerId != "123456789012" ||
		r.ReservationType != types.CapacityReservationTypeDefault || r.InstanceMatchCriteria != types.InstanceMatchCriteriaTargeted || r.EndDate != nil {
		t.Errorf("%+v", r)
	}
	c.refused("InvalidCapacityReservationId.NotFound", "DescribeCapacityReservations", "CapacityReservationId.1", "cr-0")
}
