package discoverytags

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

const discoveryTagsTimeout = 5 * time.Minute

type discoveryTags struct {
	managed.Frame[discoveryTagsModel, *aws.Clients]
}

type discoveryTagsModel struct {
	ClusterName      types.String `tfsdk:"cluster_name"`
	SubnetIDs        types.Set    `tfsdk:"subnet_ids"`
	SecurityGroupIDs types.Set    `tfsdk:"security_group_ids"`
	Shared           types.Bool   `tfsdk:"shared"`
	SelectorTags     types.Map    `tfsdk:"selector_tags"`
	managed.LimitsModel
}

func (m discoveryTagsModel) IDs() []string { return []string{m.ClusterName.ValueString()} }

// tag is the tag that the model asks for.
func (m discoveryTagsModel) tag() (key, value string) {
	cluster := m.ClusterName.ValueString()
	if m.Shared.ValueBool() {
		return awsspec.TagDiscovery + "/" + cluster, cluster
	}
	return awsspec.TagDiscovery, cluster
}

// resourceIDs are the ids of the subnets and security groups.
func (m discoveryTagsModel) resourceIDs(ctx context.Context, diags *diag.Diagnostics) []string {
	return append(fwvalue.StringsOf(ctx, m.SubnetIDs, diags), fwvalue.StringsOf(ctx, m.SecurityGroupIDs, diags)...)
}

// New is the resource, before its session is known.
func New() resource.Resource {
	r := &discoveryTags{}
	r.Frame = managed.OnAWS(managed.Base{Kind: "discovery_tags", Keys: []string{"cluster_name"}}, managed.Times{Create: discoveryTagsTimeout, Update: discoveryTagsTimeout, Delete: discoveryTagsTimeout}, r)
	return r
}

// Schema describes the discovery tags.
func (r *discoveryTags) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	ids := func(what, prefix string) schema.SetAttribute {
		return schema.SetAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Ids of the " + what + ".",
			Validators:          []validator.Set{setvalidator.ValueStringsAre(validate.ID(prefix)), setvalidator.SizeAtLeast(1)},
		}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "The tag `karpenter.sh/discovery = <cluster_name>` on subnets and security groups that this resource does " +
			"not own. Node classes find their subnets and security groups by this tag.\n\n" +
			"A tag with the name of another cluster is never overwritten: the plan ends with an error, or the apply if the plan " +
			"could not reach AWS. A tag that exists already with the right value is used as it is. Destroying removes only the tags " +
			"that this resource added and that still have their value. Use `selector_tags` in the selectors of `karpenter_node_class`.",
		Attributes: map[string]schema.Attribute{
			"cluster_name":       managed.ClusterNameAttribute(),
			"subnet_ids":         ids("subnets that instances are launched into", "subnet"),
			"security_group_ids": ids("security groups that instances get", "sg"),
			"shared": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(false),
				MarkdownDescription: "Use the tag key `karpenter.sh/discovery/<cluster_name>`, so that several clusters can share the " +
					"subnets and security groups. Default `false`.",
				PlanModifiers: []planmodifier.Bool{boolplanmodifier.RequiresReplace()},
			},
			"selector_tags": schema.MapAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "The tag, as a map for the `tags` of a selector term.",
			},
			"timeouts": r.TimeoutsAttribute(ctx),
		},
	}
}

// ValidateConfig requires at least one subnet or security group attribute.
func (r *discoveryTags) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	config, ok := managed.Get[discoveryTagsModel](ctx, req.Config, &resp.Diagnostics)
	if ok && config.SubnetIDs.IsNull() && config.SecurityGroupIDs.IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("subnet_ids"), "Nothing to tag",
			"karpenter_discovery_tags has neither subnet_ids nor security_group_ids. Set one of them, or both.")
	}
}

// ModifyPlan computes selector_tags, and checks whether a subnet or security group
// already has another cluster's tag.
func (r *discoveryTags) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.Session == nil {
		return
	}
	if r.PlanRegion(ctx, &resp.Diagnostics); resp.Diagnostics.HasError() {
		return
	}
	plan, ok := managed.Get[discoveryTagsModel](ctx, resp.Plan, &resp.Diagnostics)
	if !ok || plan.ClusterName.IsUnknown() || plan.Shared.IsUnknown() {
		return
	}
	key, value := plan.tag()
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("selector_tags"), fwvalue.MapValue(map[string]string{key: value}))...)
	if fwvalue.Known(plan.SubnetIDs) && !fwvalue.AnyUnknown(plan.SubnetIDs) && fwvalue.Known(plan.SecurityGroupIDs) && !fwvalue.AnyUnknown(plan.SecurityGroupIDs) {
		r.lookForOtherClusters(ctx, plan, &resp.Diagnostics)
	}
}

// lookForOtherClusters makes the plan fail if there is a tag of another cluster. If
// the tags cannot be read, the plan goes on: the apply checks again before it
// writes.
func (r *discoveryTags) lookForOtherClusters(ctx context.Context, plan discoveryTagsModel, diags *diag.Diagnostics) {
	ctx, cancel := context.WithTimeout(ctx, managed.PlanCheckTimeout)
	defer cancel()
	client, err := r.Session.AWS(ctx)
	if errors.Is(err, failure.ErrAccount) {
		r.Fail(diags, managed.VerbPlan, plan, err)
	}
	if err != nil {
		return
	}
	ids := plan.resourceIDs(ctx, diags)
	current, err := client.NetworkTags(ctx, ids...)
	if err != nil {
		return
	}
	key, value := plan.tag()
	clusterTag, tagged := awsspec.TagClusterPrefix+value, 0
	for _, id := range ids {
		if have, has := current[id][key]; has && have != value {
			diags.AddError("Discovery tag of another cluster", fmt.Sprintf(
				"karpenter_discovery_tags %q: %s has the tag %s = %q.\n\n%s", value, id, key, have, r.Remedy(value, failure.ErrOtherCluster)))
		}
		if _, has := current[id][clusterTag]; has && strings.HasPrefix(id, "sg-") {
			tagged++
		}
	}
	if tagged > 1 {
		diags.AddWarning("Several security groups of the cluster", fmt.Sprintf(
			"karpenter_discovery_tags %q: %d of the security groups have the tag %s. The AWS Load Balancer Controller refuses a node that has more than one such group. Keep only one of these groups in security_group_ids.",
			value, tagged, clusterTag))
	}
}
