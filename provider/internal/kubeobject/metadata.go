package kubeobject

import (
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

// ObjectModel is embedded by the models of objects that may have labels and annotations of
// their own. What the configuration declares is owned by server-side apply; what others have
// added is neither shown nor changed.
type ObjectModel struct {
	ObjectLabels      types.Map `tfsdk:"object_labels"`
	ObjectAnnotations types.Map `tfsdk:"object_annotations"`
}

// Declared is an object as the configuration has it: its spec, which is a Go value of the
// API's types, and its own labels and annotations.
type Declared struct {
	Spec                any
	Labels, annotations map[string]string
}

// With is the object of the model with that spec.
func (m ObjectModel) With(spec any) Declared {
	return Declared{Spec: spec, Labels: fwvalue.StringMap(m.ObjectLabels), annotations: fwvalue.StringMap(m.ObjectAnnotations)}
}

// SameMetadata tells whether the labels and annotations are those of the other model.
func (m ObjectModel) SameMetadata(other ObjectModel) bool {
	return maps.Equal(fwvalue.StringMap(m.ObjectLabels), fwvalue.StringMap(other.ObjectLabels)) && maps.Equal(fwvalue.StringMap(m.ObjectAnnotations), fwvalue.StringMap(other.ObjectAnnotations))
}

// ObjectLabelsAttribute is about the object itself, which is of that kind.
func ObjectLabelsAttribute(kind string) schema.Attribute {
	return schema.MapAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: "Labels of the " + kind + " itself, such as those by which other tools select it. Nodes do not get them. Labels that others added are not changed.",
		Validators: []validator.Map{
			mapvalidator.KeysAre(validate.LabelKey(), validate.Is(checkObjectLabel)), mapvalidator.ValueStringsAre(validate.LabelValue()),
		},
	}
}

// ObjectAnnotationsAttribute is the same for annotations.
func ObjectAnnotationsAttribute(kind, example string) schema.Attribute {
	return schema.MapAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: "Annotations of the " + kind + " itself" + example + ". Nodes do not get them. Annotations that others added are not changed.",
		Validators:          []validator.Map{mapvalidator.KeysAre(validate.AnnotationKey(), validate.Is(func(key string) error { return checkObjectAnnotation(kind, key) }))},
	}
}

// checkObjectLabel refuses the labels that the provider itself sets.
func checkObjectLabel(key string) error {
	if v1.IsOwn(key) {
		return fmt.Errorf("%q: labels of %s/ belong to karpenterd: remove it", key, v1.OwnDomain)
	}
	return nil
}

// checkObjectAnnotation refuses the annotations that controllers write for themselves.
func checkObjectAnnotation(kind, key string) error {
	switch {
	case key == v1.AnnotationPauseDisruption && kind != v1.NodePoolKind:
		return fmt.Errorf("%q: is read of NodePools only: set it in object_annotations of karpenter_node_pool", key)
	case legacy.Bookkeeping(key):
		return fmt.Errorf("%q: a controller or kubectl writes this annotation for itself, and would change it again: remove it", key)
	}
	return nil
}

// FoundMetadata sets the labels and annotations to those of the live object: those that the
// state has, and those that the provider owns. So what a failed update has added is seen, and
// what others have added is not.
func (m *ObjectModel) FoundMetadata(live *unstructured.Unstructured) error {
	owned, err := kube.Owned(live, kube.FieldManager)
	if err != nil {
		return err
	}
	ours := func(field string, reserved func(key string) error) map[string]bool {
		keys := map[string]bool{}
		found, _, _ := unstructured.NestedMap(owned, "metadata", field)
		for key := range found {
			if reserved(key) == nil {
				keys[key] = true
			}
		}
		return keys
	}
	m.ObjectLabels = liveKeys(m.ObjectLabels, ours("labels", checkObjectLabel), live.GetLabels())
	m.ObjectAnnotations = liveKeys(m.ObjectAnnotations, ours("annotations", func(key string) error { return checkObjectAnnotation(live.GetKind(), key) }), live.GetAnnotations())
	return nil
}

// liveKeys has the live values of prior's keys and of those that are ours, without those that
// are gone. A key whose value is null was not set, and stays null.
func liveKeys(prior types.Map, ours map[string]bool, live map[string]string) types.Map {
	out := map[string]attr.Value{}
	for key, before := range prior.Elements() {
		if before.IsNull() {
			out[key] = before
		} else {
			ours[key] = true
		}
	}
	for key := range ours {
		if value, has := live[key]; has {
			out[key] = types.StringValue(value)
		}
	}
	if len(out) == 0 && prior.IsNull() {
		return prior
	}
	return types.MapValueMust(types.StringType, out)
}
