package provider

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

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

// mapValue is the map of strings as a value.
func mapValue(m map[string]string) types.Map {
	elements := make(map[string]attr.Value, len(m))
	for key, value := range m {
		elements[key] = types.StringValue(value)
	}
	return types.MapValueMust(types.StringType, elements)
}

// mapValueOrNull is mapValue, and null for no strings.
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

// setValue is the set of the strings as a value.
func setValue(values []string) types.Set {
	elements := make([]attr.Value, len(values))
	for i, v := range values {
		elements[i] = types.StringValue(v)
	}
	return types.SetValueMust(types.StringType, elements)
}

// listValue is the list of the strings as a value.
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

// known tells whether every value is known; null counts as known.
func known(values ...attr.Value) bool {
	for _, v := range values {
		if v == nil || v.IsUnknown() {
			return false
		}
	}
	return true
}

// set tells whether a value is neither null nor unknown.
func set(v attr.Value) bool { return v != nil && !v.IsNull() && !v.IsUnknown() }

// text is the string of a value; "" if the value is null, unknown or no string.
func text(v attr.Value) string {
	s, _ := v.(types.String)
	return s.ValueString()
}

// textsOf is the strings of a list or set, without those that are null or unknown.
func textsOf(v attr.Value) []string {
	with, ok := v.(interface{ Elements() []attr.Value })
	if !ok {
		return nil
	}
	var out []string
	for _, element := range with.Elements() {
		if set(element) {
			out = append(out, text(element))
		}
	}
	return out
}

// anyUnknown tells whether an element of the set is unknown.
func anyUnknown(s types.Set) bool {
	for _, element := range s.Elements() {
		if element.IsUnknown() {
			return true
		}
	}
	return false
}

// setOrNull is null for no values.
func setOrNull(values []string) types.Set {
	if len(values) == 0 {
		return types.SetNull(types.StringType)
	}
	return setValue(values)
}

// onlyKeysOf has the actual values of prior's keys, without those that are gone. A key
// whose value is null was not set, and stays null.
func onlyKeysOf(prior types.Map, actual map[string]string) types.Map {
	if prior.IsNull() {
		return prior
	}
	kept := map[string]attr.Value{}
	for key, before := range prior.Elements() {
		if value, ok := actual[key]; ok && !before.IsNull() {
			kept[key] = types.StringValue(value)
		} else if before.IsNull() {
			kept[key] = before
		}
	}
	return types.MapValueMust(types.StringType, kept)
}

// wholeList tells whether the list and its elements are known.
func wholeList(l types.List) bool {
	return !l.IsUnknown() && known(l.Elements()...)
}

// whollyKnown tells whether the values have no unknown part; null counts as known.
func whollyKnown(ctx context.Context, values ...attr.Value) bool {
	for _, v := range values {
		if v == nil {
			continue
		}
		whole, err := v.ToTerraformValue(ctx)
		if err != nil || !whole.IsFullyKnown() {
			return false
		}
	}
	return true
}
