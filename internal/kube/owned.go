package kube

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Owned gives the part of obj that the field manager has applied, as the object
// has it now: comparing it with what was applied shows drift, without what the
// API's defaults, controllers and other people put beside it. An object that
// the manager never applied gives an empty map.
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

// project keeps of value what fields names. The format (FieldsV1 of the
// Kubernetes API): "f:name" a field of an object, `k:{...}` the list item with
// those keys, "v:..." a list item of that value, "i:n" the n-th item, "." the
// thing itself; an empty object is a leaf, owned as a whole.
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

// itemFields finds the entry of fields that names a list's item.
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

// sameScalar compares an object's scalar with one out of JSON text, where every
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
