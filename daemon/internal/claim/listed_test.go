package claim

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// listingCloud counts the listings.
type listingCloud struct {
	*cloud
	listings int
}

func (c *listingCloud) Instances(ctx context.Context, tags map[string]string) ([]aws.Instance, error) {
	c.listings++
	return c.cloud.Instances(ctx, tags)
}

// Whoever else needs the instances of the cluster gets them of the sweep: EC2 is asked once.
func TestCollector_WhatASweepHasListedAnswersWhoAsksTheSame(t *testing.T) {
	s, collector, _ := collected(t)
	now := time.Unix(100_000, 0)
	ec2 := &listingCloud{cloud: &cloud{instances: []aws.Instance{{ID: "i-other", State: "running"}}}}
	s.controller.Cloud, s.controller.Now = ec2, func() time.Time { return now }
	ask := func(tags map[string]string, want int) {
		t.Helper()
		found, err := collector.Instances(t.Context(), tags)
		if (err != nil) != (ec2.err != nil) || err == nil && len(found) != 1 || ec2.listings != want {
			t.Errorf("found %v, error %v, %d calls, want %d", found, err, ec2.listings, want)
		}
		if len(found) > 0 {
			found[0].ID = "" // the answer is the caller's own
		}
	}
	ask(collector.fleetTags(), 1) // nothing is listed yet
	if err := collector.Sweep(t.Context(), now); err != nil || ec2.listings != 2 {
		t.Fatalf("error %v, %d calls", err, ec2.listings)
	}
	now = now.Add(listedFor - 1)
	ask(collector.fleetTags(), 2)
	ask(map[string]string{awsspec.TagNodePool: "p"}, 3)
	now = now.Add(1)
	ask(collector.fleetTags(), 4)
	if ec2.instances[0].ID != "i-other" {
		t.Error("a caller changed the answer of another")
	}
	ec2.err = errors.New("away")
	if err := collector.Sweep(t.Context(), now); err == nil {
		t.Error("no error of an EC2 that is away")
	}
	ask(collector.fleetTags(), 6) // who asks learns it from EC2
}

// A sweep comes every half minute, and a search for drift needs a listing a minute: in an hour
// EC2 is asked 120 times for all of it, and not 180.
func TestCollector_AnHourTakesNoMoreListingsThanItHasSweeps(t *testing.T) {
	s, collector, _ := collected(t)
	now := time.Unix(100_000, 0)
	ec2 := &listingCloud{cloud: &cloud{}}
	s.controller.Cloud, s.controller.Now = ec2, func() time.Time { return now }
	for second := range 3600 {
		if second%30 == 0 {
			_ = collector.Sweep(t.Context(), now)
		}
		if second%60 == 7 {
			if _, err := collector.Instances(t.Context(), collector.fleetTags()); err != nil {
				t.Error(err)
			}
		}
		now = now.Add(time.Second)
	}
	if ec2.listings != 120 {
		t.Errorf("%d calls in an hour, want 120", ec2.listings)
	}
}
