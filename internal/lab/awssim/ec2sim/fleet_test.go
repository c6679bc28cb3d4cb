package ec2sim

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

func TestCreateFleet_AllocatesByStrategy(t *testing.T) {
	pools := []string{"m5.large@a", "m5.large@b", "c5.large@c", "m5.xlarge@a"} // priorities 4 to 1
	for _, test := range []struct {
		name, capacityType, strategy string
		target                       int
		limits                       map[string]int // type@zone -> left
		want                         string
		wantErrors                   []string
	}{
		{"cheapest type", onDemand, "lowest-price", 2, nil, "c5.large@c x2", nil},
		{"an empty pool is reported and the next is used", onDemand, "lowest-price", 1, map[string]int{"c5.large@c": 0}, "m5.large@a x1", []string{"InsufficientInstanceCapacity"}},
		{"a small pool gives what it has", onDemand, "lowest-price", 3, map[string]int{"c5.large@c": 1}, "c5.large@c x1 m5.large@a x2", []string{"InsufficientInstanceCapacity"}},
		{"priority before price", onDemand, "prioritized", 1, nil, "m5.xlarge@a x1", nil},
		{"spot by price", spot, "lowest-price", 1, nil, "c5.large@c x1", nil},
		{"spot avoids pools that cannot hold the target", spot, "price-capacity-optimized", 2, map[string]int{"c5.large@c": 1}, "m5.large@a x2", nil},
		{
			"spot takes the small pool when it must", spot, "lowest-price", 2,
			map[string]int{"c5.large@c": 1, "m5.large@a": 0, "m5.large@b": 0, "m5.xlarge@a": 0},
			"c5.large@c x1",
			[]string{"InsufficientInstanceCapacity", "InsufficientInstanceCapacity", "InsufficientInstanceCapacity", "InsufficientInstanceCapacity"},
		},
		{"spot by priority", spot, "capacity-optimized-prioritized", 1, map[string]int{"c5.large@c": 0, "m5.xlarge@a": 0}, "m5.large@b x1", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCloud(t)
			c.template("lt-a")
			for pool, n := range test.limits {
				name, zone, _ := strings.Cut(pool, "@")
				c.SetCapacity(test.capacityType, name, "us-west-2"+zone, n)
			}
			answer := c.fleet(test.capacityType, test.strategy, test.target, pools)
			if got := launched(answer); got != test.want {
				t.Errorf("launched %q, want %q", got, test.want)
			}
			if diff := cmp.Diff(test.wantErrors, errorCodes(answer)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCreateFleet_ReportsWhatDoesNotFit(t *testing.T) {
	for _, test := range []struct {
		name, pool, code string
		data             []string
	}{
		{"type not in the zone", "r5.large@b", "InvalidFleetConfiguration", nil},
		{"architecture of the image", "m6g.large@a", "InvalidParameterValue", nil},
		{"unknown type", "x9.huge@a", "InvalidParameterValue", nil},
		{"unknown image", "m5.large@a", "InvalidAMIID.NotFound", []string{"LaunchTemplateData.ImageId", "ami-0123456789abcdef0"}},
		{"unknown group", "m5.large@a", "InvalidGroup.NotFound", []string{"LaunchTemplateData.NetworkInterface.1.SecurityGroupId.1", "sg-0"}},
		{"unknown profile", "m5.large@a", "InvalidParameterValue", []string{"LaunchTemplateData.IamInstanceProfile.Name", "other"}},
		{"profile without role", "m5.large@a", "InvalidParameterValue", []string{"LaunchTemplateData.IamInstanceProfile.Name", "empty"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCloud(t)
			c.template("lt-a", test.data...)
			answer := c.fleet(onDemand, "lowest-price", 1, []string{test.pool})
			if diff := cmp.Diff([]string{test.code}, errorCodes(answer)); diff != "" || len(answer.Instances) != 0 {
				t.Errorf("instances %v, errors (-want +got):\n%s", answer.Instances, diff)
			}
		})
	}
}

func TestCreateFleet_TokenReplaysAnswerAndFailure(t *testing.T) {
	c := newCloud(t)
	c.template("lt-a")
	first := c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"}, "ClientToken", "t1")
	again := c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"}, "ClientToken", "t1")
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the replay differs:\n%s", diff)
	}
	if n := len(c.Instances()); n != 1 {
		t.Errorf("%d instances after the replay, want 1", n)
	}
	c.refused("IdempotentParameterMismatch", "CreateFleet", append(c.overrides("m5.large@b"), "TargetCapacitySpecification.TotalTargetCapacity", "1", "ClientToken", "t1")...)

	c.SetCapacity(onDemand, "m5.large", "us-west-2a", 0)
	failed := c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"}, "ClientToken", "t2")
	c.SetCapacity(onDemand, "m5.large", "us-west-2a", 5)
	if replay := c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"}, "ClientToken", "t2"); len(replay.Instances) != 0 || len(failed.Errors) != 1 {
		t.Errorf("the replay of a failure launched %v", replay.Instances)
	}
}

func TestCreateFleet_AsksIAMForEverythingItUses(t *testing.T) {
	c := newCloud(t)
	c.template("lt-a")
	c.fleet(spot, "price-capacity-optimized", 1, []string{"m5.large@a"})
	for _, want := range []struct{ action, arn, key, value string }{
		{"ec2:CreateFleet", ":fleet/*", "aws:RequestTag/karpenter.sh/nodepool", "default"},
		{"ec2:CreateFleet", ":launch-template/lt-", "", ""},
		{"ec2:CreateTags", ":fleet/*", "ec2:CreateAction", "CreateFleet"},
		{"ec2:RunInstances", "::image/" + c.amd64, "", ""},
		{"ec2:RunInstances", ":subnet/" + c.vpc.SubnetIDs[0], "", ""},
		{"ec2:RunInstances", ":security-group/" + c.vpc.ClusterSecurityGroupID, "", ""},
		{"ec2:RunInstances", ":launch-template/lt-", "", ""},
		{"ec2:RunInstances", ":instance/*", "aws:RequestTag/karpenter.sh/nodepool", "default"},
		{"ec2:RunInstances", ":network-interface/*", "aws:RequestTag/team", "a"},
		{"ec2:RunInstances", ":volume/*", "", ""},
		{"ec2:CreateTags", ":instance/*", "ec2:CreateAction", "RunInstances"},
		{"iam:PassRole", ":role/nodes", "iam:PassedToService", "ec2.amazonaws.com"},
	} {
		got := c.asks(want.action, want.arn)
		if got == nil {
			t.Errorf("IAM was not asked for %s on %s", want.action, want.arn)
		} else if want.key != "" && (len(got.Conditions[want.key]) != 1 || got.Conditions[want.key][0] != want.value) {
			t.Errorf("%s on %s had conditions %v, want %s=%s", want.action, want.arn, got.Conditions, want.key, want.value)
		}
	}
	if tags := c.asks("ec2:RunInstances", ":launch-template/lt-").Resources; tags[len(tags)-1].Tags["karpenter.sh/nodepool"] != "default" {
		t.Errorf("IAM did not see the template's tags: %v", tags)
	}
}

func TestCreateFleet_RefusalsByIAM(t *testing.T) {
	c := newCloud(t)
	c.template("lt-a")
	c.refuse = func(a wire.Access) bool { return a.Action == "iam:PassRole" }
	answer := c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"})
	if diff := cmp.Diff([]string{"UnauthorizedOperation"}, errorCodes(answer)); diff != "" {
		t.Errorf("a forbidden role is an error of the launch (-want +got):\n%s", diff)
	}
	pairs := append(c.overrides("m5.large@a"), "TargetCapacitySpecification.TotalTargetCapacity", "1")
	c.refused("DryRunOperation", "CreateFleet", append(pairs, "DryRun", "true")...)
	c.refuse = func(a wire.Access) bool { return a.Action == "ec2:CreateFleet" }
	c.refused("UnauthorizedOperation", "CreateFleet", pairs...)
	c.refused("UnauthorizedOperation", "CreateFleet", append(pairs, "DryRun", "true", "ClientToken", "t")...)
	if n := len(c.Instances()); n != 0 {
		t.Errorf("%d instances were launched by forbidden calls", n)
	}
	c.refuse = nil
	if got := launched(do[fleetAnswer](c, "CreateFleet", append(pairs, "ClientToken", "t")...)); got != "m5.large@a x1" {
		t.Errorf("after the refusal the token launched %q", got)
	}
}

func TestCreateFleet_RefusesWhatItDoesNotKnow(t *testing.T) {
	c := newCloud(t)
	c.template("lt-a")
	pairs := append(c.overrides("m5.large@a"), "TargetCapacitySpecification.TotalTargetCapacity", "1")
	c.refused("UnknownParameter", "CreateFleet", append(pairs, "LaunchTemplateConfigs.1.Overrides.1.WeightedCapacity", "2")...)
	c.refused("UnsupportedOperation", "CreateFleet", append(pairs, "Type", "maintain")...)
	c.refused("InvalidParameterValue", "CreateFleet", append(pairs, "SpotOptions.AllocationStrategy", "diversified")...)
	c.refused("InvalidParameterValue", "CreateFleet", append(pairs, "TargetCapacitySpecification.TotalTargetCapacity", "many")...)
	c.refused("MissingParameter", "CreateFleet", c.overrides("m5.large@a")...)
	c.refused("InvalidLaunchTemplateName.NotFoundException", "CreateFleet", append(pairs, "LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName", "gone")...)
	c.refused("InvalidLaunchTemplateId.VersionNotFound", "CreateFleet", append(pairs, "LaunchTemplateConfigs.1.LaunchTemplateSpecification.Version", "9")...)
	c.refused("InvalidAction", "CreateUnicorn")
}

func TestCreateFleet_CountsVCPUsAgainstTheQuotaOfTheFamilies(t *testing.T) {
	for capacityType, code := range map[string]string{onDemand: "VcpuLimitExceeded", spot: "MaxSpotInstanceCountExceeded"} {
		c := newCloud(t)
		c.template("lt-a")
		c.SetQuota(capacityType, "r5.large", 4) // of the same quota as m5 and c5
		pools := []string{"m5.large@a", "c5.large@c", "m5.xlarge@a"}
		answer := c.fleet(capacityType, "lowest-price", 3, pools)
		if got := launched(answer); got != "c5.large@c x2" {
			t.Errorf("%s: launched %q within a quota of 4 vCPUs", capacityType, got)
		}
		if diff := cmp.Diff([]string{code, code, code}, errorCodes(answer)); diff != "" {
			t.Errorf("%s: errors (-want +got):\n%s", capacityType, diff)
		}
		if err := c.Terminate(answer.Instances[0].IDs[0]); err != nil {
			t.Fatal(err)
		}
		if got := launched(c.fleet(capacityType, "lowest-price", 1, pools)); got != "c5.large@c x1" {
			t.Errorf("%s: launched %q when an instance has ended", capacityType, got)
		}
		c.SetQuota(capacityType, "r5.large", -1)
		if got := launched(c.fleet(capacityType, "lowest-price", 3, pools)); got != "c5.large@c x3" {
			t.Errorf("%s: launched %q without a quota", capacityType, got)
		}
	}
}

func TestCreateFleet_SpotNeedsItsServiceLinkedRole(t *testing.T) {
	c := newCloud(t)
	c.template("lt-a")
	there := false
	c.cfg.SpotRole = func(context.Context, *wire.Request) bool { return there }
	launch := func(capacityType, want string, errors ...string) {
		t.Helper()
		answer := c.fleet(capacityType, "lowest-price", 1, []string{"m5.large@a", "c5.large@c"})
		if got := launched(answer); got != want {
			t.Errorf("%s: launched %q, want %q", capacityType, got, want)
		}
		if diff := cmp.Diff(errors, errorCodes(answer)); diff != "" {
			t.Errorf("%s: errors (-want +got):\n%s", capacityType, diff)
		}
	}
	launch(spot, "c5.large@c x1") // an account that launches spot has the role
	c.RequireSpotRole(true)
	const refused = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
	launch(spot, "", refused, refused)
	launch(onDemand, "c5.large@c x1")
	there = true
	launch(spot, "c5.large@c x1")
}
