package ec2sim

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// formNode is one step of a dotted parameter name: Filter.1.Value.2 is four
// nodes, the last of which has a value.
type formNode struct {
	value    string
	isSet    bool
	used     bool
	children map[string]*formNode
}

// parameter is one that no field names: it is decoded into what to points to.
type parameter struct {
	name string
	to   any
}

// decodeForm fills the struct behind out from a form of the EC2 query
// protocol. Fields name their parameter in a `q` tag; `q:"Name,required"` must
// be present; slices are numbered lists; embedded structs without a tag share
// the level of their parent. Every parameter must be wanted by some field: one
// that the simulator does not know could change what EC2 would do.
func decodeForm(form url.Values, out any, more ...parameter) error {
	root := &formNode{}
	for key, values := range form {
		if key != "Action" && key != "Version" && len(values) > 0 {
			root.insert(strings.Split(key, "."), values[0])
		}
	}
	if err := decodeStruct(root, "", reflect.ValueOf(out).Elem()); err != nil {
		return err
	}
	for _, p := range more {
		if child := root.children[p.name]; child != nil {
			if err := decodeValue(child, p.name, reflect.ValueOf(p.to).Elem()); err != nil {
				return err
			}
		}
	}
	if path := root.firstUnused(""); path != "" {
		return wire.Errorf("UnknownParameter", "The parameter %s is not recognized", path)
	}
	return nil
}

func (n *formNode) insert(path []string, value string) {
	if len(path) == 0 {
		n.value, n.isSet = value, true
		return
	}
	if n.children == nil {
		n.children = map[string]*formNode{}
	}
	child := n.children[path[0]]
	if child == nil {
		child = &formNode{}
		n.children[path[0]] = child
	}
	child.insert(path[1:], value)
}

func (n *formNode) firstUnused(path string) string {
	if n.isSet && !n.used {
		return path
	}
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		if found := n.children[name].firstUnused(join(path, name)); found != "" {
			return found
		}
	}
	return ""
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func decodeStruct(n *formNode, path string, out reflect.Value) error {
	for i := range out.NumField() {
		field := out.Type().Field(i)
		tag, hasTag := field.Tag.Lookup("q")
		if !hasTag {
			if field.Anonymous && field.Type.Kind() == reflect.Struct {
				if err := decodeStruct(n, path, out.Field(i)); err != nil {
					return err
				}
			}
			continue
		}
		name, option, _ := strings.Cut(tag, ",")
		child := n.children[name]
		if child == nil {
			if option == "required" {
				return missingParameter(join(path, name))
			}
			continue
		}
		if err := decodeValue(child, join(path, name), out.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

func decodeValue(n *formNode, path string, out reflect.Value) error {
	if out.Type() == reflect.TypeFor[time.Time]() {
		t, err := time.Parse(time.RFC3339, n.take())
		if err != nil {
			return invalidValue(path, n.value, "Expected an ISO 8601 time.")
		}
		out.Set(reflect.ValueOf(t))
		return nil
	}
	switch out.Kind() {
	case reflect.Pointer:
		out.Set(reflect.New(out.Type().Elem()))
		return decodeValue(n, path, out.Elem())
	case reflect.Struct:
		return decodeStruct(n, path, out)
	case reflect.Slice:
		return decodeList(n, path, out)
	default:
		return decodeScalar(n.take(), path, out)
	}
}

func (n *formNode) take() string {
	n.used = true
	return n.value
}

func decodeScalar(text, path string, out reflect.Value) error {
	switch out.Kind() {
	case reflect.String:
		out.SetString(text)
	case reflect.Bool:
		value, err := strconv.ParseBool(text)
		if err != nil {
			return invalidValue(path, text, "Expected true or false.")
		}
		out.SetBool(value)
	case reflect.Int, reflect.Int64:
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return invalidValue(path, text, "Expected an integer.")
		}
		out.SetInt(value)
	case reflect.Float64:
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return invalidValue(path, text, "Expected a number.")
		}
		out.SetFloat(value)
	default:
		panic("ec2sim: request field " + path + " has an undecodable type " + out.Type().String()) //nolint:forbidigo // a request struct of this package is wrong
	}
	return nil
}

// decodeList reads the numbered children in the order of their numbers; the
// protocol allows gaps.
func decodeList(n *formNode, path string, out reflect.Value) error {
	numbers := make([]int, 0, len(n.children))
	for name := range n.children {
		number, err := strconv.Atoi(name)
		if err != nil || number < 1 {
			return wire.Errorf("UnknownParameter", "The parameter %s is not recognized", join(path, name))
		}
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		name := strconv.Itoa(number)
		item := reflect.New(out.Type().Elem()).Elem()
		if err := decodeValue(n.children[name], join(path, name), item); err != nil {
			return err
		}
		out.Set(reflect.Append(out, item))
	}
	return nil
}
