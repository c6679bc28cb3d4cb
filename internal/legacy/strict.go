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
	live    bool       // the object is in a cluster, where nothing is a template
	lacks   *[]Problem // of an object of v1: takes the fields that the type does not have
}

// decode reads a document into a wire type; false if the document has errors.
func decode[T any](d document, r *report) (T, bool) {
	return strictly[T](d, strict{report: r})
}

// strictly is decode with what s asks for.
func strictly[T any](d document, s strict) (T, bool) {
	var object T
	s.subject, s.kind, s.root, s.live = d.subject(), d.text("kind"), reflect.TypeFor[T](), d.live
	before := len(s.report.errors)
	body := s.check("", d.body, s.root)
	if len(s.report.errors) > before {
		return object, false
	}
	data, err := json.Marshal(body)
	if err == nil {
		err = json.Unmarshal(data, &object)
	}
	if err != nil {
		s.report.fail(s.subject, "", "cannot be read: "+err.Error(), "correct the value")
		return object, false
	}
	return object, true
}

// check returns the value as the type has it: one template for a whole list or map becomes
// a list or map of this template.
func (s strict) check(path string, value any, t reflect.Type) any {
	if value == nil || t.Kind() == reflect.Interface {
		return value // null is absent
	}
	if m, ok := limitMistake(s.kind, path); ok {
		s.report.fail(s.subject, path, m.what, m.remedy)
		return nil
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if text, ok := value.(string); ok && !s.live {
		if !strings.HasSuffix(path, "userData") { // where it is the shell's
			text = braced(text)
			value = text
		}
		if whole := standIn(text, t); whole != nil {
			return whole
		}
	}
	switch t.Kind() {
	case reflect.Struct:
		return s.checkStruct(path, value, t)
	case reflect.Map:
		return s.checkMap(path, value, t)
	case reflect.Slice:
		return s.checkList(path, value, t)
	default:
		s.checkScalar(path, value, t)
		return value
	}
}

// bareName is a variable of envsubst without braces.
var bareName = regexp.MustCompile(`(^|[^$\\])\$([A-Z_][A-Z0-9_]*)`)

// braced writes such variables as templates with braces, which mean the same to envsubst. The second
// round is for a variable right after another one, whose last letter the first round has used up.
func braced(text string) string {
	const braces = "${1}$${${2}}"
	return bareName.ReplaceAllString(bareName.ReplaceAllString(text, braces), braces)
}

func (s strict) checkList(path string, value any, t reflect.Type) any {
	list, ok := value.([]any)
	if !ok {
		s.mismatch(path, value, "a list", "write a list")
		return nil
	}
	all := make([]any, len(list))
	for i, v := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if v == nil {
			s.mismatch(at, v, wanted(t.Elem()), "remove it or give it a value")
			continue
		}
		all[i] = s.check(at, v, t.Elem())
	}
	return all
}

func (s strict) checkStruct(path string, value any, t reflect.Type) any {
	object, ok := value.(map[string]any)
	if !ok {
		s.mismatch(path, value, "a map", "write its fields as key: value")
		return nil
	}
	all := map[string]any{}
	fields := fieldsOf(t)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		at := join(path, key)
		if field, ok := fields[key]; ok {
			all[key] = s.check(at, object[key], field)
			continue
		}
		if key == "creationTimestamp" && object[key] == nil {
			continue // as programs write it that make manifests of Go's types
		}
		if strings.HasSuffix(at, "nodeClassRef.group") && object[key] == wire.AWSGroup {
			continue // v1beta1 has no group, and means this one
		}
		if m, ok := mistakeAt(s.kind, s.lacks != nil, at); ok {
			s.lack(at, m.what, m.remedy)
			continue
		}
		s.unknown(path, key, fields)
	}
	return all
}

// lack reports a field that the type does not have.
func (s strict) lack(at, what, remedy string) {
	if s.lacks == nil {
		s.report.fail(s.subject, at, what, remedy)
		return
	}
	if !strings.HasPrefix(what, leftOut) {
		what += ", and " + leftOut
	}
	*s.lacks = append(*s.lacks, Problem{Source: s.subject.source, Object: s.subject.object, Field: at, What: what, Remedy: remedy, Lost: true})
}

func (s strict) checkMap(path string, value any, t reflect.Type) any {
	object, ok := value.(map[string]any)
	if !ok {
		s.mismatch(path, value, "a map", "write its entries as key: value")
		return nil
	}
	all := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		at := fmt.Sprintf("%s[%s]", path, key)
		if wholly(key) {
			s.report.fail(s.subject, at, "begins with a character that no key has", "remove it")
			continue
		}
		if object[key] == nil {
			s.mismatch(at, nil, wanted(t.Elem()), "remove it or give it a value")
			continue
		}
		name := key
		if !s.live {
			name = braced(key)
		}
		all[name] = s.check(at, object[key], t.Elem())
	}
	return all
}

func (s strict) checkScalar(path string, value any, t reflect.Type) {
	text, isText := value.(string)
	number, isNumber := value.(json.Number)
	if wholly(text) {
		s.report.fail(s.subject, path, "begins with a character that no text has", "remove it")
		return
	}
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
	case reflect.TypeFor[orExpression](), reflect.TypeFor[amount]():
		if !isText && !isNumber {
			s.mismatch(path, value, "a number or an expression", "write one such as 110 or vcpus * 10")
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
	text, _ := value.(string)
	switch {
	case strings.Contains(text, "{{"):
		remedy = hint(text)
	case templated(text) && want == "a map":
		remedy = "write its fields, each with a template of its own"
	case templated(text) && want == "a list":
		remedy = "write a list, or one template for all of it, such as ${jsonencode(var.values)}"
	}
	s.report.fail(s.subject, path, fmt.Sprintf("%s, which must be %s", describe(value), want), remedy)
}

// unknown reports a field that does not exist, with the one that was meant as far as
// that can be said.
func (s strict) unknown(path, key string, fields map[string]reflect.Type) {
	names := slices.Sorted(maps.Keys(fields))
	if s.lacks != nil {
		names = slices.DeleteFunc(names, func(name string) bool { return name == "containerRuntime" }) // v1alpha5 alone has it
	}
	at := join(path, key)
	for _, name := range names {
		if strings.EqualFold(name, key) {
			s.lack(at, "no such field, as letters must match in case", "write "+join(path, name))
			return
		}
	}
	for _, name := range names {
		if name+"s" == key || key+"s" == name || distance(name, key) <= 1+len(key)/8 {
			s.lack(at, noField, "write "+join(path, name))
			return
		}
	}
	if elsewhere := find(s.root, key, "", 0); elsewhere != "" {
		s.lack(at, "no such field here", "move it to "+elsewhere)
		return
	}
	s.lack(at, noField, "remove it, or write one of "+strings.Join(names, ", "))
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
