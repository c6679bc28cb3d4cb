package provider

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// planPolicy is want. If prior means the same to AWS, planPolicy keeps the spelling of
// prior. (A custom type would do that for what an operation returns, and not in a plan.)
func planPolicy(prior types.String, want string) types.String {
	if !prior.IsNull() && !prior.IsUnknown() && aws.SamePolicy(prior.ValueString(), want) {
		return prior
	}
	return types.StringValue(want)
}

// stringOrNull is null for "".
func stringOrNull(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}

// stringMap is the Go map of a map of strings, without its null values; nil if the map
// is null or unknown.
func stringMap(m types.Map) map[string]string {
	if m.IsNull() || m.IsUnknown() {
		return nil
	}
	out := make(map[string]string, len(m.Elements()))
	for key, value := range m.Elements() {
		if !value.IsNull() {
			out[key] = text(value)
		}
	}
	return out
}

func mapValue(m map[string]string) types.Map {
	elements := make(map[string]attr.Value, len(m))
	for key, value := range m {
		elements[key] = types.StringValue(value)
	}
	return types.MapValueMust(types.StringType, elements)
}

func mapValueOrNull(m map[string]string) types.Map {
	if len(m) == 0 {
		return types.MapNull(types.StringType)
	}
	return mapValue(m)
}

// stringsOf gives the strings of a set, sorted; nil if the set is null or unknown.
func stringsOf(ctx context.Context, s types.Set, diags *diag.Diagnostics) []string {
	if s.IsNull() || s.IsUnknown() {
		return nil
	}
	var out []string
	diags.Append(s.ElementsAs(ctx, &out, false)...)
	slices.Sort(out)
	return out
}

func setValue(values []string) types.Set {
	elements := make([]attr.Value, len(values))
	for i, v := range values {
		elements[i] = types.StringValue(v)
	}
	return types.SetValueMust(types.StringType, elements)
}

func listValue(values []string) types.List {
	elements := make([]attr.Value, len(values))
	for i, v := range values {
		elements[i] = types.StringValue(v)
	}
	return types.ListValueMust(types.StringType, elements)
}

// intersection gives the members of a that are also in b, in a's order.
func intersection(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

// without gives the members of a that are not in b, in a's order.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
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
