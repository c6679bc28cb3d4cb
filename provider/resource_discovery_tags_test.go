package provider_test

import (
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

func TestDiscoveryTags_LifeWithDriftAndImport(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	subnets, group := cloud.vpc.SubnetIDs, cloud.vpc.ClusterSecurityGroupID
	tags := func(id string) map[string]string {
		t.Helper()
		current, err := cloud.clients.NetworkTags(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return current[id]
	}
	// One subnet has the tag already: the tag is used as it is.
	if _, err := cloud.clients.CreateNetworkTag(t.Context(), awsspec.TagDiscovery, testCluster, subnets[0]); err != nil {
		t.Fatal(err)
	}
	config := object{"cluster_name": testCluster, "subnet_ids": list{subnets[0], subnets[1]}, "security_group_ids": list{group}}
	discovery := h.resource("karpenter_discovery_tags")
	wantNoError(t, discovery.apply(config))
	discovery.settled(config)
	for _, id := range []string{subnets[0], subnets[1], group} {
		if got := tags(id)[awsspec.TagDiscovery]; got != testCluster {
			t.Errorf("%s has the tag %q", id, got)
		}
	}

	t.Run("drift", func(t *testing.T) {
		if err := cloud.clients.DeleteNetworkTag(t.Context(), awsspec.TagDiscovery, testCluster, group); err != nil {
			t.Fatal(err)
		}
		discovery.drifted(config, "security_group_ids")
		wantNoError(t, discovery.apply(config))
		discovery.settled(config)
	})
	t.Run("import", func(t *testing.T) {
		copied, diags := h.imported("karpenter_discovery_tags", testCluster)
		wantNoError(t, diags)
		if !copied.state.Equal(discovery.state) {
			t.Errorf("imported %s, want %s", copied.state, discovery.state)
		}
		wantNoError(t, copied.destroy())
		if tags(group)[awsspec.TagDiscovery] != testCluster {
			t.Error("destroying what was imported took off a tag that it had not put on")
		}
	})
	t.Run("update", func(t *testing.T) {
		config = object{"cluster_name": testCluster, "subnet_ids": list{subnets[1]}}
		wantNoError(t, discovery.apply(config))
		discovery.settled(config)
		if _, has := tags(group)[awsspec.TagDiscovery]; has {
			t.Error("the group is no longer listed and keeps the tag that was put on")
		}
		if tags(subnets[0])[awsspec.TagDiscovery] != testCluster {
			t.Error("the tag that was adopted was taken off")
		}
	})
	t.Run("destroy", func(t *testing.T) {
		wantNoError(t, discovery.destroy())
		if _, has := tags(subnets[1])[awsspec.TagDiscovery]; has {
			t.Error("the tag that was put on is still there")
		}
		if tags(subnets[0])[awsspec.TagDiscovery] != testCluster {
			t.Error("the tag that was adopted was taken off")
		}
	})
}

func TestDiscoveryTags_NeverOverwriteAnotherClusters(t *testing.T) {
	cloud := startCloud(t)
	subnet := cloud.vpc.SubnetIDs[0]
	if _, err := cloud.clients.CreateNetworkTag(t.Context(), awsspec.TagDiscovery, "other", subnet); err != nil {
		t.Fatal(err)
	}
	config := object{"cluster_name": testCluster, "subnet_ids": list{subnet}}
	p := configured(t, cloud.config()).resource("karpenter_discovery_tags").plan(config)
	wantError(t, p.problems, subnet, `"other"`, "shared = true")

	shared := configured(t, cloud.config()).resource("karpenter_discovery_tags")
	config["shared"] = true
	wantNoError(t, shared.apply(config))
	shared.settled(config)
	current, err := cloud.clients.NetworkTags(t.Context(), subnet)
	if err != nil || current[subnet][awsspec.TagDiscovery] != "other" || current[subnet][awsspec.TagDiscovery+"/"+testCluster] != testCluster {
		t.Errorf("tags are %v, %v", current, err)
	}
}

func TestDiscoveryTags_LeaveAloneATagChangedSince(t *testing.T) {
	cloud := startCloud(t)
	subnet := cloud.vpc.SubnetIDs[0]
	config := object{"cluster_name": testCluster, "subnet_ids": list{subnet}}
	discovery := configured(t, cloud.config()).resource("karpenter_discovery_tags")
	wantNoError(t, discovery.apply(config))
	if err := cloud.clients.DeleteNetworkTag(t.Context(), awsspec.TagDiscovery, testCluster, subnet); err != nil {
		t.Fatal(err)
	}
	if _, err := cloud.clients.CreateNetworkTag(t.Context(), awsspec.TagDiscovery, "other", subnet); err != nil {
		t.Fatal(err)
	}
	wantNoError(t, discovery.destroy())
	current, err := cloud.clients.NetworkTags(t.Context(), subnet)
	if err != nil || current[subnet][awsspec.TagDiscovery] != "other" {
		t.Errorf("tags are %v, %v", current, err)
	}
}

func TestDiscoveryTags_BadInputNamesTheField(t *testing.T) {
	h := newHarness(t)
	wantError(t, h.validate("karpenter_discovery_tags", object{"cluster_name": "lab"}), "Nothing to tag", "subnet_ids")
	wantError(t, h.validate("karpenter_discovery_tags", object{"cluster_name": "lab", "subnet_ids": list{"vpc-1"}}), "subnet_ids", `"vpc-1"`, "subnet-")
	wantNoError(t, h.validate("karpenter_discovery_tags", object{"cluster_name": unknown{}, "subnet_ids": unknown{}}))
	wantNoError(t, h.validate("karpenter_discovery_tags", object{"cluster_name": "lab", "subnet_ids": list{unknown{}}}))
}

func TestDiscoveryTags_OfASubnetThatDoesNotExist(t *testing.T) {
	cloud := startCloud(t)
	discovery := configured(t, cloud.config()).resource("karpenter_discovery_tags")
	wantError(t, discovery.apply(object{"cluster_name": testCluster, "subnet_ids": list{"subnet-0000000000000dead"}}), "subnet-0000000000000dead", "not found")
	if !discovery.state.IsNull() {
		t.Error("nothing was made and something is in state")
	}
}
