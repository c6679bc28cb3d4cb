package kube

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// lenient reads the product's own kinds object by object, in every answer: lists, watches
// and single objects. An API server may hold an object in which a field has another type
// than here: definitions of others allow it, or it is older than the definition. Such an
// object must hold up no other. So the fields that cannot be read are left out of it, and
// the object says which they are (v1.Unread).
type lenient struct {
	runtime.NegotiatedSerializer
	scheme *runtime.Scheme
}

// DecoderToVersion returns what reads the answers.
func (l lenient) DecoderToVersion(d runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return lenientDecoder{l.NegotiatedSerializer.DecoderToVersion(d, gv), l.scheme}
}

type lenientDecoder struct {
	runtime.Decoder
	scheme *runtime.Scheme
}

// Decode costs more than the strict decoder only where that fails.
func (l lenientDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	object, gvk, err := l.Decoder.Decode(data, defaults, into)
	if err == nil {
		return object, gvk, nil
	}
	left, faults := l.leaveOut(data, defaults, into)
	if len(faults) == 0 {
		return object, gvk, err // it is no object of ours, or no JSON
	}
	if into != nil {
		reflect.ValueOf(into).Elem().SetZero() // it has parts of the first reading
	}
	object, gvk, err = l.Decoder.Decode(left, defaults, into)
	if err != nil {
		return object, gvk, err
	}
	note(object, faults)
	return object, gvk, nil
}

// fault is a field that cannot be read.
type fault struct{ path, what string }

// leaveOut returns the object or list without the fields that cannot be read, and which
// these are.
func (l lenientDecoder) leaveOut(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) ([]byte, []fault) {
	var kind metav1.TypeMeta
	if utiljson.Unmarshal(data, &kind) != nil {
		return nil, nil
	}
	like, err := l.scheme.New(kind.GroupVersionKind())
	if err != nil && defaults != nil {
		like, err = l.scheme.New(*defaults)
	}
	if err != nil {
		if like = into; like == nil {
			return nil, nil
		}
	}
	var r reader
	left, _ := r.read(data, reflect.TypeOf(like).Elem(), "")
	return left, r.faults
}

// Fitting returns the JSON without the fields that a value of the type cannot hold. like is a
// pointer to such a value.
func Fitting(data []byte, like any) []byte {
	var r reader
	left, _ := r.read(data, reflect.TypeOf(like).Elem(), "")
	return left
}

// note writes on the object, or on the objects of the list, what was left out of them.
func note(object runtime.Object, faults []fault) {
	byItem := map[int]v1.Unread{}
	const alone = -1
	for _, f := range faults {
		item, path := alone, f.path
		if rest, listed := strings.CutPrefix(path, inList+"["); listed {
			number, below, _ := strings.Cut(rest, "].")
			if n, err := strconv.Atoi(number); err == nil {
				item, path = n, below
			}
		}
		byItem[item] += v1.Unread(path + " " + f.what + "\n")
	}
	if o, is := object.(interface{ SetUnread(v1.Unread) }); is {
		o.SetUnread(byItem[alone])
		return
	}
	i := 0
	_ = meta.EachListItem(object, func(o runtime.Object) error { // the function returns no error
		if x, is := o.(interface{ SetUnread(v1.Unread) }); is {
			x.SetUnread(byItem[i])
		}
		i++
		return nil
	})
}

// reader reads JSON into Go types, part by part.
type reader struct{ faults []fault }

// read returns the value without the parts that t cannot hold. It is false if nothing is
// left.
func (r *reader) read(value json.RawMessage, t reflect.Type, path string) (left json.RawMessage, some bool) {
	if path != "" && path != inList && holds(value, t) { // a whole answer is known not to hold
		return value, true
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !isWhole(t) {
		var err error
		switch t.Kind() {
		case reflect.Struct, reflect.Map:
			left, err = r.readObject(value, t, path)
		case reflect.Slice:
			left, err = r.readList(value, t, path)
		default:
			err = errNoParts
		}
		if err == nil {
			return left, true
		}
	}
	r.faults = append(r.faults, fault{path, "must be " + wanted(t) + ", and is " + given(value, t)})
	return nil, false
}

// isWhole says whether values of the type are read as one. The kubelet's settings are not,
// though their type reads itself: it does so for the fields that it does not name.
func isWhole(t reflect.Type) bool {
	_, reads := reflect.New(t).Interface().(json.Unmarshaler)
	return reads && t != reflect.TypeFor[awsv1.KubeletConfiguration]()
}

// inList is where a list has its objects.
const inList = "items"

// holds says whether the type can hold the value as it is.
func holds(value json.RawMessage, t reflect.Type) bool {
	return utiljson.Unmarshal(value, reflect.New(t).Interface()) == nil
}

func (r *reader) readObject(value json.RawMessage, t reflect.Type, path string) (json.RawMessage, error) {
	var parts map[string]json.RawMessage
	if err := utiljson.Unmarshal(value, &parts); err != nil {
		return nil, err
	}
	for name, part := range parts {
		of, known := partOf(t, name)
		if !known {
			continue // nothing reads it
		}
		left, some := r.read(part, of, strings.TrimPrefix(path+"."+name, "."))
		if parts[name] = left; !some {
			delete(parts, name)
		}
	}
	return json.Marshal(parts)
}

func (r *reader) readList(value json.RawMessage, t reflect.Type, path string) (json.RawMessage, error) {
	var parts []json.RawMessage
	if err := utiljson.Unmarshal(value, &parts); err != nil {
		return nil, err
	}
	out := make([]json.RawMessage, 0, len(parts))
	for i, part := range parts {
		if left, some := r.read(part, t.Elem(), fmt.Sprintf("%s[%d]", path, i)); some {
			out = append(out, left)
		}
	}
	return json.Marshal(out)
}

// partOf returns the type of what an object of the type has under the name.
func partOf(t reflect.Type, name string) (reflect.Type, bool) {
	if t.Kind() == reflect.Map {
		return t.Elem(), true
	}
	return fieldOf(t, name)
}

// fieldOf returns the type of the field that has the name in JSON.
func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" || options == "inline" {
			if of, there := fieldOf(f.Type, name); there {
				return of, true
			}
			continue
		}
		if tag == name && name != "-" {
			return f.Type, true
		}
	}
	return nil, false
}

// wanted says in words what the type holds.
func wanted(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return `a quantity such as "100Mi"`
	case reflect.TypeFor[intstr.IntOrString]():
		return "a whole number of 32 bits, or an expression in a string"
	case reflect.TypeFor[metav1.Duration]():
		return `a duration such as "10m"`
	case reflect.TypeFor[v1.NillableDuration]():
		return `a duration such as "10m", or "Never"`
	case reflect.TypeFor[metav1.Time]():
		return `a time such as "2006-01-02T15:04:05Z"`
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number of " + strconv.Itoa(t.Bits()) + " bits"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return "of type " + t.String()
	}
}

// given says in words what kind of value it is, which t does not hold. The value itself may
// be a secret.
func given(value json.RawMessage, t reflect.Type) string {
	switch c := (string(value) + " ")[0]; {
	case c == '{':
		return "an object"
	case c == '[':
		return "a list"
	case c == '"' && t.Kind() == reflect.Struct:
		return "another string"
	case t == reflect.TypeFor[intstr.IntOrString]() && (c == '-' || c >= '0' && c <= '9'):
		return "another number"
	case c == '"':
		return "a string"
	case c == 't', c == 'f':
		return "true or false"
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int32, t.Kind() == reflect.Int64:
		return "another number"
	default:
		return "a number"
	}
}
