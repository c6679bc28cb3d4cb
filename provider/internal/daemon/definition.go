package daemon

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
)

// lacking lists what the daemon needs of the object, and what somebody else's object does
// not have. A definition of Karpenter's differs in texts and rules, which are its own
// affair: it must have the fields. Of any other object every field must be equal.
func lacking(wanted, live *unstructured.Unstructured) []string {
	switch wanted.GetKind() {
	case "Namespace":
		return nil
	case definitionKind:
		return lackingFields(wanted.Object, live.Object)
	}
	return kubeobject.Changed(wanted, kubeobject.Common(wanted.Object, live.Object))
}

// lackingFields lists the fields that a definition lacks, as paths below the version.
func lackingFields(wanted, live map[string]any) []string {
	out := otherKind(wanted, live)
	there := versionsOf(live)
	for name, version := range versionsOf(wanted) {
		have, known := there[name]
		if !known || have["served"] != true || have["storage"] != true {
			out = append(out, "spec.versions["+name+"], served and stored")
			continue
		}
		if _, status, _ := unstructured.NestedMap(have, "subresources", "status"); !status {
			out = append(out, "spec.versions["+name+"].subresources.status")
		}
		want, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		has, _, _ := unstructured.NestedMap(have, "schema", "openAPIV3Schema")
		// The API server drops a field of the status that a definition lacks, and the
		// daemon does without it.
		unstructured.RemoveNestedField(want, "properties", "status")
		out = append(out, lackingBelow(want, has, name)...)
	}
	slices.Sort(out)
	return out
}

// otherKind lists the fields by which two definitions are of different kinds.
func otherKind(wanted, live map[string]any) []string {
	var out []string
	for _, path := range [][]string{{"spec", "group"}, {"spec", "scope"}, {"spec", "names", "kind"}, {"spec", "names", "plural"}} {
		want, _, _ := unstructured.NestedString(wanted, path...)
		if have, _, _ := unstructured.NestedString(live, path...); have != want {
			out = append(out, strings.Join(path, "."))
		}
	}
	return out
}

// preserves is the extension of a schema that keeps fields which it does not name.
const preserves = "x-kubernetes-preserve-unknown-fields"

// versionsOf returns the versions of a definition by name.
func versionsOf(definition map[string]any) map[string]map[string]any {
	list, _, _ := unstructured.NestedSlice(definition, "spec", "versions")
	out := map[string]map[string]any{}
	for _, v := range list {
		if version, ok := v.(map[string]any); ok {
			out[fmt.Sprint(version["name"])] = version
		}
	}
	return out
}

// lackingBelow lists the properties and the values of enumerations that a schema lacks.
func lackingBelow(wanted, live map[string]any, path string) []string {
	if live[preserves] == true {
		return nil
	}
	var out []string
	if values, limited := live["enum"].([]any); limited {
		for _, v := range kubeobject.AsList(wanted["enum"]) {
			if !slices.Contains(values, v) {
				out = append(out, fmt.Sprintf("%s = %v", path, v))
			}
		}
	}
	properties, _ := wanted["properties"].(map[string]any)
	have, _ := live["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		inner, is := have[name].(map[string]any)
		if !is {
			out = append(out, path+"."+name)
			continue
		}
		out = append(out, lackingBelow(kubeobject.AsMap(properties[name]), inner, path+"."+name)...)
	}
	for _, of := range []string{"items", "additionalProperties"} {
		if inner, is := wanted[of].(map[string]any); is {
			out = append(out, lackingBelow(inner, kubeobject.AsMap(live[of]), path+"[]")...)
		}
	}
	return out
}
