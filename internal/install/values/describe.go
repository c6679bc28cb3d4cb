package values

import (
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Kind is what a field holds.
type Kind string

// The kinds of fields.
const (
	Object       Kind = "object"  // Fields
	Map          Kind = "map"     // Items by any key
	List         Kind = "list"    // Items
	String       Kind = "string"  // one of Choices, where there are any
	Boolean      Kind = "boolean" //
	Integer      Kind = "integer" // Min or more
	Quantity     Kind = "quantity"
	IntOrPercent Kind = "number or percentage"
)

// Field describes a field of Values.
type Field struct {
	Name, Path, Doc string // the path has the names from the root, with dots
	Kind            Kind
	Optional        bool // may be null, which takes the default away
	Choices         []string
	Min             int64
	Fields          []Field
	Items           *Field
}

// Describe returns the description of Values, whose fields are in the order of the type.
func Describe() Field { return describe("", "", reflect.TypeFor[Values](), "") }

// leaves are the types that are read as a whole.
func leaves() map[reflect.Type]Kind {
	return map[reflect.Type]Kind{reflect.TypeFor[resource.Quantity](): Quantity, reflect.TypeFor[intstr.IntOrString](): IntOrPercent}
}

func describe(name, path string, of reflect.Type, tag reflect.StructTag) Field {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	f := Field{Name: name, Path: path, Doc: tag.Get("doc"), Choices: choices()[path]}
	f.Optional = strings.Contains(tag.Get("json"), ",omit") || of.Kind() == reflect.Map || of.Kind() == reflect.Slice
	f.Min, _ = strconv.ParseInt(tag.Get("min"), 10, 64) // 0 without the tag
	if kind, leaf := leaves()[of]; leaf {
		f.Kind = kind
		return f
	}
	switch of.Kind() {
	case reflect.Struct:
		f.Kind, f.Fields = Object, fieldsOf(path, of)
	case reflect.Map, reflect.Slice:
		f.Kind = Map
		if of.Kind() == reflect.Slice {
			f.Kind = List
		}
		items := describe("", path+"[]", of.Elem(), "")
		f.Items = &items
	case reflect.Bool:
		f.Kind = Boolean
	case reflect.Int32, reflect.Int64:
		f.Kind = Integer
	default:
		f.Kind = String
	}
	return f
}

func fieldsOf(path string, of reflect.Type) []Field {
	var out []Field
	for member := range of.Fields() {
		name, _, _ := strings.Cut(member.Tag.Get("json"), ",")
		if name == "" { // inlined
			inner := member.Type
			out = append(out, fieldsOf(path, inner)...)
			continue
		}
		out = append(out, describe(name, strings.TrimPrefix(path+"."+name, "."), member.Type, member.Tag))
	}
	return out
}

// walk calls visit for the field and all below it.
func (f Field) walk(visit func(Field)) {
	visit(f)
	for _, child := range f.Fields {
		child.walk(visit)
	}
	if f.Items != nil {
		f.Items.walk(visit)
	}
}
