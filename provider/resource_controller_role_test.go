package provider_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

const (
	testNodeRole = "arn:aws:iam::123456789012:role/nodes"
	testQueue    = "arn:aws:sqs:us-west-2:123456789012:lab"
)

func TestControllerRole_LifeWithDriftAndImport(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	config := object{"cluster_name": testCluster, "node_role_arn": testNodeRole, "node_role_arns": list{testNodeRole + "-a", testNodeRole + "-b"}, "queue_arn": testQueue}
	role := h.resource("karpenter_controller_role")
	wantNoError(t, role.apply(config))
	role.settled(config)
	const name = "KarpenterControllerRole-" + testCluster
	found, err := cloud.clients.GetRole(t.Context(), name)
	if err != nil || len(found.ManagedPolicies) != 4 || found.Tags["team"] != "platform" {
		t.Fatalf("made %+v, %v", found, err)
	}
	if want := awsspec.IRSATrust(testIssuer, testAccount, "aws", "karpenter", "karpenter"); !aws.SamePolicy(found.TrustPolicy, want) {
		t.Errorf("trust policy %s, want %s", found.TrustPolicy, want)
	}
	policy := func() aws.Policy {
		t.Helper()
		i := slices.IndexFunc(found.ManagedPolicies, func(arn string) bool { return strings.HasSuffix(arn, "-Nodes") })
		p, err := cloud.clients.GetPolicy(t.Context(), found.ManagedPolicies[i])
		if err != nil {
			t.Fatal(err)
		}
		return p
	}

	for name, drift := range map[string]struct {
		attribute string
		meddle    func() error
	}{
		"document changed": {"policies", func() error {
			meddled := policy()
			meddled.Document = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`
			_, err := cloud.clients.UpdatePolicy(t.Context(), policy(), meddled)
			return err
		}},
		"policy detached": {"policies", func() error {
			meddled := found
			meddled.ManagedPolicies = found.ManagedPolicies[1:]
			_, err := cloud.clients.UpdateRole(t.Context(), found, meddled)
			return err
		}},
		"trust changed": {"trust_policy", func() error {
			meddled := found
			meddled.TrustPolicy = awsspec.NodeTrust("aws")
			_, err := cloud.clients.UpdateRole(t.Context(), found, meddled)
			return err
		}},
		"role removed, policies left": {"arn", func() error { return cloud.clients.DeleteRole(t.Context(), found.Name, aws.AnyID) }},
	} {
		t.Run(name, func(t *testing.T) {
			if err := drift.meddle(); err != nil {
				t.Fatal(err)
			}
			role.drifted(config, drift.attribute)
			wantNoError(t, role.apply(config))
			role.settled(config)
			mended, err := cloud.clients.GetRole(t.Context(), found.Name)
			if err != nil || !slices.Equal(mended.ManagedPolicies, found.ManagedPolicies) || !aws.SamePolicy(mended.TrustPolicy, found.TrustPolicy) {
				t.Errorf("mended %+v, %v", mended, err)
			}
			if strings.Contains(policy().Document, `"Action":"*"`) {
				t.Errorf("the policy is still %s", policy().Document)
			}
			found = mended // if the role was removed, it is another role now
		})
	}
	t.Run("import", func(t *testing.T) {
		copied, diags := h.imported("karpenter_controller_role", testCluster+","+name)
		wantNoError(t, diags)
		if !copied.state.Equal(role.state) {
			t.Errorf("imported %s, want %s", copied.state, role.state)
		}
	})
	t.Run("update", func(t *testing.T) {
		config = object{"cluster_name": testCluster, "node_role_arn": testNodeRole, "namespace": "kube-system", "tags": object{"env": "test"}}
		wantNoError(t, role.apply(config))
		role.settled(config)
		updated, err := cloud.clients.GetRole(t.Context(), name)
		if err != nil || len(updated.ManagedPolicies) != 3 || !strings.Contains(updated.TrustPolicy, "serviceaccount:kube-system:karpenter") {
			t.Errorf("updated %+v, %v", updated, err)
		}
		if policy().Tags["env"] != "test" {
			t.Errorf("the policy has tags %v", policy().Tags)
		}
	})
	t.Run("gone", func(t *testing.T) {
		wantNoError(t, role.destroy())
		for _, arn := range found.ManagedPolicies {
			if _, err := cloud.clients.GetPolicy(t.Context(), arn); !errors.Is(err, aws.ErrNotFound) {
				t.Errorf("policy %s is still there: %v", arn, err)
			}
		}
		if _, err := cloud.clients.GetRole(t.Context(), name); !errors.Is(err, aws.ErrNotFound) {
			t.Errorf("the role is still there: %v", err)
		}
	})
}

func TestControllerRole_FailedCreateLeavesNothing(t *testing.T) {
	cloud := startCloud(t)
	if _, err := cloud.clients.CreateRole(t.Context(), aws.Role{Name: "taken", TrustPolicy: awsspec.NodeTrust("aws")}); err != nil {
		t.Fatal(err)
	}
	h := configured(t, cloud.config())
	role := h.resource("karpenter_controller_role")
	config := object{"cluster_name": testCluster, "name": "taken", "node_role_arn": testNodeRole}
	wantError(t, role.apply(config), `"lab,taken"`, "already exists", "import {")
	wantNothingMade(t, role)
	// The policies are gone too: another role may have them.
	config["name"] = "free"
	wantNoError(t, h.resource("karpenter_controller_role").apply(config))
}

func TestControllerRole_LeavesAPolicyOfSomebodyElseAlone(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	config := object{"cluster_name": testCluster, "node_role_arn": testNodeRole}
	planned := attributeOf(t, h.resource("karpenter_controller_role").plan(config).value, "policies")
	names := slices.Sorted(maps.Keys(attributes(t, planned)))
	theirs, err := cloud.clients.CreatePolicy(t.Context(), aws.Policy{
		Name: names[len(names)-1], Document: `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	role := h.resource("karpenter_controller_role")
	wantError(t, role.apply(config), names[len(names)-1], "already exists")
	wantNothingMade(t, role)
	if _, err := cloud.clients.GetPolicy(t.Context(), theirs.ARN); err != nil {
		t.Errorf("their policy: %v", err)
	}
}

// TestControllerRole_AnotherNameCanBeCreatedBeforeTheOldOneGoes makes two roles of one
// cluster, as create_before_destroy does after a new name. P18.
func TestControllerRole_AnotherNameCanBeCreatedBeforeTheOldOneGoes(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	before, after := h.resource("karpenter_controller_role"), h.resource("karpenter_controller_role")
	config := object{"cluster_name": testCluster, "node_role_arn": testNodeRole}
	wantNoError(t, before.apply(config))
	renamed := object{"cluster_name": testCluster, "node_role_arn": testNodeRole, "name": "another"}
	wantNoError(t, after.apply(renamed))
	wantNoError(t, before.destroy())
	after.settled(renamed)
	wantNoError(t, after.destroy())
}

func TestControllerRole_PlanShowsWhatIsKnown(t *testing.T) {
	h := configured(t, object{"region": testRegion})
	p := h.resource("karpenter_controller_role").plan(object{"cluster_name": testCluster, "node_role_arn": testNodeRole})
	wantNoError(t, p.problems)
	if policies := attributeOf(t, p.value, "policies"); !policies.IsFullyKnown() {
		t.Errorf("the policies are not planned: %s", policies)
	}
	p = h.resource("karpenter_controller_role").plan(object{"cluster_name": testCluster, "node_role_arn": unknown{}, "queue_arn": unknown{}})
	wantNoError(t, p.problems)
	if policies := attributeOf(t, p.value, "policies"); policies.IsKnown() {
		t.Errorf("policies are planned from what is not known: %s", policies)
	}
	for name, more := range map[string]any{"set": unknown{}, "element": list{unknown{}}} {
		p = h.resource("karpenter_controller_role").plan(object{"cluster_name": testCluster, "node_role_arn": testNodeRole, "node_role_arns": more})
		wantNoError(t, p.problems)
		if policies := attributeOf(t, p.value, "policies"); policies.IsKnown() {
			t.Errorf("policies are planned although the %s of further roles is unknown: %s", name, policies)
		}
	}
}

// TestControllerRole_WithoutARegionChangedPoliciesAreUnknown plans while the provider's region is
// not known yet: what was planned as before, an apply would contradict.
func TestControllerRole_WithoutARegionChangedPoliciesAreUnknown(t *testing.T) {
	cloud := startCloud(t)
	config := object{"cluster_name": testCluster, "node_role_arn": testNodeRole, "queue_arn": testQueue}
	role := configured(t, cloud.config()).resource("karpenter_controller_role")
	wantNoError(t, role.apply(config))
	later := *role
	later.h = role.h.again(object{"region": unknown{}})
	for name, c := range map[string]struct {
		more  object
		known bool
	}{
		"nothing":     {object{}, true},
		"description": {object{"description": "another"}, true},
		"statements":  {object{"additional_policy_statements": list{`{"Effect":"Allow","Action":"ec2:DescribeVpcs","Resource":"*"}`}}, false},
		"key":         {object{"queue_kms_key_arn": "arn:aws:kms:us-west-2:123456789012:key/a"}, false},
		"parameters":  {object{"ami_ssm_parameter_arns": list{"arn:aws:ssm:us-west-2:123456789012:parameter/a"}}, false},
		"queue":       {object{"queue_arn": testQueue + "-2"}, false},
		"node role":   {object{"node_role_arn": testNodeRole + "-2"}, false},
		"node roles":  {object{"node_role_arns": list{testNodeRole + "-2"}}, false},
	} {
		p := later.plan(with(config, c.more))
		wantNoError(t, p.problems)
		for _, attribute := range []string{"policies", "policy_arns"} {
			if value := attributeOf(t, p.value, attribute); value.IsKnown() != c.known {
				t.Errorf("%s: %s is planned as %s", name, attribute, value)
			}
		}
	}
	wantNoError(t, role.destroy())
}

func TestControllerRole_BadInputNamesTheField(t *testing.T) {
	h := newHarness(t)
	wantError(t, h.validate("karpenter_controller_role", object{"cluster_name": "lab", "node_role_arn": "nodes"}), "node_role_arn", "arn:<partition>:iam")
	wantError(t, h.validate("karpenter_controller_role", object{"cluster_name": "lab", "node_role_arn": testNodeRole, "node_role_arns": list{"nodes"}}), "node_role_arns", "arn:<partition>:iam")
	wantError(t, h.validate("karpenter_controller_role", object{"cluster_name": "lab", "node_role_arn": testNodeRole, "queue_arn": "lab"}), "queue_arn", "arn:aws:sqs")
	wantError(t, h.validate("karpenter_controller_role", object{"cluster_name": "-", "node_role_arn": testNodeRole}), "cluster_name")
}

func TestControllerRole_EveryNodeRoleMayBePassedOnce(t *testing.T) {
	h := configured(t, object{"region": testRegion})
	p := h.resource("karpenter_controller_role").plan(object{
		"cluster_name": testCluster, "node_role_arn": testNodeRole, "node_role_arns": list{testNodeRole + "-b", testNodeRole, testNodeRole + "-a"},
	})
	wantNoError(t, p.problems)
	want := `"Resource":["` + testNodeRole + `","` + testNodeRole + `-a","` + testNodeRole + `-b"]`
	for name, document := range attributes(t, attributeOf(t, p.value, "policies")) {
		var text string
		if err := document.As(&text); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "-Nodes") && !strings.Contains(text, want) {
			t.Errorf("policy %s is %s, want %s", name, text, want)
		}
	}
}
