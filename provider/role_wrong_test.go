package provider_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// TestRoles_WrongConfigurationsAreRefusedAtPlan has mistakes that are easily made. Each is
// refused before anything is made, by one error at the attribute that says what is wrong and
// what to write instead.
func TestRoles_WrongConfigurationsAreRefusedAtPlan(t *testing.T) {
	const controller, node = "karpenter_controller_role", "karpenter_node_role"
	const existing = "arn:aws:iam::" + testAccount + ":role/nodes"
	for name, tt := range map[string]struct {
		kind   string
		change object
		at     string // attribute
		says   []string
	}{
		"identity misspelt":              {controller, object{"identity": "podidentity"}, "identity", []string{`"irsa" "pod_identity"`, `"podidentity"`}},
		"session too short":              {controller, object{"max_session_duration": 900}, "max_session_duration", []string{"between 3600 and 43200", "900"}},
		"session too long":               {node, object{"max_session_duration": 86400}, "max_session_duration", []string{"between 3600 and 43200", "86400"}},
		"description not Latin":          {controller, object{"description": "узел"}, "description", []string{"узел", "remove other characters"}},
		"description too long":           {node, object{"description": strings.Repeat("x", 1001)}, "description", []string{"1001 characters", "IAM accepts 1000", "shorten it"}},
		"policy by name":                 {controller, object{"additional_policy_arns": list{"ReadOnlyAccess"}}, "additional_policy_arns", []string{`"ReadOnlyAccess"`, "arn:aws:iam"}},
		"no policies":                    {node, object{"additional_policy_arns": list{}}, "additional_policy_arns", []string{"at least 1"}},
		"policy of another account":      {controller, object{"additional_policy_arns": list{"arn:aws:iam::999999999999:policy/x"}}, "additional_policy_arns", []string{"account 999999999999", "account " + testAccount, "attach policies of the role's account"}},
		"boundary of another account":    {controller, object{"permissions_boundary": "arn:aws:iam::999999999999:policy/x"}, "permissions_boundary", []string{"account 999999999999", "must be a policy of the role's account"}},
		"boundary is a role":             {node, object{"permissions_boundary": existing}, "permissions_boundary", []string{existing, "policy/"}},
		"path without slash":             {node, object{"path": "team"}, "path", []string{`"team"`, "such as /team/"}},
		"node role of another partition": {controller, object{"node_role_arn": "arn:aws-cn:iam::123456789012:role/nodes"}, "node_role_arn", []string{"partition aws-cn", "region us-west-2 is in aws", "write the ARN of a role in aws"}},
		"node roles of two accounts":     {controller, object{"node_role_arns": list{"arn:aws:iam::999999999999:role/nodes"}}, "node_role_arns", []string{"account 999999999999", "own account only"}},
		"queue of another region":        {controller, object{"queue_arn": "arn:aws:sqs:eu-west-1:123456789012:lab"}, "queue_arn", []string{"region eu-west-1", "in us-west-2"}},
		"queue of another account":       {controller, object{"queue_arn": "arn:aws:sqs:us-west-2:999999999999:lab"}, "queue_arn", []string{"account 999999999999", "its own account"}},
		"queue by URL":                   {controller, object{"queue_arn": "https://sqs.us-west-2.amazonaws.com/123456789012/lab"}, "queue_arn", []string{"arn:aws:sqs"}},
		"existing role by name":          {node, object{"existing_role_arn": "nodes"}, "existing_role_arn", []string{`"nodes"`, "arn:<partition>:iam"}},
		"existing role with name":        {node, object{"existing_role_arn": existing, "name": "nodes"}, "name", []string{"does not change", "remove name"}},
		"existing role with policies":    {node, object{"existing_role_arn": existing, "additional_policy_arns": list{"arn:aws:iam::aws:policy/x"}}, "additional_policy_arns", []string{"does not change", "remove additional_policy_arns"}},
		"existing role with CNI":         {node, object{"existing_role_arn": existing, "attach_cni_policy": false}, "attach_cni_policy", []string{"does not change", "remove attach_cni_policy"}},
		"existing role with nothing":     {node, object{"existing_role_arn": existing, "access_entry": object{"create": false}}, "access_entry", []string{"all that this resource creates", "remove the resource"}},
		"entry of people":                {node, object{"access_entry": object{"type": "STANDARD"}}, "access_entry", []string{`"EC2_LINUX" "EC2_WINDOWS" "EC2"`, `"STANDARD"`}},
		"entry of Fargate":               {node, object{"access_entry": object{"type": "FARGATE_LINUX"}}, "access_entry", []string{"FARGATE_LINUX"}},
		"service account with slash":     {controller, object{"service_account": "karpenter/karpenter"}, "service_account", []string{"karpenter/karpenter"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := object{"cluster_name": testCluster}
			if tt.kind == controller {
				config["node_role_arn"] = testNodeRole
			}
			maps.Copy(config, tt.change)
			h := configured(t, object{"region": testRegion})
			diags := h.validate(tt.kind, config)
			if !hasError(diags) {
				diags = h.resource(tt.kind).plan(config).problems
			}
			wantError(t, diags, tt.says...)
			for _, d := range diags {
				if d.Severity == tfprotov6.DiagnosticSeverityError && (d.Attribute == nil || !strings.Contains(d.Attribute.String(), tt.at)) {
					t.Errorf("the error is at %s, want %s", d.Attribute, tt.at)
				}
			}
		})
	}
}
