package kube

import (
	"bytes"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
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
		var fields fieldpath.Set
		if err := fields.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			return nil, fmt.Errorf("%s read owned fields: %w", RefOf(obj), err)
		}
		if projected, ok := project(obj.Object, &fields).(map[string]any); ok {
			owned = projected
		}
	}
	return owned, nil
}

// project keeps the parts of current that fields names. What fields names as a whole has no
// children there.
func project(current any, fields *fieldpath.Set) any {
	switch current := current.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, inner := range current {
			if kept, owned := part(fieldpath.PathElement{FieldName: &name}, inner, fields); owned {
				out[name] = kept
			}
		}
		return out
	case []any:
		out := []any{}
		for i, item := range current {
			element, named := elementOf(item, i, fields)
			if !named {
				continue
			}
			if kept, owned := part(element, item, fields); owned {
				out = append(out, kept)
			}
		}
		return out
	}
	return current
}

// part is what fields names of the inner value that element leads to.
func part(element fieldpath.PathElement, inner any, fields *fieldpath.Set) (any, bool) {
	if children, has := fields.Children.Get(element); has && !children.Empty() {
		return project(inner, children), true
	}
	return inner, fields.Members.Has(element)
}

// elementOf finds how fields names the item of a list: by keys, by value or by index.
func elementOf(item any, index int, fields *fieldpath.Set) (found fieldpath.PathElement, named bool) {
	object, _ := item.(map[string]any)
	fields.Iterate(func(path fieldpath.Path) {
		switch element := path[0]; {
		case named:
		case element.Key != nil:
			named = object != nil
			for _, key := range *element.Key {
				named = named && value.Equals(key.Value, value.NewValueInterface(object[key.Name]))
			}
			found = element
		case element.Value != nil:
			found, named = element, value.Equals(*element.Value, value.NewValueInterface(item))
		case element.Index != nil:
			found, named = element, *element.Index == index
		}
	})
	return found, named
}
