package legacy

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// strict compares a document with the Go type of its kind, so that what the type does not
// have, or has in another form, is an error that names the path.
type strict struct {
	report  *report
	subject subject
	kind    string
	root    reflect.Type
}

// decode reads a document into a wire type; false if the document has errors.
func decode[T any](d document, r *report) (T, bool) {
	var object T
	root := reflect.TypeFor[T]()
	before := len(r.errors)
	s := strict{report: r, subject: d.subject(), kind: d.text("kind"), root: root}
	s.check("", d.body, root)
	if len(r.errors) > before {
		return object, false
	}
	data, err := json.Marshal(d.body)
	if err == nil {
		err = json.Unmarshal(data, &object)
	}
	if err != nil {
		r.fail(d.subject(), "", "cannot be read: "+err.Error(), "correct the value")
		return object, false
	}
	return object, true
}

func (s strict) check(path string, value any, t reflect.Type) {
	if value == nil || t.Kind() == reflect.Interface {
		return // null is absent
	}
	if m, ok := limitMistake(s.kind, path); ok {
		s.report.fail(s.subject, path, m.what, m.remedy)
		return
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		s.checkStruct(path, value, t)
	case reflect.Map:
		s.checkMap(path, value, t)
	case reflect.Slice:
		list, ok := value.([]any)
		if !ok {
			s.mismatch(path, value, "a list", "write a list")
			return
		}
		for i, v := range list {
			at := fmt.Sprintf("%s[%d]", path, i)
			if v == nil {
				s.mismatch(at, v, wanted(t.Elem()), "remove it or give it a value")
				continue
			}
			s.check(at, v, t.Elem())
		}
	default:
		s.checkScalar(path, value, t)
	}
}

func (s strict) checkStruct(path string, value any, t reflect.Type) {
	object, ok := value.(map[string]any)
	if !ok {
		s.mismatch(path, value, "a map", "write its fields as key: value")
		return
	}
	fields := fieldsOf(t)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		at := join(path, key)
		if field, ok := fields[key]; ok {
			s.check(at, object[key], field)
			continue
		}
		if m, ok := mistakeAt(s.kind, at); ok {
			s.report.fail(s.subject, at, m.what, m.remedy)
			continue
		}
		s.unknown(path, key, fields)
	}
}

func (s strict) checkMap(path string, value any, t reflect.Type) {
	object, ok := value.(map[string]any)
	if !ok {
		s.mismatch(path, value, "a map", "write its entries as key: value")
		return
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		at := fmt.Sprintf("%s[%s]", path, key)
		if object[key] == nil {
			s.mismatch(at, nil, wanted(t.Elem()), "remove it or give it a value")
			continue
		}
		s.check(at, object[key], t.Elem())
	}
}

func (s strict) checkScalar(path string, value any, t reflect.Type) {
	text, isText := value.(string)
	number, isNumber := value.(json.Number)
	switch t {
	case reflect.TypeFor[wire.Number]():
		if isText && templated(text) {
			return
		}
		if _, whole := wire.Number(number.String()).Value(); !isNumber || !whole {
			s.mismatch(path, value, "a whole number", "write it without quotes, unit or point")
		}
	case reflect.TypeFor[wire.Bool]():
		if _, ok := value.(bool); !ok && (!isText || !templated(text)) {
			s.mismatch(path, value, "true or false", "write it without quotes")
		}
	case reflect.TypeFor[wire.Quantity]():
		if isText && templated(text) || isText && strings.HasSuffix(text, "%") {
			return
		}
		if isNumber {
			text = number.String()
		}
		if _, ok := parseQuantity(text); !ok {
			s.mismatch(path, value, "a quantity", "write one such as 500m, 4 or 16Gi")
		}
	default:
		if !isText {
			remedy := "write text"
			if isNumber || value == true || value == false {
				remedy = "put it in quotes"
			}
			s.mismatch(path, value, "text", remedy)
		}
	}
}

// quantityForm bounds what is parsed: exponents without end cost time without end.
var quantityForm = regexp.MustCompile(`^[+-]?[0-9.]{1,30}([a-zA-Z]{1,2}|[eE][+-]?[0-9]{1,2})?$`)

func parseQuantity(text string) (resource.Quantity, bool) {
	if !quantityForm.MatchString(text) {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}

func (s strict) mismatch(path string, value any, want, remedy string) {
	s.report.fail(s.subject, path, fmt.Sprintf("%s, which must be %s", describe(value), want), remedy)
}

// unknown reports a field that does not exist, with the one that was meant as far as
// that can be said.
func (s strict) unknown(path, key string, fields map[string]reflect.Type) {
	names := slices.Sorted(maps.Keys(fields))
	at := join(path, key)
	for _, name := range names {
		if strings.EqualFold(name, key) {
			s.report.fail(s.subject, at, "no such field, as letters must match in case", "write "+join(path, name))
			return
		}
	}
	for _, name := range names {
		if name+"s" == key || key+"s" == name || distance(name, key) <= 1+len(key)/8 {
			s.report.fail(s.subject, at, "no such field", "write "+join(path, name))
			return
		}
	}
	if elsewhere := find(s.root, key, "", 0); elsewhere != "" {
		s.report.fail(s.subject, at, "no such field here", "move it to "+elsewhere)
		return
	}
	s.report.fail(s.subject, at, "no such field", "remove it, or write one of "+strings.Join(names, ", "))
}

// find looks for a field of that name anywhere in a type, and returns its path.
func find(t reflect.Type, key, path string, depth int) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || depth > 4 {
		return ""
	}
	fields := fieldsOf(t)
	if _, ok := fields[key]; ok && path != "" {
		return join(path, key)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if found := find(fields[name], key, join(path, name), depth+1); found != "" {
			return found
		}
	}
	return ""
}

// fieldsOf lists the fields of a struct by JSON name, those of embedded structs included.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			fields[name] = f.Type
		}
	}
	return fields
}

// wanted names the form of a type.
func wanted(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer:
		return "a map"
	case t == reflect.TypeFor[wire.Quantity]():
		return "a quantity"
	}
	return "text"
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// distance is pick.Distance of texts that may be alike. Texts whose lengths differ by more than 2 are far apart.
func distance(a, b string) int {
	if len(a) > len(b)+2 || len(b) > len(a)+2 || len(a) > 64 {
		return len(a) + len(b)
	}
	return pick.Distance(a, b)
}
