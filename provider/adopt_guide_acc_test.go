//go:build lab

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	framework "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	ofprovider "github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/karpenterd/terraform-provider-karpenter/provider"
)

// standIn is another provider, with one kind of resource that keeps its attributes and does
// nothing. It notes what it is asked to do.
type standIn struct {
	name, kind string
	attributes []string

	mu    sync.Mutex
	calls []string
}

func (p *standIn) note(call string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, call)
}

// since returns the calls, and forgets them.
func (p *standIn) since() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	calls := p.calls
	p.calls = nil
	return calls
}

func (p *standIn) factory() func() (tfprotov6.ProviderServer, error) {
	return providerserver.NewProtocol6WithError(p)
}

func (p *standIn) Metadata(_ context.Context, _ framework.MetadataRequest, resp *framework.MetadataResponse) {
	resp.TypeName = p.name
}

func (p *standIn) Schema(context.Context, framework.SchemaRequest, *framework.SchemaResponse) {}

func (p *standIn) Configure(context.Context, framework.ConfigureRequest, *framework.ConfigureResponse) {
}

func (p *standIn) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (p *standIn) Resources(context.Context) []func() ofprovider.Resource {
	return []func() ofprovider.Resource{func() ofprovider.Resource { return standInResource{p} }}
}

type standInResource struct{ of *standIn }

func (r standInResource) Metadata(_ context.Context, _ ofprovider.MetadataRequest, resp *ofprovider.MetadataResponse) {
	resp.TypeName = r.of.kind
}

func (r standInResource) Schema(_ context.Context, _ ofprovider.SchemaRequest, resp *ofprovider.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{"id": schema.StringAttribute{Computed: true}}}
	for _, name := range r.of.attributes {
		resp.Schema.Attributes[name] = schema.StringAttribute{Required: true}
	}
}

func (r standInResource) Create(ctx context.Context, req ofprovider.CreateRequest, resp *ofprovider.CreateResponse) {
	r.of.note("create")
	resp.State.Raw = req.Plan.Raw
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), "made")...)
}

func (r standInResource) Read(context.Context, ofprovider.ReadRequest, *ofprovider.ReadResponse) {}

func (r standInResource) Update(_ context.Context, req ofprovider.UpdateRequest, resp *ofprovider.UpdateResponse) {
	r.of.note("update")
	resp.State.Raw = req.Plan.Raw
}

func (r standInResource) Delete(context.Context, ofprovider.DeleteRequest, *ofprovider.DeleteResponse) {
	r.of.note("delete")
}

// guideBlocks returns the blocks of HCL in a guide by the comment that each begins with.
func guideBlocks(t *testing.T, guide string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../templates/guides/" + guide + ".md")
	must(t, err)
	out := map[string]string{}
	for i, part := range strings.Split(string(text), "```") {
		block, is := strings.CutPrefix(part, "terraform\n# ")
		if title, lines, _ := strings.Cut(block, "\n"); i%2 == 1 && is {
			out[title] = lines
		}
	}
	return out
}

// installedByTerraform is Karpenter as Terraform has installed it.
const installedByTerraform = `
resource "helm_release" "karpenter" {
  name  = "karpenter"
  chart = "karpenter"
}
resource "helm_release" "karpenter_crd" {
  name  = "karpenter-crd"
  chart = "karpenter-crd"
}
resource "kubectl_manifest" "node_class" {
  yaml_body = yamlencode({ apiVersion = "karpenter.k8s.aws/v1", kind = "EC2NodeClass", metadata = { name = "default" } })
}
resource "kubectl_manifest" "node_pool" {
  yaml_body = yamlencode({ apiVersion = "karpenter.sh/v1", kind = "NodePool", metadata = { name = "default" } })
}
`

// manifests are the objects that kubectl_manifest has applied.
func (h helm) manifests(role, cluster string) error {
	tags := func() []any {
		return []any{map[string]any{"tags": map[string]any{"karpenter.sh/discovery": cluster}}}
	}
	return errors.Join(
		h.create(nodeClasses, "", map[string]any{
			"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": map[string]any{"name": "default"},
			"spec": map[string]any{"role": role, "amiSelectorTerms": []any{map[string]any{"alias": "al2023@latest"}}, "subnetSelectorTerms": tags(), "securityGroupSelectorTerms": tags()},
		}),
		h.create(nodePools, "", map[string]any{
			"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "default"},
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
				"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
				"requirements": []any{map[string]any{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []any{"on-demand"}}},
			}}},
		}))
}

// TestAccAdopt_TheGuidesBlocksTakeOverWhatTerraformInstalled applies the blocks of the guide
// as they are written, in the place of helm_release and kubectl_manifest.
func TestAccAdopt_TheGuidesBlocksTakeOverWhatTerraformInstalled(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			l := startLab(t)
			h := helm{l.somebody(t)}
			h.installs(t)
			const controllerRole = `resource "karpenter_controller_role" "this" {`
			base := strings.Replace(l.infrastructure(), controllerRole, controllerRole+"\n  namespace = \"kube-system\"\n  service_account = \"karpenterd\"", 1)
			written := guideBlocks(t, "take_over")
			config := base
			for _, title := range []string{"forget the charts", "start the daemon", "move the manifests"} {
				if written[title] == "" {
					t.Fatalf("the guide has no block %q", title)
				}
				config += written[title]
			}
			charts := &standIn{name: "helm", kind: "helm_release", attributes: []string{"name", "chart"}}
			manifests := &standIn{name: "kubectl", kind: "kubectl_manifest", attributes: []string{"yaml_body"}}
			var uids string
			fill := func(config string) string {
				return strings.NewReplacer("KarpenterNodeRole-my-cluster", "KarpenterNodeRole-lab", "my-cluster", "lab").Replace(config)
			}
			same := func() string {
				return string(h.get(nodePools, "", "default").GetUID() + h.get(nodeClasses, "", "default").GetUID())
			}
			resource.Test(t, resource.TestCase{
				IsUnitTest: true,
				ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){
					"karpenter": providerserver.NewProtocol6WithError(provider.New("1.2.3", releaseDigest)()),
					"helm":      charts.factory(), "kubectl": manifests.factory(),
				},
				CheckDestroy: func(*terraform.State) error {
					for _, name := range definitionNames() {
						h.wantAdopted(t, name) // with Helm's labels, after the destroy
					}
					if calls := append(charts.since(), manifests.since()...); len(calls) > 0 {
						return fmt.Errorf("the other providers were asked to %v", calls)
					}
					if !h.gone(nodePools, "", "default") || !h.gone(nodeClasses, "", "default") || !h.gone(deployments, "kube-system", "karpenterd") {
						return errors.New("what the configuration has is left")
					}
					return nil
				},
				Steps: []resource.TestStep{
					{Config: base + installedByTerraform, Check: func(*terraform.State) error {
						if calls := charts.since(); !slices.Equal(calls, []string{"create", "create"}) {
							return fmt.Errorf("the stand-in was asked to %v", calls)
						}
						manifests.since()
						err := h.manifests("KarpenterNodeRole-lab", "lab")
						uids = same()
						return err
					}},
					{Config: fill(config), Check: func(s *terraform.State) error {
						for address := range s.RootModule().Resources {
							if strings.HasPrefix(address, "helm_release") || strings.HasPrefix(address, "kubectl_manifest") {
								return fmt.Errorf("the state has %s", address)
							}
						}
						for _, name := range definitionNames() {
							h.wantAdopted(t, name)
						}
						if same() != uids {
							return errors.New("the pool or the class was replaced")
						}
						return nil
					}},
				},
			})
		})
	}
}
