package convert

import (
	"reflect"
	"sort"
	"strconv"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// write sets the fields that the model has attributes of. The parts are pointers to wire values.
func write(model any, diags *diag.Diagnostics, parts ...any) {
	for name, held := range held(reflect.ValueOf(model)) {
		for _, part := range parts {
			to := reflect.ValueOf(part).Elem()
			value, is := held.Interface().(attr.Value)
			if f, has := fieldNamed(to.Type(), name); is && has {
				writer{diags}.field(to, f, value)
			}
		}
	}
}

// writer sets wire values from attributes that are known.
type writer struct{ diags *diag.Diagnostics }

// field sets a field of a struct; false if the value is known and cannot be parsed.
func (w writer) field(of reflect.Value, f field, value attr.Value) bool {
	to := of.FieldByIndex(f.index)
	ok := !known(value) || w.value(to, value)
	if f.required && to.Kind() == reflect.Slice && to.IsNil() {
		to.Set(reflect.MakeSlice(f.typ, 0, 0)) // nil would be null, which is no list
	}
	return ok
}

// value sets a wire value; false if the attribute cannot be parsed, and the value stays absent.
func (w writer) value(to reflect.Value, value attr.Value) bool {
	if to.Kind() == reflect.Pointer {
		pointed := reflect.New(to.Type().Elem())
		ok := w.value(pointed.Elem(), value)
		if ok {
			to.Set(pointed)
		}
		return ok
	}
	switch x := value.(type) {
	case stringer:
		return parse(to, x.ValueString())
	case types.Bool:
		to.SetBool(x.ValueBool())
	case types.Int32:
		to.SetInt(int64(x.ValueInt32()))
	case types.Int64:
		to.SetInt(x.ValueInt64())
	case types.Map:
		w.entries(to, x)
	case types.List:
		w.elements(to, x.Elements())
	case types.Set:
		w.elements(to, x.Elements())
		sort.Slice(to.Interface(), func(i, j int) bool { return to.Index(i).String() < to.Index(j).String() })
	case types.Object:
		return w.object(to, x)
	case types.Dynamic:
		w.further(to, x)
	}
	return true
}

// parse sets a text, or what is written as one.
func parse(to reflect.Value, text string) bool {
	var err error
	switch x := to.Addr().Interface().(type) {
	case *resource.Quantity:
		*x, err = resource.ParseQuantity(text)
	case *metav1.Duration:
		x.Duration, err = time.ParseDuration(text)
	case *v1.NillableDuration:
		if x.Never = text == v1.Never; !x.Never {
			x.Duration, err = time.ParseDuration(text)
		}
	case *intstr.IntOrString: // a number, or else an expression
		*x = intstr.FromString(text)
		if n, failed := strconv.ParseInt(text, 10, 32); failed == nil {
			*x = intstr.FromInt32(int32(n))
		}
	default:
		to.SetString(text)
	}
	return err == nil
}

// entries sets a map, without what is unknown.
func (w writer) entries(to reflect.Value, of types.Map) {
	for key, element := range of.Elements() {
		value := reflect.New(to.Type().Elem()).Elem()
		if !known(element) || !w.value(value, element) {
			continue
		}
		if to.IsNil() {
			to.Set(reflect.MakeMap(to.Type()))
		}
		to.SetMapIndex(reflect.ValueOf(key).Convert(to.Type().Key()), value)
	}
}

// elements sets a list, without the texts that are unknown. An object that is unknown as a whole
// has no fields, so that the indexes stay those of the configuration.
func (w writer) elements(to reflect.Value, of []attr.Value) {
	for _, element := range of {
		value := reflect.New(to.Type().Elem()).Elem()
		if known(element) {
			w.value(value, element)
		} else if value.Kind() != reflect.Struct {
			continue
		}
		to.Set(reflect.Append(to, value))
	}
}

// object sets a struct. An object with a value that cannot be parsed is absent as far as it can
// be: a rule would say again, in other words, that the value is missing.
func (w writer) object(to reflect.Value, of types.Object) bool {
	attributes, ok := of.Attributes(), true
	for _, f := range fieldsOf(to.Type()) {
		if value, has := attributes[f.name]; has && !w.field(to, f, value) {
			ok = false
		}
	}
	if to.Type() == reflect.TypeFor[awsv1.KubeletConfiguration]() && to.IsZero() {
		return false // what sets nothing is absent
	}
	return ok
}

// further sets fields that have no Go field, as JSON.
func (w writer) further(to reflect.Value, of attr.Value) {
	fields, _ := plainValue(of)
	further, _ := fields.(map[string]any) // what is no object has been refused
	var k awsv1.KubeletConfiguration
	for name, value := range further {
		if err := k.SetFurther(name, value); err != nil {
			w.diags.AddError("Cannot write the kubelet's settings", err.Error()+".")
		}
	}
	to.Set(reflect.ValueOf(k.Further))
}
