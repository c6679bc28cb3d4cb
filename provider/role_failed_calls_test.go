package provider_test

import (
	"errors"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
)

// step is an apply of a role from one configuration to another.
type step struct {
	kind     string
	from, to object // from is nil for a creation
}

func (s step) start(t *testing.T) (*cloud, *instance) {
	t.Helper()
	cloud := startCloud(t)
	role := configured(t, cloud.config()).resource(s.kind)
	if s.from != nil {
		wantNoError(t, role.apply(s.from))
	}
	return cloud, role
}

// failAt refuses the call to the action that comes after n others to it.
func failAt(cloud *cloud, call awssim.Call, n int) {
	if n > 0 {
		cloud.Faults().Inject(awssim.Fault{Service: call.Service, Action: call.Action, Latency: 1, Times: n})
	}
	cloud.Faults().Inject(awssim.Fault{Service: call.Service, Action: call.Action, Code: "AccessDeniedException", Status: 403, Times: 1})
}

// TestRoles_ARefusedCallLeavesWhatTheNextApplyCanFinish refuses each call of each step once.
// A creation then leaves nothing, an update goes on at the next apply, with or without a
// refresh before, and the destruction leaves nothing.
func TestRoles_ARefusedCallLeavesWhatTheNextApplyCanFinish(t *testing.T) {
	irsa := object{"cluster_name": testCluster, "node_role_arn": testNodeRole}
	other := podConfig()
	other["service_account"], other["max_session_duration"], other["additional_policy_arns"] = "other", 7200, list{"arn:aws:iam::aws:policy/ReadOnlyAccess"}
	linux, none := object{"cluster_name": testCluster}, object{"cluster_name": testCluster, "access_entry": object{"create": false}}
	windows := object{"cluster_name": testCluster, "access_entry": object{"type": "EC2_WINDOWS"}, "attach_cni_policy": false, "description": "windows"}
	for name, s := range map[string]step{
		"create with Pod Identity": {"karpenter_controller_role", nil, podConfig()},
		"IRSA to Pod Identity":     {"karpenter_controller_role", irsa, podConfig()},
		"Pod Identity to IRSA":     {"karpenter_controller_role", podConfig(), irsa},
		"another service account":  {"karpenter_controller_role", podConfig(), other},
		"another access entry":     {"karpenter_node_role", linux, windows},
		"no access entry":          {"karpenter_node_role", linux, none},
		"an access entry":          {"karpenter_node_role", none, windows},
		"role of EC2 Spot":         {spotRoleKind, nil, object{"delete_on_destroy": true}},
	} {
		t.Run(name, func(t *testing.T) {
			cloud, role := s.start(t)
			before := len(cloud.Calls())
			wantNoError(t, role.apply(s.to))
			seen := map[string]int{}
			for i, call := range cloud.Calls()[before:] {
				cloud, role := s.start(t)
				failAt(cloud, call, seen[call.Service+call.Action])
				seen[call.Service+call.Action]++
				failed := hasError(role.apply(s.to))
				cloud.Faults().Clear()
				if failed && s.from == nil {
					wantNothingMade(t, role)
					if _, err := cloud.association(t, "karpenter", "karpenter"); !errors.Is(err, aws.ErrNotFound) {
						t.Errorf("call %d, %s: the association is left: %v", i, call.Action, err)
					}
				}
				if i%2 == 0 {
					wantNoError(t, role.read())
				}
				wantNoError(t, role.apply(s.to))
				role.settled(s.to)
				wantNoError(t, role.destroy())
				for _, left := range append(rolesOf(t.Context(), cloud, theirNodeRole, theirControllerRole), policiesOf(t.Context(), cloud)...) {
					t.Errorf("call %d, %s: %s is left", i, call.Action, left)
				}
			}
		})
	}
}
