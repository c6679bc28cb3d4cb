package provider_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
)

const testClusterARN = "arn:aws:eks:" + testRegion + ":" + testAccount + ":cluster/" + testCluster

func podConfig() object {
	return object{"cluster_name": testCluster, "node_role_arn": testNodeRole, "identity": "pod_identity"}
}

// association is the association of a service account.
func (c *cloud) association(t *testing.T, namespace, serviceAccount string) (aws.PodAssociation, error) {
	t.Helper()
	return c.clients.FindPodAssociation(t.Context(), testCluster, namespace, serviceAccount)
}

func TestPodIdentity_LifeWithDriftAndImport(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	config := podConfig()
	role := h.resource("karpenter_controller_role")
	wantNoError(t, role.apply(config))
	role.settled(config)
	made, err := cloud.association(t, "karpenter", "karpenter")
	if err != nil || made.RoleARN != role.text("arn") || made.ID != role.text("association_id") || made.ARN != role.text("association_arn") || made.Tags["team"] != "platform" {
		t.Fatalf("association %+v, %v", made, err)
	}
	found, err := cloud.clients.GetRole(t.Context(), theirControllerRole)
	if want := awsspec.PodIdentityTrust(testClusterARN, "karpenter", "karpenter"); err != nil || !aws.SamePolicy(found.TrustPolicy, want) {
		t.Errorf("trust policy %s, want %s, %v", found.TrustPolicy, want, err)
	}
	if issuer := attributeOf(t, role.state, "oidc_issuer"); !issuer.IsNull() {
		t.Errorf("oidc_issuer is %s, and Pod Identity needs none", issuer)
	}

	for name, meddle := range map[string]func() error{
		"association removed": func() error {
			return cloud.clients.DeletePodAssociation(t.Context(), testCluster, role.text("association_id"))
		},
		"another role": func() error {
			other, err := cloud.clients.CreateRole(t.Context(), aws.Role{Name: "other", TrustPolicy: found.TrustPolicy})
			changed := made
			changed.ID, changed.RoleARN = role.text("association_id"), other.ARN
			if err == nil {
				_, err = cloud.clients.UpdatePodAssociation(t.Context(), changed, changed)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := meddle(); err != nil {
				t.Fatal(err)
			}
			role.drifted(config, "association_id")
			wantNoError(t, role.apply(config))
			role.settled(config)
			if mended, err := cloud.association(t, "karpenter", "karpenter"); err != nil || mended.RoleARN != role.text("arn") {
				t.Errorf("mended %+v, %v", mended, err)
			}
		})
	}
	t.Run("import", func(t *testing.T) {
		copied, diags := h.imported("karpenter_controller_role", testCluster+","+theirControllerRole)
		wantNoError(t, diags)
		if !copied.state.Equal(role.state) {
			t.Errorf("imported %s, want %s", copied.state, role.state)
		}
	})
	t.Run("another service account", func(t *testing.T) {
		config["service_account"], config["tags"] = "daemon", object{"env": "test"}
		wantNoError(t, role.apply(config))
		role.settled(config)
		if a, err := cloud.association(t, "karpenter", "daemon"); err != nil || a.ID != role.text("association_id") || a.Tags["env"] != "test" {
			t.Errorf("association %+v, %v", a, err)
		}
		if _, err := cloud.association(t, "karpenter", "karpenter"); !errors.Is(err, aws.ErrNotFound) {
			t.Errorf("the association of the old service account is left: %v", err)
		}
	})
	t.Run("gone", func(t *testing.T) {
		wantNoError(t, role.destroy())
		if _, err := cloud.association(t, "karpenter", "daemon"); !errors.Is(err, aws.ErrNotFound) {
			t.Errorf("the association is left: %v", err)
		}
		if _, err := cloud.clients.GetRole(t.Context(), theirControllerRole); !errors.Is(err, aws.ErrNotFound) {
			t.Errorf("the role is left: %v", err)
		}
	})
}

// TestPodIdentity_IsTakenAndGivenUpInPlace moves a role from IRSA to Pod Identity and back.
func TestPodIdentity_IsTakenAndGivenUpInPlace(t *testing.T) {
	cloud := startCloud(t)
	role := configured(t, cloud.config()).resource("karpenter_controller_role")
	irsa := object{"cluster_name": testCluster, "node_role_arn": testNodeRole}
	wantNoError(t, role.apply(irsa))
	id := role.text("unique_id")
	wantNoError(t, role.apply(podConfig()))
	role.settled(podConfig())
	if _, err := cloud.association(t, "karpenter", "karpenter"); err != nil {
		t.Error(err)
	}
	wantNoError(t, role.apply(irsa))
	role.settled(irsa)
	if _, err := cloud.association(t, "karpenter", "karpenter"); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("the association is left: %v", err)
	}
	if role.text("oidc_issuer") != testIssuer || !strings.Contains(role.text("trust_policy"), testIssuer) || role.text("unique_id") != id {
		t.Errorf("back at IRSA: %s", role.state)
	}
}

// TestPodIdentity_NeedsNoIssuer uses a cluster that has none.
func TestPodIdentity_NeedsNoIssuer(t *testing.T) {
	cloud := startCloud(t)
	cloud.CreateCluster(ekssim.Cluster{Name: "bare"})
	h := configured(t, cloud.config())
	config := object{"cluster_name": "bare", "node_role_arn": testNodeRole}
	wantError(t, h.resource("karpenter_controller_role").apply(config), `"bare" has no OIDC issuer`)
	config["identity"] = "pod_identity"
	wantNoError(t, h.resource("karpenter_controller_role").apply(config))
}

// TestPodIdentity_LeavesAnAssociationOfSomebodyElseAlone has the service account taken.
func TestPodIdentity_LeavesAnAssociationOfSomebodyElseAlone(t *testing.T) {
	cloud := startCloud(t)
	trust := awsspec.PodIdentityTrust(testClusterARN, "karpenter", "karpenter")
	other, err := cloud.clients.CreateRole(t.Context(), aws.Role{Name: "other", TrustPolicy: trust})
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := cloud.clients.CreatePodAssociation(t.Context(), aws.PodAssociation{Cluster: testCluster, Namespace: "karpenter", ServiceAccount: "karpenter", RoleARN: other.ARN})
	if err != nil {
		t.Fatal(err)
	}
	role := configured(t, cloud.config()).resource("karpenter_controller_role")
	wantError(t, role.apply(podConfig()), "did not create", theirs.ID, "delete-pod-identity-association")
	wantNothingMade(t, role)
	if _, err := cloud.clients.GetRole(t.Context(), theirControllerRole); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("the role is left: %v", err)
	}
	irsa := object{"cluster_name": testCluster, "node_role_arn": testNodeRole}
	wantNoError(t, role.apply(irsa))
	wantError(t, role.apply(podConfig()), "did not create", theirs.ID, "delete-pod-identity-association")
	wantNoError(t, role.apply(irsa))
	wantNoError(t, role.destroy())
	if left, err := cloud.association(t, "karpenter", "karpenter"); err != nil || left.ID != theirs.ID || left.RoleARN != other.ARN {
		t.Errorf("their association: %+v, %v", left, err)
	}
}

// TestPodIdentity_AnAssociationOfAnotherIDIsNotDeleted replaces our association by somebody
// else's of the same service account.
func TestPodIdentity_AnAssociationOfAnotherIDIsNotDeleted(t *testing.T) {
	cloud := startCloud(t)
	role := configured(t, cloud.config()).resource("karpenter_controller_role")
	wantNoError(t, role.apply(podConfig()))
	if err := cloud.clients.DeletePodAssociation(t.Context(), testCluster, role.text("association_id")); err != nil {
		t.Fatal(err)
	}
	theirs, err := cloud.clients.CreatePodAssociation(t.Context(), aws.PodAssociation{Cluster: testCluster, Namespace: "karpenter", ServiceAccount: "karpenter", RoleARN: role.text("arn")})
	if err != nil {
		t.Fatal(err)
	}
	wantNoError(t, role.destroy())
	if left, err := cloud.association(t, "karpenter", "karpenter"); err != nil || left.ID != theirs.ID {
		t.Errorf("their association: %+v, %v", left, err)
	}
}

// TestPodIdentity_AFailedCreationLeavesNothing fails the association: refused, and made
// without an answer.
func TestPodIdentity_AFailedCreationLeavesNothing(t *testing.T) {
	for name, faults := range map[string][]awssim.Fault{
		"refused": {{Service: "eks", Action: "CreatePodIdentityAssociation", Code: "AccessDeniedException", Status: 403, Times: 1}},
		"not answered": {
			{Service: "eks", Action: "CreatePodIdentityAssociation", DropResponse: true, Times: 1},
			{Service: "eks", Action: "CreatePodIdentityAssociation", Code: "ServerException", Status: 500, Times: 4},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := startCloud(t)
			role := configured(t, cloud.config()).resource("karpenter_controller_role")
			for _, f := range faults {
				cloud.Faults().Inject(f)
			}
			wantError(t, role.apply(podConfig()), "karpenter_controller_role", "pod identity association")
			wantNothingMade(t, role)
			if left, err := cloud.association(t, "karpenter", "karpenter"); !errors.Is(err, aws.ErrNotFound) {
				t.Errorf("left %+v, %v", left, err)
			}
			wantNoError(t, role.apply(podConfig()))
			role.settled(podConfig())
		})
	}
}

// TestPodIdentity_PlanShowsTheTrustPolicy plans offline, with known and unknown values.
func TestPodIdentity_PlanShowsTheTrustPolicy(t *testing.T) {
	h := configured(t, object{"region": testRegion})
	p := h.resource("karpenter_controller_role").plan(podConfig())
	wantNoError(t, p.problems)
	var trust string
	if err := attributeOf(t, p.value, "trust_policy").As(&trust); err != nil || !aws.SamePolicy(trust, awsspec.PodIdentityTrust(testClusterARN, "karpenter", "karpenter")) {
		t.Errorf("planned trust policy %q, %v", trust, err)
	}
	config := podConfig()
	config["identity"] = unknown{}
	p = h.resource("karpenter_controller_role").plan(config)
	wantNoError(t, p.problems)
	for _, name := range []string{"trust_policy", "oidc_issuer", "association_id", "association_arn"} {
		if v := attributeOf(t, p.value, name); v.IsKnown() {
			t.Errorf("%s is planned as %s, although identity is unknown", name, v)
		}
	}
}

// TestControllerRole_OptionsReachIAM sets what a user may say of a role, changes it, and
// finds a change by somebody else.
func TestControllerRole_OptionsReachIAM(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	const readOnly, boundary = "arn:aws:iam::aws:policy/ReadOnlyAccess", "arn:aws:iam::aws:policy/AdministratorAccess"
	config := object{
		"cluster_name": testCluster, "node_role_arn": testNodeRole, "description": "the daemon", "max_session_duration": 7200,
		"path": "/team/", "permissions_boundary": boundary, "additional_policy_arns": list{readOnly},
	}
	role := h.resource("karpenter_controller_role")
	wantNoError(t, role.apply(config))
	role.settled(config)
	found, err := cloud.clients.GetRole(t.Context(), theirControllerRole)
	if err != nil || found.Description != "the daemon" || found.MaxSessionDuration.Seconds() != 7200 || found.PermissionsBoundary != boundary || found.Path != "/team/" || len(found.ManagedPolicies) != 4 {
		t.Fatalf("made %+v, %v", found, err)
	}
	arns := attributes(t, attributeOf(t, role.state, "policy_arns"))
	for _, kind := range []string{"nodes", "profiles", "read"} {
		var arn string
		if err := arns[kind].As(&arn); err != nil || !strings.HasPrefix(arn, "arn:aws:iam::"+testAccount+":policy/team/") {
			t.Errorf("policy_arns[%s] = %s", kind, arns[kind])
		}
	}
	if len(arns) != 3 || role.text("unique_id") != found.ID {
		t.Errorf("policy_arns %v, unique_id %s", arns, role.text("unique_id"))
	}
	meddled := found
	meddled.Description, meddled.MaxSessionDuration = "meddled", 3600e9
	meddled.ManagedPolicies = nil
	if _, err := cloud.clients.UpdateRole(t.Context(), found, meddled); err != nil {
		t.Fatal(err)
	}
	for _, attribute := range []string{"description", "max_session_duration", "additional_policy_arns", "policies"} {
		role.drifted(config, attribute)
	}
	wantNoError(t, role.apply(config))
	role.settled(config)

	// Somebody else attaches a policy. It stays; the one of the configuration goes with it.
	const theirs = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
	if found, err = cloud.clients.GetRole(t.Context(), theirControllerRole); err != nil {
		t.Fatal(err)
	}
	more := found
	more.ManagedPolicies = append([]string{theirs}, found.ManagedPolicies...)
	if _, err := cloud.clients.UpdateRole(t.Context(), found, more); err != nil {
		t.Fatal(err)
	}
	delete(config, "additional_policy_arns")
	delete(config, "description")
	wantNoError(t, role.apply(config))
	role.settled(config)
	found, err = cloud.clients.GetRole(t.Context(), theirControllerRole)
	joined := strings.Join(found.ManagedPolicies, " ")
	if err != nil || strings.Contains(joined, readOnly) || !strings.Contains(joined, theirs) || found.Description != "Karpenter daemon of EKS cluster "+testCluster {
		t.Errorf("after the update %+v, %v", found, err)
	}
}
