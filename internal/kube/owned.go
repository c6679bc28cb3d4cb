package kube

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Owned returns the fields of obj that the field manager has applied, with their current
// values. The difference to what was applied is drift. Fields that API defaults,
// controllers or other people have set are not in the result. If the manager never
// applied the object, the result is an empty map.
func Owned(obj *unstructured.Unstructured, manager string) (map[string]any, error) {
	owned := map[string]any{}
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager != manager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			return nil, fmt.Errorf("%s read owned fields: %w", RefOf(obj), err)
		}
		projected, ok := project(obj.Object, fields).(map[string]any)
		if ok {
			owned = projected
		}
	}
	return owned, nil
}

// project keeps the parts of value that fields names. The format is FieldsV1 of the
// Kubernetes API: "f:name" is a field of an object, `k:{...}` the list item with these
// keys, "v:..." the list item with this value, "i:n" the n-th list item, "." the value
// itself. An empty object is a leaf, which is owned as a whole.
func project(value any, fields map[string]any) any {
	if len(fields) == 0 {
		return value
	}
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, inner := range fields {
			field, ok := strings.CutPrefix(name, "f:")
			if !ok {
				continue
			}
			if current, there := value[field]; there {
				out[field] = project(current, children(inner))
			}
		}
		return out
	case []any:
		out := []any{}
		for i, item := range value {
			if inner, ok := itemFields(item, i, fields); ok {
				out = append(out, project(item, inner))
			}
		}
		return out
	}
	return value
}

// itemFields finds the entry of fields that names the list item.
func itemFields(item any, index int, fields map[string]any) (map[string]any, bool) {
	for name, inner := range fields {
		kind, text, ok := strings.Cut(name, ":")
		if !ok {
			continue
		}
		switch kind {
		case "k":
			var keys map[string]any
			object, isObject := item.(map[string]any)
			if !isObject || json.Unmarshal([]byte(text), &keys) != nil {
				continue
			}
			if hasKeys(object, keys) {
				return children(inner), true
			}
		case "v":
			var want any
			if json.Unmarshal([]byte(text), &want) == nil && sameScalar(item, want) {
				return children(inner), true
			}
		case "i":
			if text == fmt.Sprint(index) {
				return children(inner), true
			}
		}
	}
	return nil, false
}

func hasKeys(object, keys map[string]any) bool {
	for name, want := range keys {
		if !sameScalar(object[name], want) {
			return false
		}
	}
	return true
}

// sameScalar compares a scalar of an object with a scalar from JSON text, where every
// number is a float64.
func sameScalar(have, want any) bool {
	if n, ok := have.(int64); ok {
		have = float64(n)
	}
	return reflect.DeepEqual(have, want)
}

func children(fields any) map[string]any {
	m, ok := fields.(map[string]any)
	if !ok {
		return nil
	}
	return m
}
