package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// nodeAccessEntryType is the type of access entry that lets an instance join as a
// Linux node.
const nodeAccessEntryType = "EC2_LINUX"

type nodeRole struct{ base }

type nodeRoleModel struct {
	ClusterName         types.String `tfsdk:"cluster_name"`
	Name                types.String `tfsdk:"name"`
	Path                types.String `tfsdk:"path"`
	PermissionsBoundary types.String `tfsdk:"permissions_boundary"`
	ARN                 types.String `tfsdk:"arn"`
	TrustPolicy         types.String `tfsdk:"trust_policy"`
	ManagedPolicyARNs   types.Set    `tfsdk:"managed_policy_arns"`
	AccessEntryARN      types.String `tfsdk:"access_entry_arn"`
	tagsModel
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

func (m nodeRoleModel) ids() []string {
	return []string{m.ClusterName.ValueString(), m.Name.ValueString()}
}

func newNodeRole() resource.Resource {
	return &nodeRole{base{kind: "node_role", keys: []string{"cluster_name", "name"}}}
}

// Schema describes the node role.
func (r *nodeRole) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The IAM role of launched instances, with the managed policies that a node needs and the EKS " +
			"access entry (type `EC2_LINUX`) that lets the nodes join the cluster. The cluster's authentication mode must include `API`.",
		Attributes: map[string]schema.Attribute{
			"cluster_name":         clusterNameAttribute(),
			"name":                 nameAttribute("role", "`KarpenterNodeRole-<cluster_name>`", prefixed("KarpenterNodeRole-"), awsspec.CheckRoleName),
			"path":                 iamPathAttribute("role"),
			"permissions_boundary": permissionsBoundaryAttribute(),
			"arn":                  computedString("ARN of the role."),
			"trust_policy":         schema.StringAttribute{Computed: true, MarkdownDescription: "Trust policy (JSON) of the role. It allows EC2 to assume the role."},
			"managed_policy_arns": schema.SetAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "ARNs of the AWS managed policies of the role. Policies that others attached are not listed and not changed.",
			},
			"access_entry_arn": schema.StringAttribute{Computed: true, MarkdownDescription: "ARN of the cluster's access entry for the role."},
			"tags":             tagsAttribute(),
			"tags_all":         tagsAllAttribute(),
			"timeouts":         timeoutsAttribute(ctx, roleTimeout, roleTimeout, roleTimeout),
		},
	}
}

// ModifyPlan plans the attributes of the role, so that the plan shows a change by
// somebody else as a difference. If the region is not known, the last known values
// stay.
func (r *nodeRole) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.session == nil {
		return
	}
	r.planTags(ctx, resp)
	plan, ok := get[nodeRoleModel](ctx, resp.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	var prior nodeRoleModel
	if !req.State.Raw.IsNull() {
		if prior, ok = get[nodeRoleModel](ctx, req.State, &resp.Diagnostics); !ok {
			return
		}
	}
	if name := r.planRegion(ctx, &resp.Diagnostics); name != "" {
		partition := awsspec.Partition(name)
		plan.TrustPolicy = planJSON(prior.TrustPolicy, awsspec.NodeTrust(partition))
		plan.ManagedPolicyARNs = setValue(awsspec.NodeManagedPolicyARNs(partition))
	} else if !req.State.Raw.IsNull() {
		plan.TrustPolicy, plan.ManagedPolicyARNs = prior.TrustPolicy, prior.ManagedPolicyARNs
	}
	plan.ARN, plan.AccessEntryARN = keepOrCreate(prior.ARN), keepOrCreate(prior.AccessEntryARN)
	set := func(name string, value any) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), value)...)
	}
	set("arn", plan.ARN)
	set("trust_policy", plan.TrustPolicy)
	set("managed_policy_arns", plan.ManagedPolicyARNs)
	set("access_entry_arn", plan.AccessEntryARN)
}

// keepOrCreate plans a computed value: the value of the state, or unknown if the
// object has to be made (again).
func keepOrCreate(prior types.String) types.String {
	if prior.ValueString() == "" {
		return types.StringUnknown()
	}
	return prior
}
