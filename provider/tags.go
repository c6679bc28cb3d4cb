package provider

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
)

// tagsModel is embedded by the model of every resource with tags. TagsAll has the
// provider's default tags, overridden by Tags. Tags that somebody else added to an
// AWS object are neither shown nor removed.
type tagsModel struct {
	Tags    types.Map `tfsdk:"tags"`
	TagsAll types.Map `tfsdk:"tags_all"`
}

func tagsAttribute() schema.Attribute {
	return schema.MapAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: "Tags, in addition to the provider's `default_tags`. Tags that others added are not changed.",
	}
}

func tagsAllAttribute() schema.Attribute {
	return schema.MapAttribute{
		Computed: true, ElementType: types.StringType,
		MarkdownDescription: "All tags: the provider's `default_tags` and `tags`. For a key that is in both, the value in `tags` counts.",
	}
}

// planTags sets tags_all in the plan. A tag that the provider is to leave alone is an error.
func (b *base) planTags(ctx context.Context, resp *resource.ModifyPlanResponse) {
	if b.session == nil {
		return
	}
	var tags types.Map
	resp.Diagnostics.Append(resp.Plan.GetAttribute(ctx, path.Root("tags"), &tags)...)
	for key := range tags.Elements() {
		if b.session.ignoreTags.has(key) {
			resp.Diagnostics.AddAttributeError(path.Root("tags").AtMapKey(key), "Conflicting tags", fmt.Sprintf(
				"tags of karpenter_%s has %q, which ignore_tags of the provider says to leave alone. Remove it from one of the two.", b.kind, key))
		}
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("tags_all"), mergeTags(b.session.defaultTags, tags))...)
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

// readTags gives the tags for the state: of the object's tags, those whose keys
// the prior state has, and that the provider does not leave alone. A null prior TagsAll means an import: TagsAll then has all
// tags, and Tags has all tags except those that equal a default tag.
func (b *base) readTags(prior tagsModel, actual map[string]string) tagsModel {
	actual = b.session.ignoreTags.without(actual)
	if prior.TagsAll.IsNull() {
		own := maps.Clone(actual)
		for key, value := range stringMap(b.session.defaultTags) {
			if own[key] == value {
				delete(own, key)
			}
		}
		return tagsModel{Tags: mapValueOrNull(own), TagsAll: mapValue(actual)}
	}
	return tagsModel{Tags: onlyKeysOf(prior.Tags, actual), TagsAll: onlyKeysOf(prior.TagsAll, actual)}
}

// tellApart marks in tags, which are those of a resource's main object, what another of
// its objects has differently. The plan then shows a difference: a failed update, or
// somebody else, may have changed the tags of some objects only. After an import nothing
// is known of what the tags should be.
func (m tagsModel) tellApart(tags, others map[string]string) {
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
