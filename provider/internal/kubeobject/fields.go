package kubeobject

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
)

// Changed lists the paths at which the owned part of a live object differs from
// what was applied. Nobody owns the fields that name an object.
func Changed(applied *unstructured.Unstructured, owned map[string]any) []string {
	wanted := applied.DeepCopy().Object
	delete(wanted, "apiVersion")
	delete(wanted, "kind")
	unstructured.RemoveNestedField(wanted, "metadata", "name")
	unstructured.RemoveNestedField(wanted, "metadata", "namespace")
	if metadata, ok := wanted["metadata"].(map[string]any); ok && len(metadata) == 0 {
		delete(wanted, "metadata")
	}
	return convert.Differences(wanted, owned)
}

// Common is the part of live whose fields wanted has too.
func Common(wanted, live map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range wanted {
		have, there := live[name]
		if !there {
			continue
		}
		inner, isMap := value.(map[string]any)
		haveInner, haveMap := have.(map[string]any)
		if isMap && haveMap {
			have = Common(inner, haveInner)
		}
		out[name] = have
	}
	return out
}

// AsMap is the value as an object; nil for any other.
func AsMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// AsList is the value as a list; nil for any other.
func AsList(v any) []any {
	l, _ := v.([]any)
	return l
}

// extras is the merge patch that removes the fields of live that wanted does not
// have; nil if there are none. Lists are atomic in these specs and have no extras.
func extras(wanted, live any) map[string]any {
	have, isMap := live.(map[string]any)
	want, wantsMap := wanted.(map[string]any)
	if !isMap || !wantsMap {
		return nil
	}
	patch := map[string]any{}
	for name, value := range have {
		asked, there := want[name]
		if !there {
			patch[name] = nil
			continue
		}
		if inner := extras(asked, value); inner != nil {
			patch[name] = inner
		}
	}
	if len(patch) == 0 {
		return nil
	}
	return patch
}

// exactly is the merge patch that makes live what is wanted.
func exactly(wanted, live any) any {
	want, wantsMap := wanted.(map[string]any)
	if !wantsMap {
		return wanted
	}
	have, _ := live.(map[string]any)
	patch := map[string]any{}
	for name := range have {
		patch[name] = nil
	}
	for name, value := range want {
		patch[name] = exactly(value, have[name])
	}
	return patch
}
