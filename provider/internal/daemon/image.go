package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/session"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

// imageAttribute replaces parts of the image that a release of the provider names.
func imageAttribute() schema.Attribute {
	text := func(description string, checks ...validator.String) schema.Attribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: checks}
	}
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "Container image of the daemon. A release of the provider names its image by digest, so it is enough to set what differs: `registry`, and `repository` if the path differs too, " +
			"for a mirror that has the same image. With `tag` or `digest`, the pods run another image. A provider that you have built yourself names no image: set `tag` or `digest`.",
		Attributes: map[string]schema.Attribute{
			"registry":   text("Host of the registry, with its port if it is not 443. Default `"+install.DefaultRegistry+"`.", validate.Is(install.CheckRegistry)),
			"repository": text("Path of the image in the registry. Default `"+install.DefaultRepository+"`.", validate.Is(install.CheckRepository)),
			"tag":        text("Tag of the image, in place of the provider's digest.", validate.Is(install.CheckTag)),
			"digest":     text("Digest of the image, `sha256:...`, in place of the provider's. With `tag`, too, the digest decides.", validate.Is(install.CheckDigest)),
			"pull_policy": text("When a node pulls the image: `IfNotPresent`, `Always` or `Never`. Default `"+string(install.DefaultPullPolicy)+"`.",
				stringvalidator.OneOf(install.PullPolicies()...)),
		},
	}
}

// errNoImage means that neither the build of the provider nor the configuration says which
// image to deploy.
var errNoImage = errors.New("no image to deploy")

// imageReference is the image to deploy. Unknown parts must not be in the attribute.
func imageReference(ctx context.Context, s *session.Session, attribute types.Object) (string, error) {
	if digest := s.Image.Digest; digest != "" {
		if err := install.CheckDigest(digest); err != nil {
			return "", fmt.Errorf("this build of the provider is broken: its image has %w", err)
		}
	}
	var diags diag.Diagnostics
	image := convert.Image(ctx, attribute, s.Image, &diags)
	if err := asError(diags); err != nil {
		return "", err
	}
	if image.Pinned() {
		return image.String(), nil
	}
	what := "image is not set"
	if !attribute.IsNull() {
		what = "image has neither tag nor digest"
	}
	return "", fmt.Errorf("%w: %s, and this build of the provider (version %s) was made without the digest of an image: use a release of the provider, "+
		"or build and push an image with make image and name it, such as image = { registry = \"registry.example.com\", repository = %q, tag = \"1.0.0\" }",
		errNoImage, what, s.Version, install.DefaultRepository)
}

// asError is the first error among the diagnostics; nil if there is none.
func asError(diags diag.Diagnostics) error {
	for _, d := range diags.Errors() {
		return errors.New(d.Summary() + ": " + d.Detail())
	}
	return nil
}
