package policydoc

import (
	"encoding/json"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
)

// PlanPolicy is want. If prior means the same to AWS, PlanPolicy keeps the spelling of
// prior. (A custom type would do that for what an operation returns, and not in a plan.)
func PlanPolicy(prior types.String, want string) types.String {
	if !prior.IsNull() && !prior.IsUnknown() && aws.SamePolicy(prior.ValueString(), want) {
		return prior
	}
	return types.StringValue(want)
}

// PlanPolicies is want as a map. A policy that means the same as that of prior keeps the
// spelling of prior.
func PlanPolicies(prior types.Map, want map[string]string) types.Map {
	elements := map[string]attr.Value{}
	for name, document := range want {
		before, _ := prior.Elements()[name].(types.String)
		elements[name] = PlanPolicy(before, document)
	}
	return types.MapValueMust(types.StringType, elements)
}

// StatementsOf are the statements of the texts in the list.
func StatementsOf(l types.List, ofResource bool) []string {
	var all []string
	for _, element := range l.Elements() {
		if list, err := awsspec.PolicyStatements(fwvalue.Text(element), ofResource); err == nil { // the plan has refused others
			all = append(all, list...)
		}
	}
	return all
}

// LiveStatements are the statements of a policy as AWS has it, whatever is in them.
func LiveStatements(policy string) []string {
	var document struct{ Statement json.RawMessage }
	if json.Unmarshal([]byte(policy), &document) != nil || document.Statement == nil {
		return nil
	}
	var many []json.RawMessage
	if json.Unmarshal(document.Statement, &many) != nil {
		many = []json.RawMessage{document.Statement}
	}
	var out []string
	for _, s := range many {
		out = append(out, string(s))
	}
	return out
}

// HasStatement tells whether one of the statements means the same to AWS as s.
func HasStatement(list []string, s string) bool {
	return slices.ContainsFunc(list, func(other string) bool {
		return aws.SamePolicy(awsspec.SingleStatement(other), awsspec.SingleStatement(s))
	})
}
