package convert

import (
	"cmp"
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

type image struct {
	Registry   types.String `tfsdk:"registry"`
	Repository types.String `tfsdk:"repository"`
	Tag        types.String `tfsdk:"tag"`
	Digest     types.String `tfsdk:"digest"`
	PullPolicy types.String `tfsdk:"pull_policy"`
}

// ImageType is the type of the attribute image.
func ImageType() types.ObjectType {
	return objectType(map[string]attr.Type{
		"registry": types.StringType, "repository": types.StringType, "tag": types.StringType, "digest": types.StringType, "pull_policy": types.StringType,
	})
}

// Image is the usual image with the parts of the attribute in place of its own: the registry,
// the repository, or tag and digest together. A mirror keeps the digest.
func Image(ctx context.Context, o types.Object, usual install.Image, diags *diag.Diagnostics) install.Image {
	given := object[image](ctx, o, diags)
	if given == nil {
		return usual
	}
	out := usual
	out.Registry = cmp.Or(given.Registry.ValueString(), usual.Registry)
	out.Repository = cmp.Or(given.Repository.ValueString(), usual.Repository)
	if tag, digest := given.Tag.ValueString(), given.Digest.ValueString(); tag != "" || digest != "" {
		out.Tag, out.Digest = tag, digest
	}
	return out
}

// PullPolicy is the pull policy of the attribute; empty for the default.
func PullPolicy(ctx context.Context, o types.Object, diags *diag.Diagnostics) corev1.PullPolicy {
	given := object[image](ctx, o, diags)
	if given == nil {
		return ""
	}
	return corev1.PullPolicy(given.PullPolicy.ValueString())
}

// ImageOf is the reverse of Image and PullPolicy: null for what is as usual.
func ImageOf(ctx context.Context, live install.Image, policy corev1.PullPolicy, usual install.Image, diags *diag.Diagnostics) types.Object {
	other := func(value, usual string) types.String {
		if value == usual {
			return types.StringNull()
		}
		return stringValue(value)
	}
	out := image{
		Registry: other(live.Registry, usual.Registry), Repository: other(live.Repository, usual.Repository),
		PullPolicy: other(string(policy), string(install.DefaultPullPolicy)),
	}
	if live.Tag != usual.Tag || live.Digest != usual.Digest {
		out.Tag, out.Digest = stringValue(live.Tag), stringValue(live.Digest)
	}
	if out == (image{}) {
		return types.ObjectNull(ImageType().AttrTypes)
	}
	return objectOf(ctx, ImageType().AttrTypes, &out, diags)
}
