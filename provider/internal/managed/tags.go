package managed

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
)

// TagsModel is embedded by the model of every resource with tags. TagsAll has the
// provider's default tags, overridden by Tags. Tags that somebody else added to an
// AWS object are neither shown nor removed.
type TagsModel struct {
	Tags    types.Map `tfsdk:"tags"`
	TagsAll types.Map `tfsdk:"tags_all"`
}

// TagsAttribute has the tags of one object.
func TagsAttribute() schema.Attribute {
	return schema.MapAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: "Tags, in addition to the provider's `default_tags`. Tags that others added are not changed.",
	}
}

// TagsAllAttribute has the tags of one object and the provider's default tags.
func TagsAllAttribute() schema.Attribute {
	return schema.MapAttribute{
		Computed: true, ElementType: types.StringType,
		MarkdownDescription: "All tags: the provider's `default_tags` and `tags`. For a key that is in both, the value in `tags` counts.",
	}
}

// PlanTags sets tags_all in the plan. A tag that the provider is to leave alone is an error.
func (b *Base) PlanTags(ctx context.Context, resp *resource.ModifyPlanResponse) {
	if b.Session == nil {
		return
	}
	var tags types.Map
	resp.Diagnostics.Append(resp.Plan.GetAttribute(ctx, path.Root("tags"), &tags)...)
	for key := range tags.Elements() {
		if b.Session.IgnoreTags.Has(key) {
			resp.Diagnostics.AddAttributeError(path.Root("tags").AtMapKey(key), "Conflicting tags", fmt.Sprintf(
				"tags of karpenter_%s has %q, which ignore_tags of the provider says to leave alone. Remove it from one of the two.", b.Kind, key))
		}
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("tags_all"), mergeTags(b.Session.DefaultTags, tags))...)
}

// mergeTags is defaults overridden by tags. The result is unknown while one of the
// two maps is unknown. If only a value is unknown, only that value stays unknown. A tag
// that is null is not set, as if its key were not there.
func mergeTags(defaults, tags types.Map) types.Map {
	if defaults.IsUnknown() || tags.IsUnknown() {
		return types.MapUnknown(types.StringType)
	}
	merged := map[string]attr.Value{}
	for _, from := range []types.Map{defaults, tags} {
		for key, value := range from.Elements() {
			if !value.IsNull() {
				merged[key] = value
			}
		}
	}
	return types.MapValueMust(types.StringType, merged)
}

// ReadTags gives the tags for the state: of the object's tags, those whose keys
// the prior state has, and that the provider does not leave alone. A null prior TagsAll means an import: TagsAll then has all
// tags, and Tags has all tags except those that equal a default tag.
func (b *Base) ReadTags(prior TagsModel, actual map[string]string) TagsModel {
	actual = b.Session.IgnoreTags.Without(actual)
	if prior.TagsAll.IsNull() {
		own := maps.Clone(actual)
		for key, value := range fwvalue.StringMap(b.Session.DefaultTags) {
			if own[key] == value {
				delete(own, key)
			}
		}
		return TagsModel{Tags: fwvalue.MapValueOrNull(own), TagsAll: fwvalue.MapValue(actual)}
	}
	return TagsModel{Tags: fwvalue.OnlyKeysOf(prior.Tags, actual), TagsAll: fwvalue.OnlyKeysOf(prior.TagsAll, actual)}
}

// TellApart marks in tags, which are those of a resource's main object, what another of
// its objects has differently. The plan then shows a difference: a failed update, or
// somebody else, may have changed the tags of some objects only. After an import nothing
// is known of what the tags should be.
func (m TagsModel) TellApart(tags, others map[string]string) {
	for key := range m.TagsAll.Elements() {
		one, has := tags[key]
		other, otherHas := others[key]
		if tags == nil || has == otherHas && one == other || strings.HasSuffix(one, elsewhere) {
			continue
		}
		tags[key] = one + elsewhere
	}
}

// elsewhere ends the value of a tag that is not the same on all objects of a resource.
const elsewhere = " (not the same on all objects)"
