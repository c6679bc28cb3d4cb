package aws_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// TestSim_WhatInstancesHaveIsAskedOfThem deletes an instance profile under an instance, and
// makes another of the same name.
func TestSim_WhatInstancesHaveIsAskedOfThem(t *testing.T) {
	cloud, c := start(t)
	ctx := context.Background()
	launched := launchOne(t, cloud, c)
	users := func() aws.RoleUsers { return try[aws.RoleUsers](t)(c.RoleUsers(ctx, "lab", "node")) }
	profile := try[aws.InstanceProfile](t)(c.GetInstanceProfile(ctx, "node"))
	if with := try[[]aws.Instance](t)(c.InstancesWithProfile(ctx, profile.ARN)); len(with) != 1 || with[0].ProfileARN != profile.ARN || with[0].ProfileID != profile.ID {
		t.Errorf("instances with the profile: %+v", with)
	}
	if got, want := users().String(), `instance profile "node" (1 instance: `+launched.InstanceID+`)`; got != want || users().Count() != 1 {
		t.Errorf("the role is used by %s, want %s", got, want)
	}
	if other := try[aws.RoleUsers](t)(c.RoleUsers(ctx, "other", "absent")); !other.None() {
		t.Errorf("a role that does not exist is used by %s", other)
	}
	if err := c.DeleteInstanceProfile(ctx, profile.Name, profile.ID); err != nil {
		t.Fatal(err)
	}
	if got := users(); len(got.Profiles) != 0 || got.Count() != 1 || !strings.Contains(got.String(), launched.InstanceID+", whose instance profile no longer exists") {
		t.Errorf("the role is used by %s", got)
	}
	try[aws.InstanceProfile](t)(c.CreateInstanceProfile(ctx, aws.InstanceProfile{Name: "node", Role: "node"}))
	if got := users(); len(got.Lost) != 1 {
		t.Errorf("an instance profile of the same name is taken for the former one: %s", got)
	}
	if err := c.Terminate(ctx, launched.InstanceID); err != nil {
		t.Fatal(err)
	}
}

func TestSim_RolesAreFoundByTheirTrustPolicy(t *testing.T) {
	_, c := start(t)
	ctx := context.Background()
	trust := awsspec.IRSATrust("oidc.example.com/id/A", account, "aws", "karpenter", "karpenter")
	for name, policy := range map[string]string{"one": trust, "other": awsspec.IRSATrust("oidc.example.com/id/A", account, "aws", "karpenter", "other"), "nodes": awsspec.NodeTrust("aws")} {
		try[aws.Role](t)(c.CreateRole(ctx, aws.Role{Name: name, TrustPolicy: policy}))
	}
	if found := try[[]aws.Role](t)(c.RolesTrusting(ctx, trust)); len(found) != 1 || found[0].Name != "one" || found[0].ID == "" || found[0].Created.IsZero() {
		t.Errorf("found %+v", found)
	}
}

// A wait looks every few seconds, and the limit of requests to IAM holds for the account.
func TestSim_RolesOfALargeAccountAreListedInOneCall(t *testing.T) {
	cloud, c := start(t)
	ctx := context.Background()
	for i := range 101 { // IAM gives 100 if it is not asked for more
		try[aws.Role](t)(c.CreateRole(ctx, aws.Role{Name: fmt.Sprint("nodes-", i), TrustPolicy: awsspec.NodeTrust("aws")}))
	}
	before := len(cloud.Calls())
	if found := try[[]aws.Role](t)(c.RolesTrusting(ctx, awsspec.NodeTrust("aws"))); len(found) != 101 {
		t.Errorf("%d roles are found", len(found))
	}
	if calls := len(cloud.Calls()) - before; calls != 1 {
		t.Errorf("%d calls, want 1", calls)
	}
}

func TestInstancesText_NamesSomeOfMany(t *testing.T) {
	var many []aws.Instance
	for _, id := range strings.Fields("a b c d e f g") {
		many = append(many, aws.Instance{ID: id})
	}
	for n, want := range map[int]string{0: "0 instances", 1: "1 instance: a", 5: "5 instances: a, b, c, d, e", 7: "7 instances: a, b, c, d, e and 2 more"} {
		if got := aws.InstancesText(many[:n]); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
