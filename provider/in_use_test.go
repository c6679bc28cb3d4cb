package provider_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
)

// launch launches an instance of a node pool of the cluster with the instance profile nodes, as
// the daemon does, and returns its id. No launch template is left.
func (c *cloud) launch(t *testing.T) string {
	t.Helper()
	return c.launchTagged(t, awsspec.Owner{Cluster: testCluster, NodePool: "default", NodeClass: "default"}.InstanceTags(nil, "default-1", "image"))
}

// launchTagged launches an instance with the tags.
func (c *cloud) launchTagged(t *testing.T, tags map[string]string) string {
	t.Helper()
	const profile = "nodes"
	owner := awsspec.Owner{Cluster: testCluster, NodePool: "default", NodeClass: "default"}
	image := c.EC2.SeedImage(ec2sim.Image{Name: "al2023", Arch: "x86_64"})
	template, err := c.clients.EnsureLaunchTemplate(t.Context(), awsspec.LaunchTemplate{
		ImageID: image, InstanceProfile: profile, SecurityGroupIDs: []string{c.vpc.ClusterSecurityGroupID}, UserData: profile, Tags: owner.Tags(nil),
		Metadata: awsspec.Metadata{HTTPEndpoint: "enabled", HTTPProtocolIPv6: "disabled", HTTPTokens: "required", HopLimit: 1},
	})
	must(t, err)
	launched, err := c.clients.Launch(t.Context(), aws.LaunchRequest{
		LaunchTemplate: template, CapacityType: aws.CapacityTypeOnDemand, ClientToken: awsspec.ClientToken(image, 1), Tags: tags,
		Overrides: []aws.Override{{InstanceType: "m5.large", Zone: "us-west-2a", SubnetID: c.vpc.SubnetIDs[0], ImageID: image}},
	})
	must(t, err)
	must(t, c.clients.DeleteLaunchTemplate(t.Context(), template))
	return launched.InstanceID
}

// endsOnce terminates the instance as soon as somebody has asked for instances, and not
// before.
func (c *cloud) endsOnce(t *testing.T, id string) {
	t.Helper()
	seen := len(c.Calls())
	done := make(chan struct{})
	t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			for _, call := range c.Calls()[seen:] {
				if call.Action == "DescribeInstances" {
					if err := c.EC2.Terminate(id); err != nil {
						t.Error(err)
					}
					return
				}
			}
		}
		t.Error("nobody has asked for instances")
	}()
}

// briefDelete is a time for a deletion that is to refuse, and enough for one that is not.
func briefDelete(config object) object {
	config["timeouts"] = object{"delete": "3s"}
	return config
}

// withNodes are a node role and an instance profile with a running instance.
func withNodes(t *testing.T, c *cloud) (role, profile *instance, id string) {
	t.Helper()
	h := configured(t, c.config())
	role, profile = h.resource("karpenter_node_role"), h.resource("karpenter_instance_profile")
	wantNoError(t, role.apply(briefDelete(object{"cluster_name": testCluster})))
	wantNoError(t, profile.apply(briefDelete(object{"name": "nodes", "role": role.text("name")})))
	return role, profile, c.launch(t)
}

func TestInstanceProfile_IsNeverDeletedWhileInstancesHaveIt(t *testing.T) {
	cloud := startCloud(t)
	role, profile, id := withNodes(t, cloud)
	wantError(t, profile.destroy(), `karpenter_instance_profile "nodes"`, "instances have the instance profile (nothing was changed): 1 instance: "+id, "create_before_destroy")
	if found, err := cloud.clients.GetInstanceProfile(t.Context(), "nodes"); err != nil || found.Role != role.text("name") {
		t.Fatalf("the instance has %+v, %v", found, err)
	}
	wantNoError(t, profile.apply(object{"name": "nodes", "role": role.text("name")})) // a deletion has time
	cloud.endsOnce(t, id)
	wantNoError(t, profile.destroy())
	wantNoError(t, role.destroy())
}

func TestNodeRole_IsNeverDeletedWhileInstancesHaveIt(t *testing.T) {
	cloud := startCloud(t)
	role, profile, id := withNodes(t, cloud)
	whole := func() {
		t.Helper()
		found, err := cloud.clients.GetRole(t.Context(), role.text("name"))
		if err != nil || len(found.ManagedPolicies) != len(awsspec.NodeManagedPolicyARNs("aws")) {
			t.Errorf("the role is %+v, %v", found, err)
		}
		if _, err := cloud.clients.GetAccessEntry(t.Context(), testCluster, role.text("arn")); err != nil {
			t.Errorf("the access entry: %v", err)
		}
	}
	wantError(t, role.destroy(), "nodes may still need the role (nothing was changed)", `instance profile "nodes" (1 instance: `+id+")", "create_before_destroy")
	whole()
	// Somebody, or an earlier version of the provider, has deleted the only witness.
	must(t, cloud.clients.DeleteInstanceProfile(t.Context(), "nodes", aws.AnyID))
	wantError(t, role.destroy(), "1 instance: "+id+", whose instance profile no longer exists")
	whole()
	// An instance profile of the same name is another one.
	_, err := cloud.clients.CreateInstanceProfile(t.Context(), aws.InstanceProfile{Name: "nodes", Role: role.text("name")})
	must(t, err)
	must(t, cloud.clients.DeleteInstanceProfile(t.Context(), "nodes", aws.AnyID))
	wantNoError(t, profile.read())
	wantNoError(t, role.apply(object{"cluster_name": testCluster}))
	cloud.endsOnce(t, id)
	wantNoError(t, role.destroy())
}

// TestNodeRole_InstancesOfAnotherRoleDoNotKeepIt destroys a role beside one that is in use.
func TestNodeRole_InstancesOfAnotherRoleDoNotKeepIt(t *testing.T) {
	cloud := startCloud(t)
	role, _, _ := withNodes(t, cloud)
	another := role.h.resource("karpenter_node_role")
	wantNoError(t, another.apply(object{"cluster_name": testCluster, "name": "another"}))
	wantNoError(t, another.destroy())
}

// TestDestroy_SideBySideWaitsForTheInstances destroys what has no references to each other, as
// a configuration that was generated from imports.
func TestDestroy_SideBySideWaitsForTheInstances(t *testing.T) {
	cloud := startCloud(t)
	role, profile, id := withNodes(t, cloud)
	wantNoError(t, role.apply(object{"cluster_name": testCluster}))
	wantNoError(t, profile.apply(object{"name": "nodes", "role": role.text("name")}))
	queue, controller := role.h.resource("karpenter_interruption_queue"), role.h.resource("karpenter_controller_role")
	wantNoError(t, queue.apply(object{"cluster_name": testCluster}))
	wantNoError(t, controller.apply(object{"cluster_name": testCluster, "node_role_arn": role.text("arn"), "queue_arn": queue.text("arn")}))
	ended := make(chan []*tfprotov6.Diagnostic)
	all := []*instance{role, profile, queue, controller}
	for _, i := range all {
		go func() { ended <- i.destroy() }()
	}
	cloud.endsOnce(t, id)
	for range all {
		wantNoError(t, <-ended)
	}
}

func TestDaemonRole_IsNeverDeletedWhileNodesRun(t *testing.T) {
	cloud := startCloud(t)
	role, _, id := withNodes(t, cloud)
	for _, identity := range []string{"irsa", "pod_identity"} {
		controller := role.h.resource("karpenter_controller_role")
		config := object{"cluster_name": testCluster, "node_role_arn": role.text("arn"), "identity": identity, "name": identity}
		wantNoError(t, controller.apply(briefDelete(config)))
		wantError(t, controller.destroy(), "the daemon still needs the role (nothing was changed)", `node pools of cluster "lab" have 1 instance: `+id, "create_before_destroy", "terraform state rm")
		controller.settled(config)
	}
}

// TestDaemonRole_OneThatServesInItsPlaceLetsItGoWhileNodesRun renames with
// create_before_destroy: the old role goes, and the new one does not.
func TestDaemonRole_OneThatServesInItsPlaceLetsItGoWhileNodesRun(t *testing.T) {
	cloud := startCloud(t)
	role, _, _ := withNodes(t, cloud)
	before, after := role.h.resource("karpenter_controller_role"), role.h.resource("karpenter_controller_role")
	config := object{"cluster_name": testCluster, "node_role_arn": role.text("arn")}
	wantNoError(t, before.apply(briefDelete(config)))
	foreign := object{"cluster_name": testCluster, "node_role_arn": role.text("arn"), "name": "of-another-service-account", "service_account": "other"}
	wantNoError(t, role.h.resource("karpenter_controller_role").apply(foreign))
	wantError(t, before.destroy(), "the daemon still needs the role")
	renamed := briefDelete(object{"cluster_name": testCluster, "node_role_arn": role.text("arn"), "name": "another"})
	wantNoError(t, after.apply(renamed))
	wantNoError(t, before.destroy())
	wantError(t, after.destroy(), "the daemon still needs the role")
	after.settled(renamed)
}

// replaced deletes the resource as Terraform does before it creates the one in its place.
func (i *instance) replaced(config object) []*tfprotov6.Diagnostic {
	i.h.t.Helper()
	p := i.plan(config)
	wantNoError(i.h.t, p.problems)
	if len(p.replace) == 0 {
		i.h.t.Fatal("the plan is no replacement")
	}
	next := i.h.resource(i.kind)
	next.private = p.private
	null := tftypes.NewValue(i.h.typeOf(i.kind), nil)
	return i.change(null, null, next.plan(config).private)
}

func TestQueue_IsNeverDestroyedWhileNodesRunButForAnother(t *testing.T) {
	cloud := startCloud(t)
	role, _, id := withNodes(t, cloud)
	queue := role.h.resource("karpenter_interruption_queue")
	config := briefDelete(object{"cluster_name": testCluster})
	wantNoError(t, queue.apply(config))
	wantError(t, queue.destroy(), "the daemon still needs the queue (nothing was changed)", "1 instance: "+id, "A new name may be applied while nodes run")
	queue.settled(config)
	renamed := briefDelete(object{"cluster_name": testCluster, "name": "another"})
	wantNoError(t, queue.replaced(renamed))
	next := role.h.resource("karpenter_interruption_queue")
	wantNoError(t, next.apply(renamed))
	wantError(t, next.destroy(), "the daemon still needs the queue")
}

// TestReplacement_ThatFailedIsNoneInTheNextPlan fails in the first half of a replacement, and
// destroys then.
func TestReplacement_ThatFailedIsNoneInTheNextPlan(t *testing.T) {
	cloud := startCloud(t)
	role, _, _ := withNodes(t, cloud)
	queue := role.h.resource("karpenter_interruption_queue")
	wantNoError(t, queue.apply(briefDelete(object{"cluster_name": testCluster})))
	cloud.Faults().Inject(awssim.Fault{Service: "sqs", Action: "DeleteQueue", Code: "AccessDenied", Times: 1, Status: 403})
	wantError(t, queue.replaced(briefDelete(object{"cluster_name": testCluster, "name": "another"})), "DeleteQueue")
	p := queue.planDestroy()
	wantNoError(t, p.problems)
	null := tftypes.NewValue(queue.h.typeOf(queue.kind), nil)
	wantError(t, queue.change(null, null, p.private), "the daemon still needs the queue")
}

// TestUndo_OfWhatNothingUsesDoesNotWaitForNodes fails in a creation while nodes run. Also what
// the creation has left can be removed: nothing uses it.
func TestUndo_OfWhatNothingUsesDoesNotWaitForNodes(t *testing.T) {
	cloud := startCloud(t)
	role, _, _ := withNodes(t, cloud)
	queue := role.h.resource("karpenter_interruption_queue")
	config := object{"cluster_name": testCluster}
	cloud.Faults().Inject(awssim.Fault{Service: "events", Action: "PutRule", Code: "AccessDeniedException", Times: 1, Status: 403})
	wantError(t, queue.apply(config), "PutRule")
	wantNothingMade(t, queue)
	cloud.Faults().Inject(awssim.Fault{Service: "events", Action: "PutRule", Code: "AccessDeniedException", Times: 1, Status: 403})
	cloud.Faults().Inject(awssim.Fault{Service: "sqs", Action: "DeleteQueue", Code: "AccessDenied", Times: 1, Status: 403})
	if diags := queue.apply(config); len(diags) != 2 || !queue.tainted {
		t.Fatalf("%d diagnostics, state %s", len(diags), queue.state)
	}
	wantNoError(t, queue.apply(config))
	queue.settled(config)
}

// TestDestroy_WithoutRightsToLookNamesThem does not let the deployer ask for instances.
func TestDestroy_WithoutRightsToLookNamesThem(t *testing.T) {
	cloud := startCloud(t)
	role, profile, _ := withNodes(t, cloud)
	queue, controller := role.h.resource("karpenter_interruption_queue"), role.h.resource("karpenter_controller_role")
	wantNoError(t, queue.apply(object{"cluster_name": testCluster}))
	wantNoError(t, controller.apply(object{"cluster_name": testCluster, "node_role_arn": role.text("arn")}))
	cloud.Faults().Inject(awssim.Fault{
		Service: "ec2", Action: "DescribeInstances", Code: "UnauthorizedOperation", Times: 4, Status: 403,
		Message: "User: arn:aws:iam::" + testAccount + ":user/deployer is not authorized to perform: ec2:DescribeInstances on resource: *",
	})
	for _, i := range []*instance{role, profile, queue, controller} {
		wantError(t, i.destroy(), "not authorized to perform ec2:DescribeInstances", "Allow that action")
	}
}

// TestNodeRole_ThatExistsIsJudgedByInstancesWhereIAMMayNotBeAsked destroys the access entry of
// a role that the deployer may not look at.
func TestNodeRole_ThatExistsIsJudgedByInstancesWhereIAMMayNotBeAsked(t *testing.T) {
	cloud := startCloud(t)
	theirs := existingRole(t, cloud)
	entry := configured(t, cloud.config()).resource("karpenter_node_role")
	wantNoError(t, entry.apply(briefDelete(object{"cluster_name": testCluster, "existing_role_arn": theirs.ARN})))
	_, err := cloud.clients.CreateInstanceProfile(t.Context(), aws.InstanceProfile{Name: "nodes", Role: theirs.Name})
	must(t, err)
	id := cloud.launch(t)
	deny := func(actions string) {
		cloud.Faults().Clear()
		for _, a := range strings.Fields(actions) {
			cloud.Faults().Inject(awssim.Fault{Service: "iam", Action: a, Code: "AccessDenied", Times: 9, Status: 403})
		}
	}
	deny("ListInstanceProfilesForRole")
	wantError(t, entry.destroy(), "nodes may still need the role", "1 instance: "+id)
	deny("ListInstanceProfilesForRole GetInstanceProfile")
	wantError(t, entry.destroy(), "iam:GetInstanceProfile", "Allow that action")
	must(t, cloud.EC2.Terminate(id))
	deny("ListInstanceProfilesForRole GetInstanceProfile")
	wantNoError(t, entry.destroy())
}

// TestPlan_SaysHowManyInstancesNeedWhatItTakesAway plans destructions, replacements and
// updates while a node runs.
func TestPlan_SaysHowManyInstancesNeedWhatItTakesAway(t *testing.T) {
	cloud := startCloud(t)
	role, profile, id := withNodes(t, cloud)
	h := role.h
	queue, controller := h.resource("karpenter_interruption_queue"), h.resource("karpenter_controller_role")
	wantNoError(t, queue.apply(object{"cluster_name": testCluster}))
	wantNoError(t, controller.apply(object{"cluster_name": testCluster, "node_role_arn": testNodeRole}))
	name := role.text("name")
	for what, tt := range map[string]struct {
		plan plan
		says string
	}{
		"profile destroyed":     {profile.planDestroy(), "the plan destroys it"},
		"profile renamed":       {profile.plan(object{"name": "other", "role": name}), "the plan replaces it"},
		"profile moved":         {profile.plan(object{"name": "nodes", "role": name, "path": "/a/"}), "the plan replaces it"},
		"another role":          {profile.plan(object{"name": "nodes", "role": "other"}), "the plan gives it another role"},
		"role destroyed":        {role.planDestroy(), "the plan destroys it"},
		"role renamed":          {role.plan(object{"cluster_name": testCluster, "name": "other"}), "the plan replaces it"},
		"role of another":       {role.plan(object{"cluster_name": testCluster, "existing_role_arn": testNodeRole}), "the plan replaces it"},
		"without access entry":  {role.plan(object{"cluster_name": testCluster, "access_entry": object{"create": false}}), "the plan removes its access entry"},
		"another access entry":  {role.plan(object{"cluster_name": testCluster, "access_entry": object{"type": "EC2_WINDOWS"}}), "the plan replaces its access entry"},
		"controller destroyed":  {controller.planDestroy(), "the plan destroys it"},
		"controller renamed":    {controller.plan(object{"cluster_name": testCluster, "node_role_arn": testNodeRole, "name": "other"}), "the plan replaces it"},
		"controller role moved": {controller.plan(object{"cluster_name": testCluster, "node_role_arn": testNodeRole, "path": "/a/"}), "the plan replaces it"},
		"queue destroyed":       {queue.planDestroy(), "the plan destroys it"},
		"queue renamed":         {queue.plan(object{"cluster_name": testCluster, "name": "other"}), "the plan replaces it"},
	} {
		wantNoError(t, tt.plan.problems)
		if len(tt.plan.problems) != 1 || !strings.Contains(tt.plan.problems[0].Detail, tt.says) || !strings.Contains(tt.plan.problems[0].Detail, "1 instance: "+id) {
			t.Errorf("%s: the plan says %+v", what, tt.plan.problems)
		}
	}
	for what, p := range map[string]plan{
		"profile": profile.plan(object{"name": "nodes", "role": name, "tags": object{"a": "1"}}), "role": role.plan(object{"cluster_name": testCluster, "description": "x"}),
		"queue": queue.plan(object{"cluster_name": testCluster, "tags": object{"a": "1"}}), "controller": controller.plan(object{"cluster_name": testCluster, "node_role_arn": testNodeRole, "description": "x"}),
	} {
		if len(p.problems) > 0 {
			t.Errorf("%s: an update that takes nothing away warns: %+v", what, p.problems[0])
		}
	}
}

// TestInstanceProfile_AnUpdateThatFailsLeavesTheFormerRole gives a role that does not exist.
func TestInstanceProfile_AnUpdateThatFailsLeavesTheFormerRole(t *testing.T) {
	cloud := startCloud(t)
	role, profile, _ := withNodes(t, cloud)
	wantError(t, profile.apply(object{"name": "nodes", "role": "absent", "timeouts": object{"update": "1s"}}), `role "absent"`)
	if found, err := cloud.clients.GetInstanceProfile(t.Context(), "nodes"); err != nil || found.Role != role.text("name") {
		t.Errorf("the instance has %+v, %v", found, err)
	}
}
