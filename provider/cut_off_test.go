package provider_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
)

// forgotten is what a creation leaves whose state was never saved.
func forgotten(t *testing.T, h *harness, kind string, config object) {
	t.Helper()
	wantNoError(t, h.resource(kind).apply(config))
}

func TestCutOff_WhatDiffersIsNeverTakenUp(t *testing.T) {
	config := object{"cluster_name": testCluster, "node_role_arn": testNodeRole}
	for name, meddle := range map[string]func(context.Context, *cloud) error{
		"another description": func(ctx context.Context, c *cloud) error {
			return c.meddleWithRole(ctx, theirControllerRole, func(r *aws.Role) { r.Description = "meddled" })
		},
		"one tag more": func(ctx context.Context, c *cloud) error {
			return c.meddleWithRole(ctx, theirControllerRole, func(r *aws.Role) { r.Tags = map[string]string{"team": "platform", "owner": "somebody"} })
		},
		"one policy more": func(ctx context.Context, c *cloud) error {
			return c.meddleWithRole(ctx, theirControllerRole, func(r *aws.Role) {
				r.ManagedPolicies = append(slices.Clone(r.ManagedPolicies), "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore")
			})
		},
		"an inline policy": func(ctx context.Context, c *cloud) error {
			return c.meddleWithRole(ctx, theirControllerRole, func(r *aws.Role) {
				r.InlinePolicies = map[string]string{"theirs": `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}`}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := startCloud(t)
			h := configured(t, cloud.config())
			forgotten(t, h, "karpenter_controller_role", config)
			must(t, meddle(t.Context(), cloud))
			before := cloud.named(nil)
			role := h.again(cloud.config()).resource("karpenter_controller_role")
			diags := role.apply(config)
			wantError(t, diags, "already exists", "import")
			wantNothingMade(t, role)
			if !warns(diags, `policy "`+controllerPolicyNames()[0]+`"`) {
				t.Errorf("nothing names the policies that stay: %v", diags)
			}
			if d := differs(before, cloud.named(nil)); d != "" {
				t.Errorf("the apply that failed has changed something: %s", d)
			}
		})
	}
}

// TestCutOff_AContinuationThatFailsGoesOnLater has a role of somebody else in the way of a
// creation that was cut off, and removes it.
func TestCutOff_AContinuationThatFailsGoesOnLater(t *testing.T) {
	cloud := startCloud(t)
	before := cloud.named(nil)
	config := object{"cluster_name": testCluster, "node_role_arn": testNodeRole, "identity": "pod_identity"}
	forgotten(t, configured(t, cloud.config()), "karpenter_controller_role", config)
	must(t, cloud.clients.DeleteRole(t.Context(), theirControllerRole, aws.AnyID))
	must(t, theirRole(theirControllerRole)(t.Context(), cloud))
	role := configured(t, cloud.config()).resource("karpenter_controller_role")
	wantError(t, role.apply(config), "already exists")
	wantNothingMade(t, role)
	must(t, cloud.clients.DeleteRole(t.Context(), theirControllerRole, aws.AnyID))
	diags := role.apply(config)
	wantNoError(t, diags)
	if !warns(diags, "was cut off") {
		t.Error("nothing says what was taken up")
	}
	role.settled(config)
	wantNoError(t, configuredFor(t, cloud, role).destroy())
	if d := differs(before, cloud.named(nil)); d != "" {
		t.Errorf("the destroy has left something: %s", d)
	}
}

// configuredFor is the resource in the next run of Terraform.
func configuredFor(t *testing.T, cloud *cloud, i *instance) *instance {
	t.Helper()
	next := *i
	next.h = i.h.again(cloud.config())
	return &next
}

// TestCutOff_TwoResourcesOfOneRunNeverShareAnObject declares the same objects twice.
func TestCutOff_TwoResourcesOfOneRunNeverShareAnObject(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	config := object{"cluster_name": testCluster}
	first, second := h.resource("karpenter_node_role"), h.resource("karpenter_node_role")
	wantNoError(t, first.apply(config))
	wantError(t, second.apply(config), "another resource of this configuration", "Remove one of the two")
	wantNothingMade(t, second)
	first.settled(config)
}

// TestCutOff_AnEqualReplacementKeepsWhatItTookUp replaces a role by an equal one, with
// create_before_destroy: the new resource comes first, then the old one is destroyed.
func TestCutOff_AnEqualReplacementKeepsWhatItTookUp(t *testing.T) {
	cloud := startCloud(t)
	for kind, config := range map[string]object{
		"karpenter_controller_role":    {"cluster_name": testCluster, "node_role_arn": testNodeRole, "identity": "pod_identity"},
		"karpenter_node_role":          {"cluster_name": testCluster},
		"karpenter_interruption_queue": {"cluster_name": testCluster},
	} {
		t.Run(kind, func(t *testing.T) {
			old := configured(t, cloud.config()).resource(kind)
			wantNoError(t, old.apply(config))
			made := cloud.named(nil)
			old = configuredFor(t, cloud, old)
			replacement := old.h.resource(kind)
			wantNoError(t, replacement.apply(config))
			diags := old.destroy()
			wantNoError(t, diags)
			if !warns(diags, "Nothing was replaced") {
				t.Error("nothing says that the old objects stay")
			}
			if d := differs(made, cloud.named(nil)); d != "" {
				t.Errorf("the destroy has removed something: %s", d)
			}
			replacement.settled(config)
		})
	}
}

// TestCutOff_WhatIsTakenUpWhileADeletionWaitsStays renames resources without a moved block: the
// old one waits for an instance while the new one takes up what there is.
func TestCutOff_WhatIsTakenUpWhileADeletionWaitsStays(t *testing.T) {
	cloud := startCloud(t)
	role, profile, _ := withNodes(t, cloud)
	queue, controller := role.h.resource("karpenter_interruption_queue"), role.h.resource("karpenter_controller_role")
	for old, config := range map[*instance]object{
		role:       {"cluster_name": testCluster},
		profile:    {"name": "nodes", "role": role.text("name")},
		queue:      {"cluster_name": testCluster},
		controller: {"cluster_name": testCluster, "node_role_arn": role.text("arn"), "identity": "pod_identity"},
	} {
		t.Run(old.kind, func(t *testing.T) {
			config["timeouts"] = object{"delete": "1m"} // nothing ends the instance
			wantNoError(t, old.apply(config))
			made := cloud.named(nil)
			old = configuredFor(t, cloud, old)
			replacement := old.h.resource(old.kind)
			seen, ended := len(cloud.Calls()), make(chan []*tfprotov6.Diagnostic)
			go func() { ended <- old.destroy() }()
			for !slices.ContainsFunc(cloud.Calls()[seen:], func(c awssim.Call) bool { return c.Action == "DescribeInstances" }) {
				time.Sleep(10 * time.Millisecond)
			}
			wantNoError(t, replacement.apply(config))
			diags := <-ended
			wantNoError(t, diags)
			if !warns(diags, "Nothing was replaced") {
				t.Error("nothing says that the old objects stay")
			}
			if d := differs(made, cloud.named(nil)); d != "" {
				t.Errorf("the destroy has removed something: %s", d)
			}
			replacement.settled(config)
		})
	}
}

// TestCutOff_AnEntryOfARoleThatExistsNeedsTags tells ours from the access entry that EKS
// makes for a managed node group.
func TestCutOff_AnEntryOfARoleThatExistsNeedsTags(t *testing.T) {
	for name, tagged := range map[string]bool{"with tags": true, "without tags": false} {
		t.Run(name, func(t *testing.T) {
			cloud := startCloud(t)
			provider := cloud.config()
			if !tagged {
				delete(provider, "default_tags")
			}
			config := object{"cluster_name": testCluster, "existing_role_arn": existingRole(t, cloud).ARN}
			forgotten(t, configured(t, provider), "karpenter_node_role", config)
			role := configured(t, provider).resource("karpenter_node_role")
			diags := role.apply(config)
			if !tagged {
				wantError(t, diags, "did not create")
				return
			}
			wantNoError(t, diags)
			if !warns(diags, "access entry for ") {
				t.Errorf("nothing names the access entry: %v", diags)
			}
			role.settled(config)
		})
	}
}

// TestCutOff_AnEntryThatIsOlderThanItsRoleIsNotTakenUp deletes the role alone: EKS would not
// let the instances of a new role in.
func TestCutOff_AnEntryThatIsOlderThanItsRoleIsNotTakenUp(t *testing.T) {
	cloud := startCloud(t)
	config := object{"cluster_name": testCluster}
	forgotten(t, configured(t, cloud.config()), "karpenter_node_role", config)
	for made := time.Now().Unix(); time.Now().Unix() == made; { // IAM tells the second of a creation
		time.Sleep(20 * time.Millisecond)
	}
	must(t, cloud.clients.DeleteRole(t.Context(), theirNodeRole, aws.AnyID))
	role := configured(t, cloud.config()).resource("karpenter_node_role")
	wantError(t, role.apply(config), "access entry", "older than the role")
	wantNothingMade(t, role)
	if _, err := cloud.clients.GetRole(t.Context(), theirNodeRole); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("the role that the failed apply made is left: %v", err)
	}
}

// TestImport_OfAControllerRoleFindsPoliciesThatAreNotAttached imports what a creation leaves
// that was cut off before it has attached the policies, or when it has attached one.
func TestImport_OfAControllerRoleFindsPoliciesThatAreNotAttached(t *testing.T) {
	config := object{"cluster_name": testCluster, "node_role_arn": testNodeRole, "node_role_arns": list{testNodeRole + "-2"}, "queue_arn": testQueue, "path": "/karpenter/"}
	for name, attached := range map[string]int{"none": 0, "one": 1, "all but one": 3} {
		t.Run(name, func(t *testing.T) {
			cloud := startCloud(t)
			before := cloud.named(nil)
			h := configured(t, cloud.config())
			made := h.resource("karpenter_controller_role")
			wantNoError(t, made.apply(config))
			want := cloud.named(nil)
			must(t, cloud.meddleWithRole(t.Context(), theirControllerRole, func(r *aws.Role) { r.ManagedPolicies = r.ManagedPolicies[:attached] }))
			imported, diags := h.again(cloud.config()).imported("karpenter_controller_role", testCluster+","+theirControllerRole)
			wantNoError(t, diags)
			if got := imported.text("node_role_arn"); got != testNodeRole {
				t.Errorf("node_role_arn %q", got)
			}
			wantNoError(t, imported.apply(config))
			imported.settled(config)
			if d := differs(want, cloud.named(nil)); d != "" {
				t.Errorf("the apply does not make what a creation makes: %s", d)
			}
			wantNoError(t, imported.destroy())
			if d := differs(before, cloud.named(nil)); d != "" {
				t.Errorf("the destroy has left something: %s", d)
			}
		})
	}
}

func TestDestroy_SaysWhichTagsOfOthersStay(t *testing.T) {
	cloud := startCloud(t)
	subnet, group := cloud.vpc.SubnetIDs[0], cloud.vpc.ClusterSecurityGroupID
	if _, err := cloud.clients.CreateNetworkTag(t.Context(), awsspec.TagDiscovery, testCluster, subnet); err != nil {
		t.Fatal(err)
	}
	tags := configured(t, cloud.config()).resource("karpenter_discovery_tags")
	wantNoError(t, tags.apply(object{"cluster_name": testCluster, "subnet_ids": list{subnet}, "security_group_ids": list{group}}))
	diags := tags.destroy()
	wantNoError(t, diags)
	if !warns(diags, subnet) || warns(diags, group) {
		t.Errorf("the destroy says %v", diags)
	}
}

func TestDestroy_SaysThatAnAdoptedSpotRoleStays(t *testing.T) {
	cloud := startCloud(t)
	forgotten(t, configured(t, cloud.config()), spotRoleKind, object{})
	role := configured(t, cloud.config()).resource(spotRoleKind)
	wantNoError(t, role.apply(object{"delete_on_destroy": true}))
	diags := role.destroy()
	wantNoError(t, diags)
	if !warns(diags, "was there before") {
		t.Errorf("the destroy says %v", diags)
	}
}
