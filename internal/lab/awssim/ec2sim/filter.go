package ec2sim

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// filter is one condition of a Describe call: any of the values must match.
type filter struct {
	Name   string   `q:"Name,required"`
	Values []string `q:"Value"`
}

const tagFilterPrefix = "tag:"

// check refuses a filter that items of the type do not have, and one without value.
func (f filter) check(item reflect.Type) error {
	_, tagged := item.FieldByName("Tags")
	_, found := fieldOf(item, f.Name)
	if !found && !(tagged && strings.HasPrefix(f.Name, tagFilterPrefix)) {
		return wire.Errorf("InvalidParameterValue", "The filter '%s' is invalid", f.Name)
	}
	if len(f.Values) == 0 {
		return wire.Errorf("InvalidParameterValue", "The filter '%s' needs at least one value", f.Name)
	}
	return nil
}

func matchesAll(filters []filter, item reflect.Value) bool {
	return !slices.ContainsFunc(filters, func(f filter) bool { return !anyMatch(f.Values, f.texts(item)) })
}

// texts are what the values of the filter are compared with.
func (f filter) texts(item reflect.Value) []string {
	key, ofTag := strings.CutPrefix(f.Name, tagFilterPrefix)
	if !ofTag {
		path, _ := fieldOf(item.Type(), f.Name)
		return textsAt(item, path)
	}
	for _, t := range item.FieldByName("Tags").Interface().(set[tag]) {
		if t.Key == key {
			return []string{t.Value}
		}
	}
	return nil
}

// fieldOf finds the field of an item that a filter names, and says by which
// fields it is reached. The filter tag of a struct or list is what the names of
// all that is in it begin with.
func fieldOf(t reflect.Type, name string) (path []int, found bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, name == ""
	}
	for i := range t.NumField() {
		tag, has := t.Field(i).Tag.Lookup("filter")
		if rest, begins := strings.CutPrefix(name, tag); has && begins {
			if path, found := fieldOf(t.Field(i).Type, rest); found {
				return append([]int{i}, path...), true
			}
		}
	}
	return nil, false
}

// textsAt are the values at the end of a path; one that is empty is none.
func textsAt(v reflect.Value, path []int) (texts []string) {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
	case v.Kind() == reflect.Pointer:
		return textsAt(v.Elem(), path)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			texts = append(texts, textsAt(v.Index(i), path)...)
		}
	case len(path) > 0:
		return textsAt(v.Field(path[0]), path[1:])
	default:
		if text := fmt.Sprint(v.Interface()); text != "" {
			return []string{text}
		}
	}
	return texts
}

func anyMatch(patterns, values []string) bool {
	for _, pattern := range patterns {
		for _, value := range values {
			if wildcardMatch(pattern, value) {
				return true
			}
		}
	}
	return false
}

// wildcardMatch compares with EC2's wildcards: * is any run of characters, ?
// one character, and a backslash takes the next character as it is.
func wildcardMatch(pattern, value string) bool {
	for ; pattern != ""; pattern, value = pattern[1:], value[1:] {
		taken := pattern[0]
		switch {
		case taken == '*':
			return wildcardMatch(pattern[1:], value) || value != "" && wildcardMatch(pattern, value[1:])
		case taken == '\\' && len(pattern) > 1:
			pattern = pattern[1:]
			taken = pattern[0]
		case taken == '?' && value != "":
			taken = value[0]
		}
		if value == "" || value[0] != taken {
			return false
		}
	}
	return value == ""
}
