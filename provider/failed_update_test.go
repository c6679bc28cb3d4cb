package provider_test

import (
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
)

// What an update has done that fails is in no state. It must not stay for ever, unseen.

// TestUpdate_TagsOfAFailedOneAreRemovedAllTheSame moves discovery tags to another subnet,
// and loses the answer to the removal.
func TestUpdate_TagsOfAFailedOneAreRemovedAllTheSame(t *testing.T) {
	cloud := startCloud(t)
	h := hasty(t, cloud.config())
	tags := h.resource("karpenter_discovery_tags")
	before := object{"cluster_name": testCluster, "subnet_ids": list{cloud.vpc.SubnetIDs[0]}}
	after := object{"cluster_name": testCluster, "subnet_ids": list{cloud.vpc.SubnetIDs[1]}}
	wantNoError(t, tags.apply(before))
	cloud.Faults().Inject(awssim.Fault{Action: "DeleteTags", DropResponse: true})
	if !hasError(tags.apply(after)) {
		t.Fatal("the update has not failed")
	}
	cloud.Faults().Clear()
	wantNoError(t, tags.read())
	if tags.state.IsNull() {
		t.Fatal("the tag on the second subnet is ours, and the resource has left the state")
	}
	wantNoError(t, tags.apply(after))
	tags.settled(after)
	wantNoError(t, tags.destroy())
	left, err := cloud.clients.NetworkTags(t.Context(), cloud.vpc.SubnetIDs...)
	if err != nil {
		t.Fatal(err)
	}
	for id, of := range left {
		if _, has := of["karpenter.sh/discovery"]; has {
			t.Errorf("subnet %s still has the tag", id)
		}
	}
}

// TestUpdate_PoliciesThatAFailedOneAttachedAreSeenAndDetached attaches two further policies,
// of which the second does not exist, and takes both back.
func TestUpdate_PoliciesThatAFailedOneAttachedAreSeenAndDetached(t *testing.T) {
	for kind, config := range map[string]object{
		"karpenter_node_role":       {"cluster_name": testCluster},
		"karpenter_controller_role": {"cluster_name": testCluster, "node_role_arn": testNodeRole},
	} {
		t.Run(kind, func(t *testing.T) {
			cloud := startCloud(t)
			policy, err := cloud.clients.CreatePolicy(t.Context(), aws.Policy{Name: "a-further-one", Document: `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"*"}]}`})
			if err != nil {
				t.Fatal(err)
			}
			h := hasty(t, cloud.config())
			role := h.resource(kind)
			wantNoError(t, role.apply(config))
			config["additional_policy_arns"] = list{policy.ARN, policyARN("there-is-none")}
			if !hasError(role.apply(config)) {
				t.Fatal("the update has not failed")
			}
			delete(config, "additional_policy_arns")
			role.drifted(config, "additional_policy_arns")
			wantNoError(t, role.apply(config))
			role.settled(config)
			found, err := cloud.clients.GetRole(t.Context(), role.text("name"))
			if err != nil || slices.Contains(found.ManagedPolicies, policy.ARN) {
				t.Errorf("the policy that the failed update attached is still attached: %v, %v", found.ManagedPolicies, err)
			}
		})
	}
}

// TestUpdate_TagsOfAnAssociationThatFailedAreSeen fails the last step of an update of tags.
func TestUpdate_TagsOfAnAssociationThatFailedAreSeen(t *testing.T) {
	cloud := startCloud(t)
	h := hasty(t, cloud.config())
	role := h.resource("karpenter_controller_role")
	config := object{"cluster_name": testCluster, "node_role_arn": testNodeRole, "identity": "pod_identity", "tags": object{"env": "one"}}
	wantNoError(t, role.apply(config))
	config["tags"] = object{"env": "two"}
	cloud.Faults().Inject(awssim.Fault{Service: "eks", Action: "TagResource", Code: "AccessDeniedException", Status: 403})
	if !hasError(role.apply(config)) {
		t.Fatal("the update has not failed")
	}
	cloud.Faults().Clear()
	role.drifted(config, "tags")
	wantNoError(t, role.apply(config))
	role.settled(config)
}

// TestSpotRole_OfAFailedCreateIsRemoved loses every answer to the creation of the role.
func TestSpotRole_OfAFailedCreateIsRemoved(t *testing.T) {
	cloud := startCloud(t)
	h := hasty(t, cloud.config())
	role := h.resource("karpenter_spot_service_linked_role")
	cloud.Faults().Inject(awssim.Fault{Action: "CreateServiceLinkedRole", DropResponse: true, Times: 1})
	cloud.Faults().Inject(awssim.Fault{Action: "CreateServiceLinkedRole", Code: "InternalFailure", Status: 500})
	if !hasError(role.apply(object{})) {
		t.Fatal("the creation has not failed")
	}
	wantNothingMade(t, role)
	cloud.Faults().Clear()
	wantNoError(t, role.apply(object{"delete_on_destroy": true}))
	var adopted bool
	if err := attributeOf(t, role.state, "adopted").As(&adopted); err != nil || adopted {
		t.Errorf("the role of the failed creation was left, and is adopted now (%v)", err)
	}
}
