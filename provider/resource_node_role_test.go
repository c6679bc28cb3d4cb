package provider_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
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
			return cloud.clients.DeleteAccessEntry(t.Context(), testCluster, found.ARN)
		}},
		"access entry of another type": {"access_entry_arn", func() error {
			if err := cloud.clients.DeleteAccessEntry(t.Context(), testCluster, found.ARN); err != nil {
				return err
			}
			_, err := cloud.clients.CreateAccessEntry(t.Context(), aws.AccessEntry{Cluster: testCluster, PrincipalARN: found.ARN, Type: "STANDARD"})
			return err
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
			if err != nil || !slices.Equal(mended.ManagedPolicies, found.ManagedPolicies) || !aws.SameJSON(mended.TrustPolicy, found.TrustPolicy) || mended.PermissionsBoundary != "" {
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

func TestNodeRole_OfAClusterThatDoesNotExistIsKeptInState(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	role := h.resource("karpenter_node_role")
	wantError(t, role.apply(object{"cluster_name": "typo", "timeouts": object{"create": "3s"}}), `karpenter_node_role "typo,KarpenterNodeRole-typo"`, `cluster "typo"`)
	if role.state.IsNull() {
		t.Fatal("the role without access entry is lost from state")
	}
	wantNoError(t, role.destroy())
	if _, err := cloud.clients.GetRole(t.Context(), "KarpenterNodeRole-typo"); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("the role is still there: %v", err)
	}
}

func TestNodeRole_DefaultNameTooLongSaysToSetName(t *testing.T) {
	h := configured(t, object{"region": testRegion})
	p := h.resource("karpenter_node_role").plan(object{"cluster_name": "a-cluster-with-a-name-of-its-own-that-is-rather-too-long-for-iam"})
	wantError(t, p.problems, "set name", "1 to 64")
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
