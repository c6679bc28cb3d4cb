package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Differences lists the paths at which owned differs from wanted, in the order of
// their names. owned is the part of a live object that we applied. A field that
// only owned has is no difference: it is a default inside a part that is owned as a
// whole. Both are JSON values.
func Differences(wanted, owned any) []string {
	var out []string
	compare("", plain(wanted), plain(owned), &out)
	return out
}

// plain gives all numbers one type: YAML, JSON and Go values have several.
func plain(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		return v
	}
	return out
}

func compare(at string, wanted, owned any, out *[]string) {
	switch want := wanted.(type) {
	case map[string]any:
		have, ok := owned.(map[string]any)
		if !ok {
			*out = append(*out, at)
			return
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			value, there := have[name]
			if !there {
				*out = append(*out, join(at, name))
				continue
			}
			compare(join(at, name), want[name], value, out)
		}
	case []any:
		have, ok := owned.([]any)
		if !ok || len(have) != len(want) {
			*out = append(*out, at)
			return
		}
		for i := range want {
			compare(fmt.Sprintf("%s[%d]", at, i), want[i], have[i], out)
		}
	default:
		if !reflect.DeepEqual(wanted, owned) {
			*out = append(*out, at)
		}
	}
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}
