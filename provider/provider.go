package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/choice"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/controllerrole"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/daemon"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/discoverytags"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/instanceprofile"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/interruptionqueue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/nodeclass"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/nodepool"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/noderole"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/pace"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/session"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/spotrole"
)

var (
	_ provider.Provider                   = (*karpenterProvider)(nil)
	_ provider.ProviderWithValidateConfig = (*karpenterProvider)(nil)
	_ provider.ProviderWithFunctions      = (*karpenterProvider)(nil)
)

// New makes the provider factory. version is the release's version without a
// leading v. imageDigest is that of the daemon's image in the same release, sha256:...;
// empty in a build that belongs to no release: karpenter_daemon then needs image.
func New(version, imageDigest string) func() provider.Provider {
	image := install.Image{Registry: install.DefaultRegistry, Repository: install.DefaultRepository, Digest: imageDigest}
	return func() provider.Provider {
		return &karpenterProvider{version: version, image: image, definitions: kubeobject.NewDefinitions(), choices: &choice.Table{}}
	}
}

type karpenterProvider struct {
	version     string
	image       install.Image
	definitions *kubeobject.Definitions
	choices     *choice.Table
	pace        pace.Pace
}

// Metadata names the provider and its version.
func (p *karpenterProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "karpenter"
	resp.Version = p.version
}

// Configure turns the configuration into clients that are built on first use.
// It never dials and accepts unknown values.
func (p *karpenterProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var config providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	made := session.New(p.version, p.image, p.pace, config.settings(req.Config.Raw))
	resp.ResourceData, resp.DataSourceData = made, made
}

// ValidateConfig refuses combinations that cannot work, before anything is
// planned. Unknown values are skipped: they are checked when they are used.
func (p *karpenterProvider) ValidateConfig(ctx context.Context, req provider.ValidateConfigRequest, resp *provider.ValidateConfigResponse) {
	config, ok := managed.Get[providerModel](ctx, req.Config, &resp.Diagnostics)
	if !ok {
		return
	}
	resp.Diagnostics.Append(config.validate()...)
}

// Resources lists the resource types.
func (p *karpenterProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		controllerrole.New,
		noderole.New,
		instanceprofile.New,
		discoverytags.New,
		spotrole.New,
		interruptionqueue.New,
		daemon.New,
		func() resource.Resource { return nodeclass.New(p.definitions) },
		func() resource.Resource { return nodepool.New(p.definitions, p.choices) },
	}
}

// DataSources lists the data sources.
func (p *karpenterProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{newClusterData}
}

// Functions lists the functions.
func (p *karpenterProvider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{newConvert}
}

// LogClients sends what client-go says by itself to where Terraform looks for a provider's
// lines. It holds for the whole process.
func LogClients() { session.LogClients() }
