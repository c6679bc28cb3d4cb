package convert

import (
	"context"
	"fmt"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwtype"
)

// read is the reverse of write: model, a pointer, gets the attributes of what is found. It has
// those of was, which write has made of it. An attribute of which the same is found stays: so
// does the user's spelling and order, and an empty value that says as much as none. A list that
// the API wants is empty where an import finds none, as its attribute is required.
func read(ctx context.Context, model any, diags *diag.Diagnostics, was, found []any) {
	r := reader{ctx, diags}
	for name, held := range held(reflect.ValueOf(model).Elem()) {
		for i := range found {
			before, now := reflect.ValueOf(was[i]).Elem(), reflect.ValueOf(found[i]).Elem()
			f, has := fieldNamed(now.Type(), name)
			if !has {
				continue
			}
			prior, _ := held.Interface().(attr.Value)
			imported := f.required && f.typ.Kind() == reflect.Slice && prior.IsNull()
			if imported || !equality.Semantic.DeepEqual(before.FieldByIndex(f.index).Interface(), now.FieldByIndex(f.index).Interface()) {
				held.Set(reflect.ValueOf(r.field(now, f)))
			}
		}
	}
}

// reader makes attributes of wire values.
type reader struct {
	ctx   context.Context
	diags *diag.Diagnostics
}

// field is the attribute of a field; null if the field is absent.
func (r reader) field(of reflect.Value, f field) attr.Value {
	in, kind := of.FieldByIndex(f.index), f.attribute()
	switch {
	case in.Kind() == reflect.Pointer && !in.IsNil():
		return r.value(in.Elem(), kind)
	case in.IsZero() && !f.required, in.Kind() == reflect.Map && in.Len() == 0, in.Kind() == reflect.Slice && in.Len() == 0 && !f.required:
		return r.null(kind)
	}
	return r.value(in, kind)
}

func (r reader) null(of attr.Type) attr.Value {
	null, err := of.ValueFromTerraform(r.ctx, tftypes.NewValue(of.TerraformType(r.ctx), nil))
	r.failed(err)
	return null
}

// value is the attribute of a value that is there.
func (r reader) value(in reflect.Value, of attr.Type) attr.Value {
	switch of := of.(type) {
	case basetypes.BoolType:
		return types.BoolValue(in.Bool())
	case basetypes.Int32Type:
		return types.Int32Value(int32(in.Int())) // the definition bounds what has more bits
	case basetypes.Int64Type:
		return types.Int64Value(in.Int())
	case fwtype.Type:
		return of.Value(spelled(in))
	case basetypes.MapType:
		entries := map[string]attr.Value{}
		for key, value := range in.Seq2() {
			entries[key.String()] = r.value(value, of.ElemType)
		}
		return types.MapValueMust(of.ElemType, entries)
	case basetypes.ListType:
		return types.ListValueMust(of.ElemType, r.elements(in, of.ElemType))
	case basetypes.SetType:
		return types.SetValueMust(of.ElemType, r.elements(in, of.ElemType))
	case basetypes.ObjectType:
		return r.object(in, of)
	case basetypes.DynamicType:
		fields, _ := in.Interface().(further)
		value, err := dynamicOf(r.ctx, fields)
		r.failed(err)
		return value
	}
	return types.StringValue(spelled(in))
}

func (r reader) elements(in reflect.Value, of attr.Type) []attr.Value {
	out := make([]attr.Value, in.Len())
	for i := range out {
		out[i] = r.value(in.Index(i), of)
	}
	return out
}

func (r reader) object(in reflect.Value, of basetypes.ObjectType) attr.Value {
	values := map[string]attr.Value{}
	for _, f := range fieldsOf(in.Type()) {
		values[f.name] = r.field(in, f)
	}
	return types.ObjectValueMust(of.AttrTypes, values)
}

func (r reader) failed(err error) {
	if err != nil {
		r.diags.AddError("Cannot read the object", err.Error()+".")
	}
}

// spelled is a text, or a value as people write it.
func spelled(in reflect.Value) string {
	switch x := in.Interface().(type) {
	case resource.Quantity:
		return quantity.SpellAmount(x.String())
	case metav1.Duration:
		return quantity.SpellDuration(x.Duration)
	case v1.NillableDuration:
		if x.Never {
			return v1.Never
		}
		return quantity.SpellDuration(x.Duration)
	case intstr.IntOrString:
		return x.String()
	}
	return fmt.Sprint(in)
}
