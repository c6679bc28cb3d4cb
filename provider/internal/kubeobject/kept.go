package kubeobject

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// An imported object may have fields that the resource has no attribute for. An update
// removes every field that the configuration does not have, so these fields would go
// without a word in any plan. They are kept as they are instead, and the import says so.

// KeepFields notes what the live spec has more than the declared one, and warns of it.
func KeepFields(b *managed.Base, own ownership.Record, declared, live *unstructured.Unstructured, id string, diags *diag.Diagnostics) error {
	more, inLists := surplus("spec", declared.Object["spec"], live.Object["spec"])
	if fields, some := more.(map[string]any); some && len(fields) > 0 {
		text, err := json.Marshal(fields)
		if err != nil {
			return fmt.Errorf("imported fields keep: %w", err)
		}
		own[ownership.KeyKept] = string(text)
		diags.AddWarning("Fields without an attribute", fmt.Sprintf(
			"karpenter_%s %q: the imported object has fields that karpenter_%s has no attributes for: %s. Updates leave these fields as they are. To remove one, use kubectl edit before the import.",
			b.Kind, id, b.Kind, strings.Join(leaves("spec", fields), ", ")))
	}
	if len(inLists) > 0 {
		diags.AddWarning("Fields without an attribute will be removed", fmt.Sprintf(
			"karpenter_%s %q: elements of lists have fields that karpenter_%s has no attributes for: %s. The next update of the list removes these fields.",
			b.Kind, id, b.Kind, strings.Join(inLists, ", ")))
	}
	return nil
}

// withKept adds the kept fields to the spec that is declared. What the configuration has
// takes precedence.
func withKept(own ownership.Record, spec map[string]any) error {
	if own[ownership.KeyKept] == "" {
		return nil
	}
	var kept map[string]any
	if err := json.Unmarshal([]byte(own[ownership.KeyKept]), &kept); err != nil {
		return fmt.Errorf("kept fields read: %w", err)
	}
	addMissing(spec, kept)
	return nil
}

func addMissing(to, from map[string]any) {
	for name, value := range from {
		have, there := to[name]
		inner, isMap := value.(map[string]any)
		haveInner, haveMap := have.(map[string]any)
		switch {
		case !there:
			to[name] = value
		case isMap && haveMap:
			addMissing(haveInner, inner)
		}
	}
}

// surplus is what have has more than declared; nil for nothing. The elements of lists
// cannot be kept, as lists are declared whole: inLists names what these have more.
func surplus(at string, declared, have any) (more any, inLists []string) {
	switch have := have.(type) {
	case map[string]any:
		known, _ := declared.(map[string]any)
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(have)) {
			value, there := known[name]
			if !there {
				out[name] = have[name]
				continue
			}
			inner, lists := surplus(at+"."+name, value, have[name])
			if inner != nil {
				out[name] = inner
			}
			inLists = append(inLists, lists...)
		}
		if len(out) > 0 {
			return out, inLists
		}
	case []any:
		known, _ := declared.([]any)
		for i, element := range have {
			if i >= len(known) {
				break
			}
			here := fmt.Sprintf("%s[%d]", at, i)
			inner, lists := surplus(here, known[i], element)
			if fields, some := inner.(map[string]any); some {
				inLists = append(inLists, leaves(here, fields)...)
			}
			inLists = append(inLists, lists...)
		}
	}
	return nil, inLists
}

// leaves are the paths of the values, in order.
func leaves(at string, fields map[string]any) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		here := at + "." + name
		if inner, isMap := fields[name].(map[string]any); isMap && len(inner) > 0 {
			out = append(out, leaves(here, inner)...)
		} else {
			out = append(out, here)
		}
	}
	return out
}
