package convert

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

// stringer is any string value, custom types included.
type stringer interface {
	attr.Value
	ValueString() string
}

func objectType(attributes map[string]attr.Type) types.ObjectType {
	return types.ObjectType{AttrTypes: attributes}
}

func known(v attr.Value) bool { return !v.IsNull() && !v.IsUnknown() }

// elements reads a list of objects into structs; nil if the list is null or
// unknown. An element that is unknown as a whole becomes a struct of nulls, so that
// the indexes stay those of the configuration.
func elements[T any](ctx context.Context, l types.List, diags *diag.Diagnostics) []T {
	var out []T
	for _, element := range l.Elements() {
		var item T
		if object, ok := element.(types.Object); ok && known(object) {
			diags.Append(object.As(ctx, &item, basetypes.ObjectAsOptions{})...)
		}
		out = append(out, item)
	}
	return out
}

// list makes the function from wire values to a list of objects; null for none.
func list[W, T any](ctx context.Context, of attr.Type, convert func(W) T, diags *diag.Diagnostics) func([]W) types.List {
	return func(in []W) types.List {
		if len(in) == 0 {
			return types.ListNull(of)
		}
		items := make([]T, len(in))
		for i, w := range in {
			items[i] = convert(w)
		}
		out, d := types.ListValueFrom(ctx, of, items)
		diags.Append(d...)
		return out
	}
}

// object reads an object into a struct; nil if the object is null or unknown.
func object[T any](ctx context.Context, o types.Object, diags *diag.Diagnostics) *T {
	if !known(o) {
		return nil
	}
	var out T
	diags.Append(o.As(ctx, &out, basetypes.ObjectAsOptions{})...)
	return &out
}

// objectOf makes an object from a struct; null for nil.
func objectOf[T any](ctx context.Context, of map[string]attr.Type, v *T, diags *diag.Diagnostics) types.Object {
	if v == nil {
		return types.ObjectNull(of)
	}
	out, d := types.ObjectValueFrom(ctx, of, v)
	diags.Append(d...)
	return out
}

// Strings is the Go map of a map of strings, without its unknown values; nil if the
// map is null, unknown or empty.
func Strings(m types.Map) map[string]string {
	var out map[string]string
	for key, value := range m.Elements() {
		if s, ok := value.(stringer); ok && known(s) {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = s.ValueString()
		}
	}
	return out
}

// StringMap makes a map of strings; null for an empty one.
func StringMap(m map[string]string) types.Map {
	if len(m) == 0 {
		return types.MapNull(types.StringType)
	}
	values := map[string]attr.Value{}
	for key, value := range m {
		values[key] = types.StringValue(value)
	}
	return types.MapValueMust(types.StringType, values)
}

// setStrings gives the known strings of a set, sorted.
func setStrings(s types.Set) []string {
	var out []string
	for _, value := range s.Elements() {
		if t, ok := value.(stringer); ok && known(t) {
			out = append(out, t.ValueString())
		}
	}
	slices.Sort(out)
	return out
}

// stringSet makes a set of strings; null for none.
func stringSet(values []string) types.Set {
	if len(values) == 0 {
		return types.SetNull(types.StringType)
	}
	elements := make([]attr.Value, len(values))
	for i, v := range values {
		elements[i] = types.StringValue(v)
	}
	return types.SetValueMust(types.StringType, elements)
}

// pointer gives nil for a null or unknown value.
func pointer[T any](v attr.Value, value T) *T {
	if !known(v) {
		return nil
	}
	return &value
}

func stringValue(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}
