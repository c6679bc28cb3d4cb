package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// statement is the part of a policy statement that an import reads. In IAM's
// grammar, an action or a resource is a string or a list of strings.
type statement struct {
	Action    oneOrMany
	Resource  oneOrMany
	Condition map[string]map[string]oneOrMany
}

type oneOrMany []string

// UnmarshalJSON accepts both forms.
func (o *oneOrMany) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*o = oneOrMany{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(o))
}

func (o oneOrMany) has(s string) bool {
	for _, one := range o {
		if one == s {
			return true
		}
	}
	return false
}

func statements(document string) ([]statement, error) {
	var policy struct{ Statement []statement }
	if err := json.Unmarshal([]byte(document), &policy); err != nil {
		return nil, fmt.Errorf("policy parse: %w", err)
	}
	return policy.Statement, nil
}

// reconstruct fills an imported model with the values from which the role's
// policies and trust policy were made.
func (m *controllerRoleModel) reconstruct(ctx context.Context, client *aws.Clients, found aws.Role) error {
	for _, arn := range found.ManagedPolicies {
		policy, err := client.GetPolicy(ctx, arn)
		if err != nil {
			return err
		}
		list, err := statements(policy.Document)
		if err != nil {
			return fmt.Errorf("%s: %w", arn, err)
		}
		for _, s := range list {
			switch {
			case len(s.Resource) == 0:
			case s.Action.has("iam:PassRole"):
				m.NodeRoleARN, m.NodeRoleARNs = types.StringValue(s.Resource[0]), setOrNull(s.Resource[1:])
			case s.Action.has("sqs:ReceiveMessage"):
				m.QueueARN = types.StringValue(s.Resource[0])
			}
		}
	}
	trust, err := statements(found.TrustPolicy)
	if err != nil {
		return fmt.Errorf("role %q: trust %w", found.Name, err)
	}
	for _, s := range trust {
		for key, subject := range s.Condition["StringEquals"] {
			switch {
			case len(subject) != 1:
			case strings.HasSuffix(key, "/kubernetes-namespace"):
				m.Namespace = types.StringValue(subject[0])
			case strings.HasSuffix(key, "/kubernetes-service-account"):
				m.ServiceAccount = types.StringValue(subject[0])
			}
			parts := strings.Split(strings.Join(subject, ""), ":")
			if strings.HasSuffix(key, ":sub") && len(parts) == 4 {
				m.Namespace, m.ServiceAccount = types.StringValue(parts[2]), types.StringValue(parts[3])
			}
		}
	}
	if m.NodeRoleARN.IsNull() {
		return fmt.Errorf("role %q has no policy that allows iam:PassRole on a node role: import a role that karpenter_controller_role created", found.Name)
	}
	return nil
}
