package convert

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwtype"
)

// stringer is any string value, custom types included.
type stringer interface {
	attr.Value
	ValueString() string
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

// keep returns prior if was, the wire value of prior, equals found: the user's
// spelling, order and empty values then stay. Otherwise keep converts found. A null
// prior stands for an absent field.
func keep[W any, A attr.Value](was, found W, prior A, convert func(W) A) A {
	if equality.Semantic.DeepEqual(was, found) {
		return prior
	}
	return convert(found)
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
	out := knownStrings(s.Elements())
	slices.Sort(out)
	return out
}

// knownStrings gives the known strings among the values, in their order.
func knownStrings(values []attr.Value) []string {
	var out []string
	for _, value := range values {
		if t, ok := value.(stringer); ok && known(t) {
			out = append(out, t.ValueString())
		}
	}
	return out
}

// stringSet makes a set of strings; null for none.
func stringSet(values []string) types.Set {
	if len(values) == 0 {
		return types.SetNull(types.StringType)
	}
	return types.SetValueMust(types.StringType, stringElements(values))
}

// stringList makes a list of strings; null for none.
func stringList(values []string) types.List {
	if len(values) == 0 {
		return types.ListNull(types.StringType)
	}
	return types.ListValueMust(types.StringType, stringElements(values))
}

func stringElements(values []string) []attr.Value {
	out := make([]attr.Value, len(values))
	for i, v := range values {
		out[i] = types.StringValue(v)
	}
	return out
}

// Limits makes a resource list from a map of quantities; nil for none.
func Limits(m types.Map) corev1.ResourceList {
	var out corev1.ResourceList
	for name, text := range Strings(m) {
		q, err := resource.ParseQuantity(text)
		if err != nil {
			continue
		}
		if out == nil {
			out = corev1.ResourceList{}
		}
		out[corev1.ResourceName(name)] = q
	}
	return out
}

// LimitsMap is the reverse of Limits.
func LimitsMap(list corev1.ResourceList) types.Map {
	if len(list) == 0 {
		return types.MapNull(fwtype.Quantity())
	}
	values := map[string]attr.Value{}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		values[string(name)] = fwtype.Quantity().Value(quantity.SpellAmount(q.String()))
	}
	return types.MapValueMust(fwtype.Quantity(), values)
}

// Duration parses a duration; nil if there is none.
func Duration(v fwtype.Value) *metav1.Duration {
	d, err := time.ParseDuration(v.ValueString())
	if !known(v) || err != nil {
		return nil
	}
	return &metav1.Duration{Duration: d}
}

// nillableValue is the reverse of nillable, as people write it.
func nillableValue(d *v1.NillableDuration) fwtype.Value {
	if d == nil {
		return fwtype.Duration().Null()
	}
	if d.Never {
		return fwtype.Duration().Value(v1.Never)
	}
	return fwtype.Duration().Value(quantity.SpellDuration(d.Duration))
}

// DurationValue is the reverse of Duration.
func DurationValue(d *metav1.Duration) fwtype.Value {
	if d == nil {
		return fwtype.Duration().Null()
	}
	return fwtype.Duration().Value(quantity.SpellDuration(d.Duration))
}

// nillable parses a duration or Never; zero if there is none.
func nillable(v fwtype.Value) v1.NillableDuration {
	if v.ValueString() == v1.Never {
		return v1.NillableDuration{Never: true}
	}
	if d := Duration(v); d != nil {
		return v1.NillableDuration{Duration: d.Duration}
	}
	return v1.NillableDuration{}
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
