package provider_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
)

// existingRole makes a role as somebody else would, and returns it.
func existingRole(t *testing.T, cloud *cloud) aws.Role {
	t.Helper()
	role, err := cloud.clients.CreateRole(t.Context(), aws.Role{
		Name: "theirs", Path: "/nodes/", Description: "theirs", TrustPolicy: awsspec.NodeTrust("aws"), ManagedPolicies: awsspec.NodeManagedPolicyARNs("aws")[:1], Tags: map[string]string{"a": "1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	role, err = cloud.clients.GetRole(t.Context(), role.Name)
	if err != nil {
		t.Fatal(err)
	}
	return role
}

// TestNodeRole_ThatExistsGetsAnAccessEntryOnly makes, imports, updates and destroys, and
// then compares the role with what it was.
func TestNodeRole_ThatExistsGetsAnAccessEntryOnly(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	theirs := existingRole(t, cloud)
	config := object{"cluster_name": testCluster, "existing_role_arn": theirs.ARN, "tags": object{"env": "test"}}
	role := h.resource("karpenter_node_role")
	before := len(cloud.Calls())
	wantNoError(t, role.apply(config))
	role.settled(config)
	for _, call := range cloud.Calls()[before:] {
		if call.Service == "iam" {
			t.Errorf("the role's owner need not let this configuration call %s", call.Action)
		}
	}
	entry, err := cloud.clients.GetAccessEntry(t.Context(), testCluster, theirs.ARN)
	if err != nil || entry.Type != "EC2_LINUX" || entry.Tags["env"] != "test" || entry.ARN != role.text("access_entry_arn") {
		t.Fatalf("access entry %+v, %v", entry, err)
	}
	if role.text("name") != "theirs" || role.text("path") != "/nodes/" || role.text("arn") != theirs.ARN {
		t.Errorf("state %s", role.state)
	}
	imported, diags := h.imported("karpenter_node_role", testCluster+","+theirs.ARN)
	wantNoError(t, diags)
	imported.settled(object{"cluster_name": testCluster, "existing_role_arn": theirs.ARN, "tags": object{"env": "test"}})
	if byIdentity := h.importedByIdentity("karpenter_node_role", role.identity); byIdentity.text("access_entry_arn") != entry.ARN {
		t.Errorf("imported by identity: %s", byIdentity.state)
	}

	if err := cloud.clients.DeleteAccessEntry(t.Context(), testCluster, theirs.ARN, aws.AnyID); err != nil {
		t.Fatal(err)
	}
	wantNoError(t, role.read())
	if !role.state.IsNull() {
		t.Errorf("the access entry is gone, and the state has %s", role.state)
	}
	wantNoError(t, role.apply(config))
	config["tags"] = object{"env": "two"}
	wantNoError(t, role.apply(config))
	role.settled(config)
	wantNoError(t, role.destroy())
	if _, err := cloud.clients.GetAccessEntry(t.Context(), testCluster, theirs.ARN); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("the access entry is left: %v", err)
	}
	after, err := cloud.clients.GetRole(t.Context(), theirs.Name)
	if err != nil || after.ID != theirs.ID || after.Description != theirs.Description || !slices.Equal(after.ManagedPolicies, theirs.ManagedPolicies) || after.Tags["env"] != "" {
		t.Errorf("the role is %+v, and was %+v: %v", after, theirs, err)
	}
}

// TestNodeRole_ThatExistsAndIsInUseIsNotCutOff destroys while an instance profile has the
// role.
func TestNodeRole_ThatExistsAndIsInUseIsNotCutOff(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	theirs := existingRole(t, cloud)
	config := object{"cluster_name": testCluster, "existing_role_arn": theirs.ARN}
	role, profile := h.resource("karpenter_node_role"), h.resource("karpenter_instance_profile")
	wantNoError(t, role.apply(config))
	wantNoError(t, profile.apply(object{"name": "nodes", "role": theirs.Name}))
	wantError(t, role.destroy(), "nodes may still need the role", `instance profile "nodes"`)
	role.settled(config)
	wantNoError(t, profile.destroy())
	wantNoError(t, role.destroy())
}

// TestNodeRole_ThatExistsKeepsTheAccessEntryOfSomebodyElse is the role of a managed node
// group, for which EKS makes the entry.
func TestNodeRole_ThatExistsKeepsTheAccessEntryOfSomebodyElse(t *testing.T) {
	cloud := startCloud(t)
	theirs := existingRole(t, cloud)
	entry, err := cloud.clients.CreateAccessEntry(t.Context(), aws.AccessEntry{Cluster: testCluster, PrincipalARN: theirs.ARN, Type: "EC2_LINUX"})
	if err != nil {
		t.Fatal(err)
	}
	role := configured(t, cloud.config()).resource("karpenter_node_role")
	wantError(t, role.apply(object{"cluster_name": testCluster, "existing_role_arn": theirs.ARN}), "did not create", "leave this resource out")
	wantNothingMade(t, role)
	if left, err := cloud.clients.GetAccessEntry(t.Context(), testCluster, theirs.ARN); err != nil || left.ARN != entry.ARN {
		t.Errorf("their entry: %+v, %v", left, err)
	}
}

func TestNodeRole_AccessEntryIsOfTheTypeAskedFor(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	role := h.resource("karpenter_node_role")
	entry := func() (aws.AccessEntry, error) {
		return cloud.clients.GetAccessEntry(t.Context(), testCluster, role.text("arn"))
	}
	config := object{"cluster_name": testCluster, "access_entry": object{"type": "EC2_WINDOWS"}}
	wantNoError(t, role.apply(config))
	role.settled(config)
	if e, err := entry(); err != nil || e.Type != "EC2_WINDOWS" {
		t.Fatalf("access entry %+v, %v", e, err)
	}
	imported, diags := h.imported("karpenter_node_role", testCluster+","+theirNodeRole)
	wantNoError(t, diags)
	imported.settled(config)
	config["access_entry"] = object{"type": "EC2"}
	wantNoError(t, role.apply(config))
	role.settled(config)
	if e, err := entry(); err != nil || e.Type != "EC2" || e.ARN != role.text("access_entry_arn") {
		t.Errorf("access entry %+v, %v", e, err)
	}
	config["access_entry"] = object{"create": false}
	wantNoError(t, role.apply(config))
	role.settled(config)
	if e, err := entry(); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("the access entry is left: %+v, %v", e, err)
	}
	delete(config, "access_entry")
	wantNoError(t, role.apply(config))
	role.settled(config)
	if e, err := entry(); err != nil || e.Type != "EC2_LINUX" {
		t.Errorf("access entry %+v, %v", e, err)
	}
}

// TestNodeRole_WithoutAccessEntryNeedsNoAPIMode uses a cluster with aws-auth only.
func TestNodeRole_WithoutAccessEntryNeedsNoAPIMode(t *testing.T) {
	cloud := startCloud(t)
	cloud.CreateCluster(ekssim.Cluster{Name: "old", AuthenticationMode: "CONFIG_MAP"})
	role := configured(t, cloud.config()).resource("karpenter_node_role")
	config := object{"cluster_name": "old", "access_entry": object{"create": false}}
	wantNoError(t, role.apply(config))
	role.settled(config)
	wantNoError(t, role.destroy())
}

// TestNodeRole_AnImportedAccessEntryThatIsNotWantedIsLeft imports a role whose entry another
// configuration made.
func TestNodeRole_AnImportedAccessEntryThatIsNotWantedIsLeft(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	made := h.resource("karpenter_node_role")
	wantNoError(t, made.apply(object{"cluster_name": testCluster}))
	imported, diags := h.imported("karpenter_node_role", testCluster+","+theirNodeRole)
	wantNoError(t, diags)
	config := object{"cluster_name": testCluster, "access_entry": object{"create": false}}
	wantNoError(t, imported.apply(config))
	imported.settled(config)
	if _, err := cloud.clients.GetAccessEntry(t.Context(), testCluster, made.text("arn")); err != nil {
		t.Errorf("the access entry: %v", err)
	}
}

func TestNodeRole_OptionsReachIAM(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	const extra = "arn:aws:iam::aws:policy/ReadOnlyAccess"
	role := h.resource("karpenter_node_role")
	config := object{
		"cluster_name": testCluster, "description": "workers", "max_session_duration": 43200, "attach_cni_policy": false,
		"additional_policy_arns": list{extra}, "permissions_boundary": "arn:aws:iam::aws:policy/AdministratorAccess", "path": "/team/",
	}
	wantNoError(t, role.apply(config))
	role.settled(config)
	found, err := cloud.clients.GetRole(t.Context(), theirNodeRole)
	if err != nil || found.Description != "workers" || found.MaxSessionDuration.Hours() != 12 || slices.Contains(found.ManagedPolicies, awsspec.CNIPolicyARN("aws")) || !slices.Contains(found.ManagedPolicies, extra) {
		t.Fatalf("made %+v, %v", found, err)
	}
	imported, diags := h.imported("karpenter_node_role", testCluster+","+theirNodeRole)
	wantNoError(t, diags)
	for _, attribute := range []string{"attach_cni_policy", "description", "max_session_duration", "permissions_boundary", "path", "unique_id", "managed_policy_arns"} {
		if got, want := attributeOf(t, imported.state, attribute), attributeOf(t, role.state, attribute); !got.Equal(want) {
			t.Errorf("imported %s = %s, want %s", attribute, got, want)
		}
	}
	config = object{"cluster_name": testCluster, "path": "/team/"}
	wantNoError(t, role.apply(config))
	role.settled(config)
	found, err = cloud.clients.GetRole(t.Context(), theirNodeRole)
	if err != nil || !slices.Equal(found.ManagedPolicies, awsspec.NodeManagedPolicyARNs("aws")) || found.PermissionsBoundary != "" || found.MaxSessionDuration.Hours() != 1 {
		t.Errorf("after the update %+v, %v", found, err)
	}
}

// TestNodeRole_PolicyThatIsNamedTwiceStaysUntilNobodyNamesIt has the CNI's policy as an
// additional one as well.
func TestNodeRole_PolicyThatIsNamedTwiceStaysUntilNobodyNamesIt(t *testing.T) {
	cloud := startCloud(t)
	role := configured(t, cloud.config()).resource("karpenter_node_role")
	cni := awsspec.CNIPolicyARN("aws")
	attached := func() bool {
		found, err := cloud.clients.GetRole(t.Context(), theirNodeRole)
		return err == nil && slices.Contains(found.ManagedPolicies, cni)
	}
	for _, step := range []struct {
		config object
		want   bool
	}{
		{object{"additional_policy_arns": list{cni}}, true},
		{object{"additional_policy_arns": list{cni}, "attach_cni_policy": false}, true},
		{object{}, true},
		{object{"attach_cni_policy": false}, false},
	} {
		step.config["cluster_name"] = testCluster
		wantNoError(t, role.apply(step.config))
		role.settled(step.config)
		if attached() != step.want {
			t.Errorf("%v: attached %t", step.config, !step.want)
		}
	}
}

// TestNodeRole_OfAnUnknownExistingRolePlansWhatFollowsFromItAsUnknown is a role that the same
// apply makes.
func TestNodeRole_OfAnUnknownExistingRolePlansWhatFollowsFromItAsUnknown(t *testing.T) {
	h := configured(t, object{"region": testRegion})
	p := h.resource("karpenter_node_role").plan(object{"cluster_name": testCluster, "existing_role_arn": unknown{}})
	wantNoError(t, p.problems)
	for _, name := range []string{"name", "path", "arn", "description", "max_session_duration", "attach_cni_policy", "managed_policy_arns", "trust_policy", "access_entry_arn"} {
		if v := attributeOf(t, p.value, name); v.IsKnown() {
			t.Errorf("%s is planned as %s", name, v)
		}
	}
}
