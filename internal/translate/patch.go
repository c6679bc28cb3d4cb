package translate

import (
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Patch is a JSON merge patch of one object: its fields, of which a nil value removes one.
type Patch map[string]any

// PatchOf is the patch of the object's metadata, whatever its version. It names the uid,
// so that the API server refuses the patch for another object of the same name.
func PatchOf(object metav1.Object, meta map[string]any) Patch {
	named := map[string]any{"uid": object.GetUID()}
	maps.Copy(named, meta)
	return Patch{"metadata": named}
}

// PatchOfVersion is the same for exactly this version of the object: the API server
// refuses the patch if the object has changed since it was read. A merge patch replaces a
// whole list, so that a patch of a list needs this.
func PatchOfVersion(object metav1.Object, meta map[string]any) Patch {
	p := PatchOf(object, meta)
	p["metadata"].(map[string]any)["resourceVersion"] = object.GetResourceVersion()
	return p
}

// With adds a field beside the metadata, such as "spec", and returns the patch.
func (p Patch) With(field string, value map[string]any) Patch {
	p[field] = value
	return p
}

// JSON marshals the patch.
func (p Patch) JSON() []byte {
	data, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Errorf("patch marshal: %w", err)) //nolint:forbidigo // maps, strings and API types always marshal
	}
	return data
}
