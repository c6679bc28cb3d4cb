package convert

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// plainValue is the value as JSON is read without types, without what is null or not known yet;
// false if nothing is left.
func plainValue(v attr.Value) (any, bool) {
	if v == nil || v.IsNull() || v.IsUnknown() {
		return nil, false
	}
	switch x := v.(type) {
	case types.Dynamic:
		return plainValue(x.UnderlyingValue())
	case types.String:
		return x.ValueString(), true
	case types.Bool:
		return x.ValueBool(), true
	case types.Number:
		if n, exact := x.ValueBigFloat().Int64(); exact == big.Exact {
			return n, true
		}
		n, _ := x.ValueBigFloat().Float64() // as JSON has it
		return n, true
	case types.Object:
		return plainFields(x.Attributes()), true
	case types.Map:
		return plainFields(x.Elements()), true
	case interface{ Elements() []attr.Value }: // a list, set or tuple
		out := []any{}
		for _, element := range x.Elements() {
			if value, some := plainValue(element); some {
				out = append(out, value)
			}
		}
		return out, true
	}
	return nil, false
}

func plainFields(of map[string]attr.Value) map[string]any {
	out := map[string]any{}
	for name, element := range of {
		if value, some := plainValue(element); some {
			out[name] = value
		}
	}
	return out
}

// dynamicOf is the reverse of plainValue, for the fields of an object; null for none.
func dynamicOf(ctx context.Context, fields map[string]json.RawMessage) (types.Dynamic, error) {
	if len(fields) == 0 {
		return types.DynamicNull(), nil
	}
	of := map[string]any{}
	for name, raw := range fields {
		var value any
		if err := utiljson.Unmarshal(raw, &value); err != nil {
			return types.DynamicNull(), fmt.Errorf("field %s read: %w", name, err)
		}
		of[name] = value
	}
	return types.DynamicValue(valueOf(ctx, of)), nil
}

// decimal is the number that a configuration has whose text is the shortest for it. 0.1 of
// binary digits alone is another number there.
func decimal(x float64) *big.Float {
	n, _, err := big.ParseFloat(strconv.FormatFloat(x, 'g', -1, 64), 10, precision, big.ToNearestEven)
	if err != nil { // JSON has no other numbers
		return big.NewFloat(x)
	}
	return n
}

// precision is that of numbers in configurations of Terraform, in bits.
const precision = 512

// valueOf is the value that a configuration with the same text has.
func valueOf(ctx context.Context, of any) attr.Value {
	switch x := of.(type) {
	case string:
		return types.StringValue(x)
	case bool:
		return types.BoolValue(x)
	case int64:
		return types.NumberValue(new(big.Float).SetInt64(x))
	case float64:
		return types.NumberValue(decimal(x))
	case []any:
		kinds, values := make([]attr.Type, len(x)), make([]attr.Value, len(x))
		for i, inner := range x {
			values[i] = valueOf(ctx, inner)
			kinds[i] = values[i].Type(ctx)
		}
		return types.TupleValueMust(kinds, values)
	case map[string]any:
		kinds, values := map[string]attr.Type{}, map[string]attr.Value{}
		for name, inner := range x {
			values[name] = valueOf(ctx, inner)
			kinds[name] = values[name].Type(ctx)
		}
		return types.ObjectValueMust(kinds, values)
	}
	return types.DynamicNull()
}
