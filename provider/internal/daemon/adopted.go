package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// An adopted definition is one that somebody else made, such as Helm, and whose content is
// ours since adopt_definitions was set. It is not ours to delete: objects that are older than
// the daemon need it.

// adoptable refuses to adopt the definition if that could lose something: another kind, or
// fields that our definition does not have. refusal is ErrExists or ErrOtherObject.
func adoptable(wanted, live *unstructured.Unstructured, refusal error) error {
	ref := kube.RefOf(wanted)
	if other := otherKind(wanted.Object, live.Object); len(other) > 0 {
		return fmt.Errorf("%s %w and is of another kind of object: it differs in %s", ref, refusal, strings.Join(other, ", "))
	}
	if lost := losses(wanted, live); len(lost) > 0 {
		return fmt.Errorf("%s %w: %s", ref, failure.ErrShrinks, strings.Join(lost, ", "))
	}
	return nil
}

// losses lists what objects may have by the live definition and not by ours, as paths below
// the version. A version that our definition does not have counts only where objects are
// stored in it: see unreadable.
func losses(wanted, live *unstructured.Unstructured) []string {
	ours := versionsOf(wanted.Object)
	var out []string
	for name, theirs := range versionsOf(live.Object) {
		version, known := ours[name]
		if !known {
			continue
		}
		has, _, _ := unstructured.NestedMap(theirs, "schema", "openAPIV3Schema")
		want, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		out = append(out, lackingBelow(has, want, name)...)
		out = append(out, unknownBelow(has, want, name)...)
	}
	slices.Sort(out)
	return out
}

// unknownBelow lists the places where a schema keeps fields that it does not know, and ours
// would drop them.
func unknownBelow(theirs, ours map[string]any, path string) []string {
	if ours[preserves] == true {
		return nil
	}
	if theirs[preserves] == true {
		return []string{path + " (fields that the schema does not name)"}
	}
	var out []string
	properties := kubeobject.AsMap(theirs["properties"])
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if inner, known := kubeobject.AsMap(ours["properties"])[name].(map[string]any); known {
			out = append(out, unknownBelow(kubeobject.AsMap(properties[name]), inner, path+"."+name)...)
		}
	}
	for _, of := range []string{"items", "additionalProperties"} {
		inner, is := theirs[of].(map[string]any)
		if _, known := ours[of].(map[string]any); is && known {
			out = append(out, unknownBelow(inner, kubeobject.AsMap(ours[of]), path+"[]")...)
		}
	}
	if anyField, known := theirs["additionalProperties"], ours["additionalProperties"]; anyField != nil && anyField != false && known == nil {
		out = append(out, path+"[]")
	}
	return out
}

// adoptedForm is the definition as it is applied to one that is adopted.
func adoptedForm(obj *unstructured.Unstructured) *unstructured.Unstructured {
	marked := obj.DeepCopy()
	annotations := marked.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[kubeobject.AdoptedMark] = "true"
	marked.SetAnnotations(annotations)
	return marked
}

// adopt gives the live definition our content, whoever owns its fields, and notes it in own
// as adopted. Labels and annotations of others stay. If the definition has changed since it
// was read, adopt changes nothing: what may be lost was judged by what was read.
func (c *Cluster) adopt(ctx context.Context, obj, live *unstructured.Unstructured, own ownership.Record) error {
	ref := kube.RefOf(obj)
	marked := adoptedForm(obj)
	marked.SetUID(live.GetUID())
	marked.SetResourceVersion(live.GetResourceVersion())
	now, err := c.Apply(ctx, marked, true)
	if err != nil {
		return err
	}
	own[ownership.KeyAdopted+ref.Key()] = string(live.GetUID())
	if !convertsByWebhook(now) {
		return nil
	}
	// The webhook is one of the old controller. It comes second: with several versions and
	// no webhook, objects would be converted by their version's name alone.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": live.GetUID()}, "spec": map[string]any{"conversion": nil}})
	if err != nil {
		return fmt.Errorf("%s patch: %w", ref, err)
	}
	return c.Merge(ctx, schema.GroupVersionResource{Group: ref.Group, Version: ref.Version, Resource: "customresourcedefinitions"}, ref.Name, patch)
}

func convertsByWebhook(definition *unstructured.Unstructured) bool {
	strategy, _, _ := unstructured.NestedString(definition.Object, "spec", "conversion", "strategy")
	return strategy == "Webhook"
}

// adoptedDrift lists the paths at which a definition differs from what its adoption makes of it.
func adoptedDrift(obj, found *unstructured.Unstructured) ([]string, error) {
	owned, err := kube.Owned(found, kube.FieldManager)
	paths := kubeobject.Changed(adoptedForm(obj), owned)
	if convertsByWebhook(found) {
		paths = append(paths, "spec.conversion")
	}
	return paths, err
}

// record notes an object that was found and of which nothing is recorded yet, after an
// import. It becomes ours, except what must stay: the namespace, which may hold more than the
// daemon, a definition that was adopted, and one of somebody else that is used as it is.
func record(own ownership.Record, found *unstructured.Unstructured) error {
	ref := kube.RefOf(found)
	key, uid := ref.Key(), string(found.GetUID())
	switch {
	case ref.Kind == "Namespace":
		return nil
	case ref.Kind != definitionKind:
		own[key] = uid
		return nil
	case found.GetAnnotations()[kubeobject.AdoptedMark] != "":
		own[ownership.KeyAdopted+key] = uid
		return nil
	}
	owned, err := kube.Owned(found, kube.FieldManager)
	if len(owned) > 0 {
		own[key] = uid
	}
	return err
}

// adoptsDefinitions says whether a definition in the cluster has the mark: an import then has
// adopt_definitions = true.
func (c *Cluster) adoptsDefinitions(ctx context.Context) (bool, error) {
	definitions, err := install.CRDs()
	if err != nil {
		return false, err
	}
	for _, definition := range definitions {
		found, err := c.Get(ctx, kube.RefOf(definition))
		if errors.Is(err, kube.ErrNotFound) {
			continue
		}
		if err != nil || found.GetAnnotations()[kubeobject.AdoptedMark] != "" {
			return err == nil, err
		}
	}
	return false, nil
}

// warnAdopted says which definitions outlive the daemon.
func warnAdopted(own ownership.Record, diags *diag.Diagnostics) {
	var names []string
	for _, key := range slices.Sorted(maps.Keys(own)) {
		if ref, isObject := kube.ParseKey(strings.TrimPrefix(key, ownership.KeyAdopted)); isObject && strings.HasPrefix(key, ownership.KeyAdopted) {
			names = append(names, ref.String())
		}
	}
	if len(names) == 0 {
		return
	}
	diags.AddWarning("Adopted definitions were not deleted", fmt.Sprintf(
		"karpenter_daemon: %s existed before they were adopted. They stay, with the content of the daemon's definitions and with all their objects. Whoever deletes a definition deletes every object of its kind.", strings.Join(names, ", ")))
}
