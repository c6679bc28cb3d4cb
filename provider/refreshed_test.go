package provider_test

import (
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// Pulumi's bridge hands no private state to a deletion.
func TestDelete_WithoutPrivateStateTakesTheRecordOfTheRefresh(t *testing.T) {
	cloud := startCloud(t)
	if _, err := cloud.clients.CreateRole(t.Context(), aws.Role{Name: "blue", TrustPolicy: awsspec.NodeTrust("aws")}); err != nil {
		t.Fatal(err)
	}
	config := object{"name": "nodes", "role": "blue"}
	h := configured(t, cloud.config())
	profile := h.resource("karpenter_instance_profile")
	wantNoError(t, profile.apply(config))
	private := profile.private

	h = configured(t, cloud.config()) // another run
	profile.h = h
	profile.private = nil
	wantError(t, profile.destroy(), "has no record of what this configuration created")
	profile.private = private
	wantNoError(t, profile.read())
	profile.private = nil
	wantNoError(t, profile.destroy())
	if _, err := cloud.clients.GetInstanceProfile(t.Context(), "nodes"); err == nil {
		t.Error("the instance profile is still there")
	}
}

// The refresh has proven what was there then: what is created later has another owner.
func TestDelete_WithoutPrivateStateLeavesWhatWasCreatedAfterTheRefresh(t *testing.T) {
	cloud := startCloud(t)
	if _, err := cloud.clients.CreateRole(t.Context(), aws.Role{Name: "blue", TrustPolicy: awsspec.NodeTrust("aws")}); err != nil {
		t.Fatal(err)
	}
	config := object{"name": "nodes", "role": "blue"}
	h := configured(t, cloud.config())
	old := h.resource("karpenter_instance_profile")
	wantNoError(t, old.apply(config))
	wantNoError(t, old.read())
	live, err := cloud.clients.GetInstanceProfile(t.Context(), "nodes")
	if err != nil {
		t.Fatal(err)
	}
	if err := cloud.clients.DeleteInstanceProfile(t.Context(), live.Name, live.ID); err != nil {
		t.Fatal(err)
	}
	wantNoError(t, h.resource("karpenter_instance_profile").apply(config))
	old.private = nil
	wantError(t, old.destroy(), "has no record of what this configuration created")
	if _, err := cloud.clients.GetInstanceProfile(t.Context(), "nodes"); err != nil {
		t.Errorf("the instance profile of the new resource: %v", err)
	}
}

// Somebody else's object is read where a program only looks at it: that proves nothing.
func TestDelete_WithoutPrivateStateTakesNoRecordOfAReadThatHadNone(t *testing.T) {
	cloud := startCloud(t)
	if _, err := cloud.clients.CreateRole(t.Context(), aws.Role{Name: "blue", TrustPolicy: awsspec.NodeTrust("aws")}); err != nil {
		t.Fatal(err)
	}
	h := configured(t, cloud.config())
	profile := h.resource("karpenter_instance_profile")
	wantNoError(t, profile.apply(object{"name": "nodes", "role": "blue"}))
	h = configured(t, cloud.config()) // another run
	profile.h, profile.private = h, nil
	wantNoError(t, profile.read())
	profile.private = nil
	wantError(t, profile.destroy(), "has no record of what this configuration created")
	if _, err := cloud.clients.GetInstanceProfile(t.Context(), "nodes"); err != nil {
		t.Errorf("the instance profile: %v", err)
	}
}

// Resources of one cluster share their import id: each deletion takes its own record.
func TestDelete_WithoutPrivateStateTakesNoRecordOfAnotherResource(t *testing.T) {
	cloud := startCloud(t)
	subnet, group := cloud.vpc.SubnetIDs[0], cloud.vpc.ClusterSecurityGroupID
	h := configured(t, cloud.config())
	subnets, groups := h.resource("karpenter_discovery_tags"), h.resource("karpenter_discovery_tags")
	wantNoError(t, subnets.apply(object{"cluster_name": testCluster, "subnet_ids": list{subnet}}))
	wantNoError(t, groups.apply(object{"cluster_name": testCluster, "security_group_ids": list{group}}))
	h = configured(t, cloud.config()) // another run
	subnets.h, groups.h = h, h
	wantNoError(t, subnets.read())
	wantNoError(t, groups.read())
	subnets.private = nil
	wantNoError(t, subnets.destroy())
	groups.settled(object{"cluster_name": testCluster, "security_group_ids": list{group}})
	found, err := cloud.clients.NetworkTags(t.Context(), subnet)
	if err != nil || found[subnet][awsspec.TagDiscovery] != "" {
		t.Errorf("tags of the subnet %v, %v", found, err)
	}
}
