package provider

import (
	"encoding/json"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// planPolicy is want. If prior means the same to AWS, planPolicy keeps the spelling of
// prior. (A custom type would do that for what an operation returns, and not in a plan.)
func planPolicy(prior types.String, want string) types.String {
	if !prior.IsNull() && !prior.IsUnknown() && aws.SamePolicy(prior.ValueString(), want) {
		return prior
	}
	return types.StringValue(want)
}

// planPolicies is want as a map. A policy that means the same as that of prior keeps the
// spelling of prior.
func planPolicies(prior types.Map, want map[string]string) types.Map {
	elements := map[string]attr.Value{}
	for name, document := range want {
		before, _ := prior.Elements()[name].(types.String)
		elements[name] = planPolicy(before, document)
	}
	return types.MapValueMust(types.StringType, elements)
}

// statementsOf are the statements of the texts in the list.
func statementsOf(l types.List, ofResource bool) []string {
	var all []string
	for _, element := range l.Elements() {
		if list, err := awsspec.PolicyStatements(text(element), ofResource); err == nil { // the plan has refused others
			all = append(all, list...)
		}
	}
	return all
}

// liveStatements are the statements of a policy as AWS has it, whatever is in them.
func liveStatements(policy string) []string {
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

// hasStatement tells whether one of the statements means the same to AWS as s.
func hasStatement(list []string, s string) bool {
	return slices.ContainsFunc(list, func(other string) bool {
		return aws.SamePolicy(awsspec.SingleStatement(other), awsspec.SingleStatement(s))
	})
}
