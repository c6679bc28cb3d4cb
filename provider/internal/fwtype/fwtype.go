// Package fwtype owns the attribute types whose values can be spelled in more
// than one way: Kubernetes quantities ("1000m" is "1") and durations ("60s" is
// "1m").
//
// A value that the API spells differently keeps the user's spelling in state. If a
// user changes the spelling of a value, the plan shows an in-place update that
// changes nothing in the API. The plan does not hide this update: otherwise the
// configuration and the state would differ for ever.
package fwtype

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/api/resource"
)

var (
	_ basetypes.StringTypable                    = Type{}
	_ basetypes.StringValuableWithSemanticEquals = Value{}
)

// kind says how two spellings are compared.
type kind string

const (
	quantity kind = "quantity"
	duration kind = "duration"
)

// Type is a string type whose values have several spellings.
type Type struct {
	basetypes.StringType
	kind kind
}

// Quantity is the type of Kubernetes quantities.
func Quantity() Type { return Type{kind: quantity} }

// Duration is the type of durations; words such as Never are compared as they are.
func Duration() Type { return Type{kind: duration} }

// Value is a string that may mean the same as another with a different spelling.
type Value struct {
	basetypes.StringValue
	kind kind
}

// Value makes a known value.
func (t Type) Value(s string) Value {
	return Value{StringValue: basetypes.NewStringValue(s), kind: t.kind}
}

// Null makes a null value.
func (t Type) Null() Value { return Value{StringValue: basetypes.NewStringNull(), kind: t.kind} }

// String names the type.
func (t Type) String() string { return "fwtype." + string(t.kind) }

// Equal tells whether the types are the same.
func (t Type) Equal(o attr.Type) bool {
	other, ok := o.(Type)
	return ok && other.kind == t.kind
}

// ValueType gives a value of the type.
func (t Type) ValueType(context.Context) attr.Value { return Value{kind: t.kind} }

// ValueFromString wraps a string value.
func (t Type) ValueFromString(_ context.Context, in basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return Value{StringValue: in, kind: t.kind}, nil
}

// ValueFromTerraform reads a value from the protocol.
func (t Type) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	value, err := t.StringType.ValueFromTerraform(ctx, in)
	if err != nil {
		return nil, err
	}
	s, ok := value.(basetypes.StringValue)
	if !ok {
		return nil, fmt.Errorf("%s: unexpected value of type %T", t, value)
	}
	return Value{StringValue: s, kind: t.kind}, nil
}

// Type gives the value's type.
func (v Value) Type(context.Context) attr.Type { return Type{kind: v.kind} }

// Equal tells whether the values have the same spelling.
func (v Value) Equal(o attr.Value) bool {
	other, ok := o.(Value)
	return ok && other.kind == v.kind && v.StringValue.Equal(other.StringValue)
}

// StringSemanticEquals tells whether the values mean the same.
func (v Value) StringSemanticEquals(_ context.Context, o basetypes.StringValuable) (bool, diag.Diagnostics) {
	other, ok := o.(Value)
	return ok && other.kind == v.kind && Same(v, other), nil
}

// Same tells whether two known values of one type mean the same.
func Same(a, b Value) bool {
	x, y := a.ValueString(), b.ValueString()
	if x == y {
		return true
	}
	switch a.kind {
	case quantity:
		p, errP := resource.ParseQuantity(x)
		q, errQ := resource.ParseQuantity(y)
		return errP == nil && errQ == nil && p.Cmp(q) == 0
	case duration:
		p, errP := time.ParseDuration(x)
		q, errQ := time.ParseDuration(y)
		return errP == nil && errQ == nil && p == q
	}
	return false
}
