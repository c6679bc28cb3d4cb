package daemon

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
)

// Server-side apply tells the entries of some lists apart by keys, such as the name of a
// container. Of an entry whose key somebody has changed, it knows only that ours is gone and that
// somebody has added another one: the apply makes ours again, and the other one stays beside it.
// Nothing can tell it from a true addition for sure, so it is not deleted, and a plan says so.

// keysOf are the fields that tell the entries of a list apart. Source: x-kubernetes-list-map-keys
// in the OpenAPI document of the API server.
func keysOf(list string) []string {
	switch list {
	case "containers", "env", "imagePullSecrets":
		return []string{"name"}
	case "ports": // those of a container, and those of a Service
		return []string{"containerPort", "port", "protocol"}
	case "topologySpreadConstraints":
		return []string{"topologyKey", "whenUnsatisfiable"}
	}
	return nil
}

// renamedIn are the entries of an object that have other keys.
type renamedIn struct {
	ref     kube.Ref
	entries []string
}

// renamedEntries says of each declared entry that is gone which other entry equals it but for
// its key.
func renamedEntries(declared, live *unstructured.Unstructured) []string {
	var out []string
	findRenamed(declared.Object, live.Object, "", "", &out)
	return out
}

// findRenamed looks into the field with the name, which is at the path.
func findRenamed(wanted, live any, path, name string, out *[]string) {
	switch wanted := wanted.(type) {
	case map[string]any:
		have := kubeobject.AsMap(live)
		for _, field := range slices.Sorted(maps.Keys(wanted)) {
			findRenamed(wanted[field], have[field], strings.TrimPrefix(path+"."+field, "."), field, out)
		}
	case []any:
		keys := keysOf(name)
		if keys == nil {
			return
		}
		have := byKey(kubeobject.AsList(live), keys)
		declared := byKey(wanted, keys)
		for _, key := range slices.Sorted(maps.Keys(declared)) {
			if same, there := have[key]; there {
				findRenamed(declared[key], same, fmt.Sprintf("%s[%s]", path, key), "", out)
				continue
			}
			for _, other := range slices.Sorted(maps.Keys(have)) {
				if _, ours := declared[other]; !ours && alikeBut(keys, declared[key], have[other]) {
					*out = append(*out, fmt.Sprintf("%s: %s is now %s", path, key, other))
				}
			}
		}
	}
}

// byKey gives the entries of a list by the values of their keys.
func byKey(list []any, keys []string) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, item := range list {
		entry := kubeobject.AsMap(item)
		var values []string
		for _, key := range keys {
			if value, has := entry[key]; has {
				values = append(values, fmt.Sprint(value))
			}
		}
		out[strings.Join(values, "/")] = entry
	}
	return out
}

// alikeBut tells whether the other entry has all of the declared one but its keys.
func alikeBut(keys []string, declared, other map[string]any) bool {
	rest := maps.Clone(declared)
	for _, key := range keys {
		delete(rest, key)
	}
	return len(convert.Differences(rest, kubeobject.Common(rest, other))) == 0
}

// renamedError adds to an error of an apply that an entry with another key may be its cause: two
// ports of a container cannot have one name.
func renamedError(declared, live *unstructured.Unstructured, err error) error {
	renamed := renamedEntries(declared, live)
	if len(renamed) == 0 {
		return err
	}
	return fmt.Errorf("%w; somebody has given entries of its lists other keys (%s), and may have to take them out: kubectl edit %s", err, strings.Join(renamed, ", "), kubectlName(kube.RefOf(declared)))
}

// warnRenamed warns of entries that the next apply makes again beside those that somebody has made of them.
func warnRenamed(b *managed.Base, diags *diag.Diagnostics, m managed.Identified, in renamedIn) {
	diags.AddWarning("Entries have other keys", fmt.Sprintf(
		"karpenter_%s %q: somebody has given entries of lists in %s other keys: %s.\n\nThe next apply makes the entries again, and leaves those with the other keys: Kubernetes takes them for additions of somebody else. Take them out yourself: kubectl edit %s.",
		b.Kind, managed.ImportID(m), in.ref, strings.Join(in.entries, ", "), kubectlName(in.ref)))
}

// kubectlName names the object for kubectl.
func kubectlName(ref kube.Ref) string {
	out := strings.ToLower(ref.Kind) + " " + ref.Name
	if ref.Namespace != "" {
		out += " --namespace " + ref.Namespace
	}
	return out
}
