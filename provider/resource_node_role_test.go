package provider_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
)

func TestNodeRole_LifeWithDriftAndImport(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	config := object{"cluster_name": testCluster, "tags": object{"env": "test"}}
	role := h.resource("karpenter_node_role")
	wantNoError(t, role.apply(config))
	role.settled(config)
	const name = "KarpenterNodeRole-" + testCluster
	found, err := cloud.clients.GetRole(t.Context(), name)
	if err != nil || !slices.Equal(found.ManagedPolicies, awsspec.NodeManagedPolicyARNs("aws")) || found.Tags["team"] != "platform" || role.text("arn") != found.ARN {
		t.Fatalf("made %+v, %v", found, err)
	}
	entry, err := cloud.clients.GetAccessEntry(t.Context(), testCluster, found.ARN)
	if err != nil || entry.Type != "EC2_LINUX" || role.text("access_entry_arn") != entry.ARN {
		t.Fatalf("access entry %+v, %v", entry, err)
	}

	for name, drift := range map[string]struct {
		attribute string
		meddle    func() error
	}{
		"policy detached": {"managed_policy_arns", func() error {
			meddled := found
			meddled.ManagedPolicies = found.ManagedPolicies[1:]
			_, err := cloud.clients.UpdateRole(t.Context(), found, meddled)
			return err
		}},
		"trust changed": {"trust_policy", func() error {
			meddled := found
			meddled.TrustPolicy = awsspec.IRSATrust(testIssuer, testAccount, "aws", "a", "b")
			_, err := cloud.clients.UpdateRole(t.Context(), found, meddled)
			return err
		}},
		"boundary set": {"permissions_boundary", func() error {
			meddled := found
			meddled.PermissionsBoundary = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
			_, err := cloud.clients.UpdateRole(t.Context(), found, meddled)
			return err
		}},
		"access entry removed": {"access_entry_arn", func() error {
			return cloud.clients.DeleteAccessEntry(t.Context(), testCluster, found.ARN, aws.AnyID)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := drift.meddle(); err != nil {
				t.Fatal(err)
			}
			role.drifted(config, drift.attribute)
			wantNoError(t, role.apply(config))
			role.settled(config)
			mended, err := cloud.clients.GetRole(t.Context(), found.Name)
			if err != nil || !slices.Equal(mended.ManagedPolicies, found.ManagedPolicies) || !aws.SamePolicy(mended.TrustPolicy, found.TrustPolicy) || mended.PermissionsBoundary != "" {
				t.Errorf("mended %+v, %v", mended, err)
			}
			if entry, err := cloud.clients.GetAccessEntry(t.Context(), testCluster, found.ARN); err != nil || entry.Type != "EC2_LINUX" {
				t.Errorf("access entry %+v, %v", entry, err)
			}
		})
	}
	t.Run("update", func(t *testing.T) {
		config = object{"cluster_name": testCluster}
		wantNoError(t, role.apply(config))
		role.settled(config)
		entry, err := cloud.clients.GetAccessEntry(t.Context(), testCluster, found.ARN)
		if _, has := entry.Tags["env"]; err != nil || has {
			t.Errorf("access entry keeps a tag that is gone: %v, %v", entry.Tags, err)
		}
	})
	t.Run("import", func(t *testing.T) {
		copied, diags := h.imported("karpenter_node_role", testCluster+","+name)
		wantNoError(t, diags)
		if !copied.state.Equal(role.state) {
			t.Errorf("imported %s, want %s", copied.state, role.state)
		}
	})
	t.Run("import by identity", func(t *testing.T) {
		copied := h.importedByIdentity("karpenter_node_role", role.identity)
		if !copied.state.Equal(role.state) {
			t.Errorf("imported %s, want %s", copied.state, role.state)
		}
	})
	t.Run("gone", func(t *testing.T) {
		wantNoError(t, role.destroy())
		if _, err := cloud.clients.GetRole(t.Context(), name); !errors.Is(err, aws.ErrNotFound) {
			t.Errorf("the role is still there: %v", err)
		}
		if _, err := cloud.clients.GetAccessEntry(t.Context(), testCluster, found.ARN); !errors.Is(err, aws.ErrNotFound) {
			t.Errorf("the access entry is still there: %v", err)
		}
	})
}

func TestNodeRole_OfAClusterThatCannotTakeItLeavesNothing(t *testing.T) {
	cloud := startCloud(t)
	cloud.CreateCluster(ekssim.Cluster{Name: "old", AuthenticationMode: "CONFIG_MAP"})
	h := configured(t, cloud.config())
	for cluster, parts := range map[string][]string{
		"typo": {`karpenter_node_role "typo,KarpenterNodeRole-typo"`, `cluster "typo"`, "not found"},
		"old":  {`karpenter_node_role "old,KarpenterNodeRole-old"`, "CONFIG_MAP", "API_AND_CONFIG_MAP"},
	} {
		role := h.resource("karpenter_node_role")
		wantError(t, role.apply(object{"cluster_name": cluster, "timeouts": object{"create": "3s"}}), parts...)
		wantNothingMade(t, role)
		if _, err := cloud.clients.GetRole(t.Context(), "KarpenterNodeRole-"+cluster); !errors.Is(err, aws.ErrNotFound) {
			t.Errorf("the role is still there: %v", err)
		}
	}
}

func TestNodeRole_RemovedWhileItsAccessEntryIsLeftIsMadeAgain(t *testing.T) {
	cloud := startCloud(t)
	role := configured(t, cloud.config()).resource("karpenter_node_role")
	config := object{"cluster_name": testCluster}
	wantNoError(t, role.apply(config))
	stale, arn := role.text("access_entry_arn"), role.text("arn")
	if err := cloud.clients.DeleteRole(t.Context(), "KarpenterNodeRole-"+testCluster, aws.AnyID); err != nil {
		t.Fatal(err)
	}
	role.drifted(config, "arn")
	wantNoError(t, role.apply(config))
	role.settled(config)
	if _, joins := cloud.EKS.Lookup(testCluster, arn, cloud.IAM.PrincipalID(arn)); !joins {
		t.Error("nodes with the role do not join the cluster")
	}
	entry, err := cloud.clients.GetAccessEntry(t.Context(), testCluster, arn)
	if err != nil || entry.ARN == stale || entry.ARN != role.text("access_entry_arn") {
		t.Errorf("access entry %+v, %v: EKS binds it to the unique id of the role that is gone", entry, err)
	}
}

// TestNodeRole_InUseIsNeitherCutOffNorDeleted destroys a role that an instance profile
// has, and plans its replacement. P5.
func TestNodeRole_InUseIsNeitherCutOffNorDeleted(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	role, profile := h.resource("karpenter_node_role"), h.resource("karpenter_instance_profile")
	config := object{"cluster_name": testCluster}
	wantNoError(t, role.apply(config))
	wantNoError(t, profile.apply(object{"name": "nodes", "role": role.text("name")}))

	p := role.plan(object{"cluster_name": testCluster, "path": "/nodes/"})
	wantNoError(t, p.problems)
	if len(p.replace) == 0 || len(p.problems) != 1 || !strings.Contains(p.problems[0].Detail, `instance profile "nodes" (0 instances)`) || !strings.Contains(p.problems[0].Detail, "create_before_destroy") {
		t.Errorf("the plan does not say that the role is in use: %+v", p.problems)
	}
	wantError(t, role.destroy(), "nodes may still need the role", `instance profile "nodes"`, "create_before_destroy")
	role.settled(config) // with its policies and its access entry

	another := object{"cluster_name": testCluster, "path": "/nodes/", "name": "another"}
	created := h.resource("karpenter_node_role")
	wantNoError(t, created.apply(another))
	wantNoError(t, profile.apply(object{"name": "nodes", "role": "another"}))
	wantNoError(t, role.destroy())
	created.settled(another)
	wantNoError(t, profile.destroy())
	wantNoError(t, created.destroy())
}

// TestNames_ALongClusterNameHasDefaultsThatIAMAccepts plans the roles of two clusters
// whose long names begin alike. P18.
func TestNames_ALongClusterNameHasDefaultsThatIAMAccepts(t *testing.T) {
	h := configured(t, object{"region": testRegion})
	const long = "a-cluster-with-a-name-of-its-own-that-is-rather-too-long-for-iam"
	for _, kind := range []string{"karpenter_node_role", "karpenter_controller_role"} {
		names := map[string]bool{}
		for _, cluster := range []string{long, long + "-2"} {
			config := object{"cluster_name": cluster}
			if kind == "karpenter_controller_role" {
				config["node_role_arn"] = testNodeRole
			}
			p := h.resource(kind).plan(config)
			wantNoError(t, p.problems)
			var name string
			if err := attributeOf(t, p.value, "name").As(&name); err != nil || awsspec.CheckRoleName(name) != nil || len(name) != 64 {
				t.Errorf("%s: name %q, %v", kind, name, err)
			}
			names[name] = true
		}
		if len(names) != 2 {
			t.Errorf("%s: two clusters get one name: %v", kind, names)
		}
	}
}

func TestNodeRole_PlansOfflineWithWhatIsKnown(t *testing.T) {
	h := configured(t, object{"region": unknown{}})
	p := h.resource("karpenter_node_role").plan(object{"cluster_name": unknown{}})
	wantNoError(t, p.problems)
	h = configured(t, object{"region": "cn-north-1"})
	p = h.resource("karpenter_node_role").plan(object{"cluster_name": "lab"})
	wantNoError(t, p.problems)
	if policies := attributeOf(t, p.value, "managed_policy_arns"); !policies.IsFullyKnown() {
		t.Errorf("the policies are not planned: %s", policies)
	}
}

// TestNodeRole_WithoutARegionAnotherChoiceOfPoliciesIsUnknown plans while the provider's region
// is not known yet: what was planned as before, an apply would contradict.
func TestNodeRole_WithoutARegionAnotherChoiceOfPoliciesIsUnknown(t *testing.T) {
	config := object{"cluster_name": testCluster}
	role := configured(t, startCloud(t).config()).resource("karpenter_node_role")
	wantNoError(t, role.apply(config))
	later := *role
	later.h = role.h.again(object{"region": unknown{}})
	for attribute, known := range map[string]bool{"attach_ssm_policy": false, "attach_cni_policy": false, "description": true} {
		value := any(false)
		if known {
			value = "another"
		}
		p := later.plan(with(config, object{attribute: value}))
		wantNoError(t, p.problems)
		if arns := attributeOf(t, p.value, "managed_policy_arns"); arns.IsKnown() != known {
			t.Errorf("after a change of %s, managed_policy_arns are planned as %s", attribute, arns)
		}
	}
	wantNoError(t, role.destroy())
}
