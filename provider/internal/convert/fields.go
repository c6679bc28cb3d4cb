package convert

import (
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwtype"
)

// The attributes of a wire type follow from its fields: an attribute has the field's name in
// snake case and the type that holds its values. So a field is written once, in the wire type.

// field is a field of a wire type.
type field struct {
	name     string // of its attribute
	index    []int
	typ      reflect.Type
	required bool // the API wants it, be it empty
}

// fieldsOf lists the fields of a wire type, those of embedded types among them. When a taint came
// is no attribute: a taint is as old as its node.
func fieldsOf(wire reflect.Type) []field {
	var out []field
	for _, f := range reflect.VisibleFields(wire) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Type == reflect.TypeFor[further]() { // of the kubelet, without a name of their own
			name, options = "extra", "omitempty"
		}
		if name == "" || name == "-" || f.Type == reflect.TypeFor[*metav1.Time]() {
			continue
		}
		out = append(out, field{name: v1.AttributeName(name), index: f.Index, typ: f.Type, required: !strings.Contains(options, "omit")})
	}
	return out
}

// further are fields that the wire type has no Go field for.
type further = map[string]json.RawMessage

// fieldNamed is the field of the attribute.
func fieldNamed(wire reflect.Type, name string) (field, bool) {
	all := fieldsOf(wire)
	if i := slices.IndexFunc(all, func(f field) bool { return f.name == name }); i >= 0 {
		return all[i], true
	}
	return field{}, false
}

// sets are the attributes whose values have no order. Go and JSON have lists alone.
func sets() []string { return []string{"values", "reasons"} }

// attribute is the type of the field's attribute.
func (f field) attribute() attr.Type {
	if of := typeOf(f.typ); f.typ.Kind() != reflect.Slice || !slices.Contains(sets(), f.name) {
		return of
	}
	return types.SetType{ElemType: typeOf(f.typ.Elem())}
}

// typeOf is the type of attributes that hold values of a wire type.
func typeOf(wire reflect.Type) attr.Type {
	switch wire {
	case reflect.TypeFor[resource.Quantity]():
		return fwtype.Quantity()
	case reflect.TypeFor[metav1.Duration](), reflect.TypeFor[v1.NillableDuration]():
		return fwtype.Duration()
	case reflect.TypeFor[intstr.IntOrString]():
		return types.StringType
	case reflect.TypeFor[further]():
		return types.DynamicType
	}
	switch wire.Kind() {
	case reflect.Pointer:
		return typeOf(wire.Elem())
	case reflect.String:
		return types.StringType
	case reflect.Bool:
		return types.BoolType
	case reflect.Int, reflect.Int32:
		return types.Int32Type
	case reflect.Int64:
		return types.Int64Type
	case reflect.Map:
		return types.MapType{ElemType: typeOf(wire.Elem())}
	case reflect.Slice:
		return types.ListType{ElemType: typeOf(wire.Elem())}
	case reflect.Struct:
		return objectTypeOf(wire)
	default:
		panic(fmt.Sprintf("no attribute holds a %s", wire)) //nolint:forbidigo // a wire type that no schema can have: every test of the schema finds it
	}
}

// objectTypeOf is typeOf for a struct.
func objectTypeOf(wire reflect.Type) types.ObjectType {
	attributes := map[string]attr.Type{}
	for _, f := range fieldsOf(wire) {
		attributes[f.name] = f.attribute()
	}
	return objectType(attributes)
}

// held are the values that a model has for attributes, by name.
func held(model reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for f, value := range model.Fields() {
			if name := f.Tag.Get("tfsdk"); !yield(name, value) {
				return
			}
		}
	}
}
