package provider

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

func TestFail_NamesObjectFaultAndRemedy(t *testing.T) {
	b := base{kind: "node_role", keys: []string{"cluster_name", "name"}}
	model := nodeRoleModel{ClusterName: types.StringValue("lab"), roleModel: roleModel{Name: types.StringValue("nodes")}}
	for name, tt := range map[string]struct {
		err    error
		remedy string
	}{
		"conflict":       {aws.ErrConflict, `id = "lab,nodes"`},
		"other cluster":  {fmt.Errorf("%w: %w", ErrOtherCluster, aws.ErrConflict), "shared = true"},
		"unauthorized":   {&aws.UnauthorizedError{Action: "iam:CreateRole"}, "Allow that action"},
		"credentials":    {aws.ErrCredentials, "AWS_PROFILE"},
		"unreachable":    {aws.ErrUnreachable, "region and endpoints"},
		"throttled":      {aws.ErrThrottled, "in a minute"},
		"controller":     {ErrOtherController, "kubectl scale"},
		"outlived":       {ErrOutlived, "No daemon ends it"},
		"another name":   {ErrAnotherName, "Correct eks.cluster_name"},
		"leftovers":      {ErrLeftovers, "terminate-instances"},
		"referenced":     {ErrReferenced, "create_before_destroy"},
		"role in use":    {ErrRoleInUse, "create_before_destroy"},
		"profile in use": {ErrProfileInUse, "create_before_destroy"},
		"daemon's role":  {ErrDaemonRoleInUse, "create_before_destroy"},
		"queue in use":   {ErrQueueInUse, "first destroy the node pools"},
		"in use":         {aws.ErrInUse, "still uses it"},
		"deadline":       {context.DeadlineExceeded, "timeouts attribute"},
		"unknown":        {ErrConfigUnknown, "one apply"},
		"still needed":   {ErrStillNeeded, "karpenter_daemon.NAME.id"},
		"field conflict": {&kube.ConflictError{}, "Another tool"},
	} {
		t.Run(name, func(t *testing.T) {
			var diags diag.Diagnostics
			b.fail(&diags, "create", model, fmt.Errorf("role create: %w", tt.err))
			if len(diags) != 1 {
				t.Fatalf("%d diagnostics", len(diags))
			}
			text := diags[0].Summary() + " " + diags[0].Detail()
			for _, part := range []string{"Cannot create karpenter_node_role", `"lab,nodes"`, tt.err.Error(), tt.remedy} {
				if !strings.Contains(text, part) {
					t.Errorf("%q lacks %q", text, part)
				}
			}
		})
	}
}
