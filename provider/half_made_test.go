package provider_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
)

// calls has the create call of each kind of AWS object, with a resource that makes
// the call.
func calls() map[string]struct {
	kind   string
	config object
} {
	type made = struct {
		kind   string
		config object
	}
	node := made{"karpenter_node_role", object{"cluster_name": testCluster}}
	queue := made{"karpenter_interruption_queue", object{"cluster_name": testCluster}}
	return map[string]made{
		"CreateRole": node, "CreateAccessEntry": node, "CreateQueue": queue, "PutRule": queue, "PutTargets": queue,
		"CreatePolicy":                 {"karpenter_controller_role", object{"cluster_name": testCluster, "node_role_arn": testNodeRole}},
		"CreateInstanceProfile":        {"karpenter_instance_profile", object{"name": "nodes", "role": "nodes"}},
		"CreatePodIdentityAssociation": {"karpenter_controller_role", object{"cluster_name": testCluster, "node_role_arn": testNodeRole, "identity": "pod_identity"}},
		"CreateServiceLinkedRole":      {spotRoleKind, object{}},
	}
}

// TestCreate_LostAnswerIsNoConflict loses the answer to one create of each kind. The
// object exists when the call is repeated, and it is ours.
func TestCreate_LostAnswerIsNoConflict(t *testing.T) {
	for action, made := range calls() {
		t.Run(action, func(t *testing.T) {
			cloud := startCloud(t)
			if err := nodesRole(t.Context(), cloud); err != nil {
				t.Fatal(err)
			}
			resource := configured(t, cloud.config()).resource(made.kind)
			cloud.Faults().Inject(awssim.Fault{Action: action, DropResponse: true, Times: 1})
			wantNoError(t, resource.apply(made.config))
			resource.settled(made.config)
			wantNoError(t, resource.destroy())
			wantNoError(t, resource.h.resource(made.kind).apply(made.config)) // nothing was left
		})
	}
}

// TestCreate_LostAnswerDoesNotAdoptWhatIsNotAsAsked puts a role in the way that is
// just as new, but differs from the role that the create asks for.
func TestCreate_LostAnswerDoesNotAdoptWhatIsNotAsAsked(t *testing.T) {
	cloud := startCloud(t)
	if err := theirRole(theirNodeRole)(t.Context(), cloud); err != nil {
		t.Fatal(err)
	}
	role := configured(t, cloud.config()).resource("karpenter_node_role")
	cloud.Faults().Inject(awssim.Fault{Action: "CreateRole", DropResponse: true, Times: 1})
	wantError(t, role.apply(object{"cluster_name": testCluster}), "already exists")
	wantNothingMade(t, role)
}

// TestCreate_WhatCannotBeReadBackLeavesNothing denies the read of an object that was
// made a moment ago.
func TestCreate_WhatCannotBeReadBackLeavesNothing(t *testing.T) {
	for action, service := range map[string]string{"DescribeAccessEntry": "eks", "GetQueueAttributes": "sqs"} {
		t.Run(action, func(t *testing.T) {
			cloud := startCloud(t)
			made := calls()[map[string]string{"eks": "CreateAccessEntry", "sqs": "CreateQueue"}[service]]
			resource := configured(t, cloud.config()).resource(made.kind)
			cloud.Faults().Inject(awssim.Fault{Service: service, Action: action, Code: "AccessDeniedException", Times: 1})
			if diags := resource.apply(made.config); hasError(diags) {
				wantNothingMade(t, resource)
				wantNoError(t, resource.apply(made.config))
			}
			cloud.Faults().Clear()
			resource.settled(made.config)
		})
	}
}

// TestUndo_WhatIsNotFoundYetIsRemovedAllTheSame undoes a create while IAM does not
// yet find the role that was made a moment ago.
func TestUndo_WhatIsNotFoundYetIsRemovedAllTheSame(t *testing.T) {
	cloud := startCloud(t)
	role := configured(t, cloud.config()).resource("karpenter_node_role")
	config := object{"cluster_name": testCluster}
	cloud.Faults().Inject(awssim.Fault{Service: "iam", Action: "AttachRolePolicy", Code: "AccessDenied", Times: 1, Status: 403})
	cloud.Faults().Inject(awssim.Fault{Service: "iam", Action: "GetRole", Code: "NoSuchEntity", Times: 1, Status: 404})
	wantError(t, role.apply(config), "AttachRolePolicy")
	wantNothingMade(t, role)
	if left := rolesOf(t.Context(), cloud, theirNodeRole); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestUndo_WhatCannotBeTakenBackIsKeptInState also denies the removal. The next apply
// removes what remains.
func TestUndo_WhatCannotBeTakenBackIsKeptInState(t *testing.T) {
	cloud := startCloud(t)
	role := configured(t, cloud.config()).resource("karpenter_node_role")
	config := object{"cluster_name": testCluster}
	cloud.Faults().Inject(awssim.Fault{Service: "iam", Action: "AttachRolePolicy", Code: "AccessDenied", Times: 1, Status: 403})
	cloud.Faults().Inject(awssim.Fault{Service: "iam", Action: "DeleteRole", Code: "AccessDenied", Times: 1, Status: 403})
	diags := role.apply(config)
	if len(diags) != 2 || role.state.IsNull() || !role.tainted {
		t.Fatalf("%d diagnostics, state %s", len(diags), role.state)
	}
	wantNoError(t, role.apply(config))
	role.settled(config)
}

// TestUpdate_AfterAFailedOneNeedsNoRefresh makes a role again, fails half-way, and
// applies once more without a refresh.
func TestUpdate_AfterAFailedOneNeedsNoRefresh(t *testing.T) {
	for kind, name := range map[string]string{"karpenter_controller_role": theirControllerRole, "karpenter_node_role": theirNodeRole} {
		t.Run(kind, func(t *testing.T) {
			cloud := startCloud(t)
			role := configured(t, cloud.config()).resource(kind)
			config := object{"cluster_name": testCluster}
			if kind == "karpenter_controller_role" {
				config["node_role_arn"] = testNodeRole
			}
			wantNoError(t, role.apply(config))
			if err := cloud.clients.DeleteRole(t.Context(), name, aws.AnyID); err != nil {
				t.Fatal(err)
			}
			wantNoError(t, role.read())
			cloud.Faults().Inject(awssim.Fault{Service: "iam", Action: "AttachRolePolicy", Code: "AccessDenied", Times: 1, Status: 403})
			wantError(t, role.apply(config), "AttachRolePolicy")
			wantNoError(t, role.apply(config))
			role.settled(config)
		})
	}
}

// TestForeign_RuleInPlaceOfAnImportedOne imports rules without our id. If a rule is
// replaced before an update has marked it, the new rule is somebody else's.
func TestForeign_RuleInPlaceOfAnImportedOne(t *testing.T) {
	cloud := startCloud(t)
	imported := importUnmarked(t, cloud)
	name := awsspec.EventRules(testCluster)[2].Name
	if err := cloud.clients.DeleteRule(t.Context(), name, aws.AnyID); err != nil {
		t.Fatal(err)
	}
	if err := theirRule(t.Context(), cloud); err != nil {
		t.Fatal(err)
	}
	look := func() aws.Rule {
		rule, err := cloud.clients.GetRule(t.Context(), name, awsspec.QueueTargetID)
		if err != nil {
			t.Fatal(err)
		}
		return rule
	}
	before := look()
	wantNoError(t, imported.read())
	wantError(t, imported.apply(object{"cluster_name": testCluster}), name, "already exists", "state rm")
	wantNoError(t, imported.destroy())
	if after := look(); !cmp.Equal(before, after) {
		t.Errorf("the rule of somebody else: %s", cmp.Diff(before, after))
	}
}

// TestImport_RuleIsMarkedByTheFirstUpdate imports a queue and updates it. Its rules
// then belong to the configuration.
func TestImport_RuleIsMarkedByTheFirstUpdate(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	config := object{"cluster_name": testCluster, "tags": object{"env": "one"}}
	wantNoError(t, h.resource("karpenter_interruption_queue").apply(config))
	imported, diags := h.imported("karpenter_interruption_queue", testCluster+","+testCluster)
	wantNoError(t, diags)
	config["tags"] = object{"env": "two"}
	wantNoError(t, imported.apply(config))
	imported.settled(config)
	rule, err := cloud.clients.GetRule(t.Context(), awsspec.EventRules(testCluster)[0].Name, awsspec.QueueTargetID)
	if err != nil || rule.Tags["env"] != "two" {
		t.Errorf("rule %+v, %v", rule, err)
	}
	wantNoError(t, imported.destroy())
}

// TestCreate_AThrottledCallIsNoLostAnswer throttles the create of a policy that
// somebody else has made before. The policy is theirs, even if it is equal to ours.
func TestCreate_AThrottledCallIsNoLostAnswer(t *testing.T) {
	cloud := startCloud(t)
	document := `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}`
	if _, err := cloud.clients.CreatePolicy(t.Context(), aws.Policy{Name: "x", Document: document}); err != nil {
		t.Fatal(err)
	}
	cloud.Faults().Inject(awssim.Fault{Service: "iam", Action: "CreatePolicy", Code: "Throttling", Message: "Rate exceeded", Times: 1})
	if mine, err := cloud.clients.CreatePolicy(t.Context(), aws.Policy{Name: "x", Document: document}); err == nil {
		t.Errorf("adopted %+v", mine)
	}
}

// TestCreate_LostAnswerThatIAMDoesNotKnowYet finds the role only at the second read.
func TestCreate_LostAnswerThatIAMDoesNotKnowYet(t *testing.T) {
	cloud := startCloud(t)
	role := configured(t, cloud.config()).resource("karpenter_node_role")
	cloud.Faults().Inject(awssim.Fault{Service: "iam", Action: "CreateRole", DropResponse: true, Times: 1})
	cloud.Faults().Inject(awssim.Fault{Service: "iam", Action: "GetRole", Code: "NoSuchEntity", Times: 1, Status: 404})
	wantNoError(t, role.apply(object{"cluster_name": testCluster}))
}

// TestCreate_ARuleThatMayHaveBeenMadeIsTakenBack loses the answer to a create, and
// then fails every repetition.
func TestCreate_ARuleThatMayHaveBeenMadeIsTakenBack(t *testing.T) {
	cloud := startCloud(t)
	cloud.Faults().Inject(awssim.Fault{Service: "events", Action: "PutRule", DropResponse: true, Times: 1})
	cloud.Faults().Inject(awssim.Fault{Service: "events", Action: "PutRule", Code: "InternalException", Status: 500, Times: 4})
	queue := configured(t, cloud.config()).resource("karpenter_interruption_queue")
	wantError(t, queue.apply(object{"cluster_name": testCluster}), "InternalException")
	wantNothingMade(t, queue)
	wantNoError(t, queue.apply(object{"cluster_name": testCluster}))
}

func TestCreate_WithoutEventBridgeTheQueueIsTakenBack(t *testing.T) {
	cloud := startCloud(t)
	config := cloud.config()
	config["endpoints"].(object)["events"] = "http://127.0.0.1:1"
	queue := configured(t, config).resource("karpenter_interruption_queue")
	wantError(t, queue.apply(object{"cluster_name": testCluster}), "127.0.0.1:1")
	wantNothingMade(t, queue)
	if _, err := cloud.clients.GetQueue(t.Context(), testCluster); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("the queue is left: %v", err)
	}
}

func TestCreate_AQueueIsWaitedForUntilItIsFoundByName(t *testing.T) {
	cloud := startCloud(t)
	cloud.Faults().Inject(awssim.Fault{Service: "sqs", Action: "GetQueueUrl", Code: "QueueDoesNotExist", Times: 2})
	queue := configured(t, cloud.config()).resource("karpenter_interruption_queue")
	wantNoError(t, queue.apply(object{"cluster_name": testCluster}))
}

// TestUpdate_WhatAFailedOneMadeIsNotForgotten refreshes between an update that failed
// half-way and the next update.
func TestUpdate_WhatAFailedOneMadeIsNotForgotten(t *testing.T) {
	t.Run("policy", func(t *testing.T) {
		cloud := startCloud(t)
		role := configured(t, cloud.config()).resource("karpenter_controller_role")
		config := object{"cluster_name": testCluster, "node_role_arn": testNodeRole}
		wantNoError(t, role.apply(config))
		config["queue_arn"] = testQueue
		cloud.Faults().Inject(awssim.Fault{Service: "iam", Action: "AttachRolePolicy", Code: "AccessDenied", Times: 1, Status: 403})
		wantError(t, role.apply(config), "AttachRolePolicy")
		wantNoError(t, role.read())
		wantNoError(t, role.apply(config))
		role.settled(config)
		wantNoError(t, role.destroy())
		wantNoError(t, role.h.resource("karpenter_controller_role").apply(config)) // nothing was left
	})
	t.Run("tag", func(t *testing.T) {
		cloud := startCloud(t)
		tags := configured(t, cloud.config()).resource("karpenter_discovery_tags")
		first, second := cloud.vpc.SubnetIDs[0], cloud.vpc.SubnetIDs[1]
		wantNoError(t, tags.apply(object{"cluster_name": testCluster, "subnet_ids": list{first}}))
		cloud.Faults().Inject(awssim.Fault{Action: "DeleteTags", Code: "UnauthorizedOperation", Status: 403, Times: 1})
		wantError(t, tags.apply(object{"cluster_name": testCluster, "subnet_ids": list{second}}), "not authorized")
		wantNoError(t, tags.read())
		wantNoError(t, tags.apply(object{"cluster_name": testCluster, "subnet_ids": list{second}}))
		wantNoError(t, tags.destroy())
		left, err := cloud.clients.NetworkTags(t.Context(), first, second)
		if err != nil || left[first][awsspec.TagDiscovery] != "" || left[second][awsspec.TagDiscovery] != "" {
			t.Errorf("tags %v, %v", left, err)
		}
	})
	t.Run("rule without id", func(t *testing.T) {
		cloud := startCloud(t)
		queue := importUnmarked(t, cloud)
		config := object{"cluster_name": testCluster, "tags": object{"env": "one"}}
		cloud.Faults().Inject(awssim.Fault{Service: "events", Action: "TagResource", Code: "AccessDeniedException", Times: 1})
		wantError(t, queue.apply(config), "TagResource")
		wantNoError(t, queue.read())
		wantNoError(t, queue.apply(config))
		queue.settled(config)
		wantNoError(t, queue.destroy())
		if _, err := cloud.clients.GetRule(t.Context(), awsspec.EventRules(testCluster)[0].Name, ""); !errors.Is(err, aws.ErrNotFound) {
			t.Errorf("the rule is left: %v", err)
		}
	})
}

// TestImport_OfRulesWithoutIDPlansToMarkThem imports rules without our id. The plan
// marks them, and drift of the marked rules is seen.
func TestImport_OfRulesWithoutIDPlansToMarkThem(t *testing.T) {
	cloud := startCloud(t)
	queue := importUnmarked(t, cloud)
	config := object{"cluster_name": testCluster}
	queue.drifted(config, "rules")
	wantNoError(t, queue.apply(config))
	queue.settled(config)
	name := awsspec.EventRules(testCluster)[0].Name
	rule, err := cloud.clients.GetRule(t.Context(), name, awsspec.QueueTargetID)
	if err != nil || rule.Unmarked() {
		t.Fatalf("rule %+v, %v", rule, err)
	}
	meddled := rule
	meddled.TargetARN += "-other"
	if _, err := cloud.clients.UpdateRule(t.Context(), rule, meddled); err != nil {
		t.Fatal(err)
	}
	queue.drifted(config, "rules")
	wantNoError(t, queue.apply(config))
	queue.settled(config)
}

// importUnmarked imports a queue whose rules somebody made without our id.
func importUnmarked(t *testing.T, cloud *cloud) *instance {
	t.Helper()
	queue, err := cloud.clients.CreateQueue(t.Context(), aws.Queue{Name: testCluster, MessageRetention: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range awsspec.EventRules(testCluster) {
		rule := aws.Rule{Name: r.Name, Description: r.Description, Pattern: r.Pattern, TargetID: awsspec.QueueTargetID, TargetARN: queue.ARN}
		if _, err := cloud.clients.CreateRule(t.Context(), rule); err != nil {
			t.Fatal(err)
		}
	}
	imported, diags := configured(t, cloud.config()).imported("karpenter_interruption_queue", testCluster+","+testCluster)
	wantNoError(t, diags)
	return imported
}
