package controllerrole

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/policydoc"
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

// namesakes are the ARNs of the policies that the role's name and the region stand for,
// whether or not they exist and are attached: an apply that was cut off leaves some of them.
// additional is the ARN of that with the user's statements.
func (m *controllerRoleModel) namesakes(region string, found aws.Role) (arns []string, additional string) {
	partition, account := awsspec.PartitionAndAccount(found.ARN)
	for _, policy := range awsspec.ControllerPolicies(awsspec.ControllerPolicyInput{
		Partition: partition, Region: region, Account: account, Cluster: m.ClusterName.ValueString(), Role: found.Name,
		QueueARN: "arn", Further: []string{"{}"}, // of any queue, and any statement: with them, there is a policy for each
	}) {
		arn := fmt.Sprintf("arn:%s:iam::%s:policy%s%s", partition, account, found.Path, policy.Name)
		arns = append(arns, arn)
		if policy.Kind == awsspec.AdditionalPolicy {
			additional = arn
		}
	}
	return arns, additional
}

// reconstruct fills an imported model with the values from which the role's
// policies and trust policy were made. The policies are those that are attached, and those
// that have the names.
func (m *controllerRoleModel) reconstruct(ctx context.Context, client *aws.Clients, found aws.Role) error {
	named, additional := m.namesakes(client.Region(), found)
	partition, _ := awsspec.PartitionAndAccount(found.ARN)
	for _, arn := range slices.Concat(found.ManagedPolicies, fwvalue.Without(named, found.ManagedPolicies)) {
		policy, err := client.GetPolicy(ctx, arn)
		if errors.Is(err, aws.ErrNotFound) && slices.Contains(named, arn) {
			continue
		}
		if err != nil {
			return err
		}
		if arn == additional {
			m.Further = fwvalue.ListValue(policydoc.LiveStatements(policy.Document))
			continue
		}
		list, err := statements(policy.Document)
		if err != nil {
			return fmt.Errorf("%s: %w", arn, err)
		}
		for _, s := range list {
			m.reconstructStatement(s, client.Region(), partition, slices.Contains(named, arn))
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
		return fmt.Errorf("role %q has no policy that allows iam:PassRole on a node role, and the policy %s, from which node_role_arn is read, does not exist: import a role that karpenter_controller_role created", found.Name, named[0])
	}
	return nil
}
