package fwvalue

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// StringOrNull is null for "".
func StringOrNull(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}

// StringMap is the Go map of a map of strings, without its null values; nil if the map
// is null or unknown.
func StringMap(m types.Map) map[string]string {
	if m.IsNull() || m.IsUnknown() {
		return nil
	}
	out := make(map[string]string, len(m.Elements()))
	for key, value := range m.Elements() {
		if !value.IsNull() {
			out[key] = Text(value)
		}
	}
	return out
}

// MapValue is the map of strings as a value.
func MapValue(m map[string]string) types.Map {
	elements := make(map[string]attr.Value, len(m))
	for key, value := range m {
		elements[key] = types.StringValue(value)
	}
	return types.MapValueMust(types.StringType, elements)
}

// MapValueOrNull is MapValue, and null for no strings.
func MapValueOrNull(m map[string]string) types.Map {
	if len(m) == 0 {
		return types.MapNull(types.StringType)
	}
	return MapValue(m)
}

// StringsOf gives the strings of a set, sorted; nil if the set is null or unknown.
func StringsOf(ctx context.Context, s types.Set, diags *diag.Diagnostics) []string {
	if s.IsNull() || s.IsUnknown() {
		return nil
	}
	var out []string
	diags.Append(s.ElementsAs(ctx, &out, false)...)
	slices.Sort(out)
	return out
}

// SetValue is the set of the strings as a value.
func SetValue(values []string) types.Set {
	elements := make([]attr.Value, len(values))
	for i, v := range values {
		elements[i] = types.StringValue(v)
	}
	return types.SetValueMust(types.StringType, elements)
}

// ListValue is the list of the strings as a value.
func ListValue(values []string) types.List {
	elements := make([]attr.Value, len(values))
	for i, v := range values {
		elements[i] = types.StringValue(v)
	}
	return types.ListValueMust(types.StringType, elements)
}

// Intersection gives the members of a that are also in b, in a's order.
func Intersection(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

// Without gives the members of a that are not in b, in a's order.
func Without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// Known tells whether every value is known; null counts as known.
func Known(values ...attr.Value) bool {
	for _, v := range values {
		if v == nil || v.IsUnknown() {
			return false
		}
	}
	return true
}

// Set tells whether a value is neither null nor unknown.
func Set(v attr.Value) bool { return v != nil && !v.IsNull() && !v.IsUnknown() }

// Text is the string of a value; "" if the value is null, unknown or no string.
func Text(v attr.Value) string {
	s, _ := v.(types.String)
	return s.ValueString()
}

// TextsOf is the strings of a list or set, without those that are null or unknown.
func TextsOf(v attr.Value) []string {
	with, ok := v.(interface{ Elements() []attr.Value })
	if !ok {
		return nil
	}
	var out []string
	for _, element := range with.Elements() {
		if Set(element) {
			out = append(out, Text(element))
		}
	}
	return out
}

// AnyUnknown tells whether an element of the set is unknown.
func AnyUnknown(s types.Set) bool {
	for _, element := range s.Elements() {
		if element.IsUnknown() {
			return true
		}
	}
	return false
}

// SetOrNull is null for no values.
func SetOrNull(values []string) types.Set {
	if len(values) == 0 {
		return types.SetNull(types.StringType)
	}
	return SetValue(values)
}

// OnlyKeysOf has the actual values of prior's keys, without those that are gone. A key
// whose value is null was not set, and stays null.
func OnlyKeysOf(prior types.Map, actual map[string]string) types.Map {
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

// WholeList tells whether the list and its elements are known.
func WholeList(l types.List) bool {
	return !l.IsUnknown() && Known(l.Elements()...)
}

// WhollyKnown tells whether the values have no unknown part; null counts as known.
func WhollyKnown(ctx context.Context, values ...attr.Value) bool {
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
