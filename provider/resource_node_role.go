package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// nodeAccessEntryType is the type of access entry that lets an instance join as a
// Linux node.
const nodeAccessEntryType = "EC2_LINUX"

type nodeRole struct {
	frame[nodeRoleModel, *aws.Clients]
}

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
	limitsModel
}

func (m nodeRoleModel) ids() []string {
	return []string{m.ClusterName.ValueString(), m.Name.ValueString()}
}

func newNodeRole() resource.Resource {
	r := &nodeRole{}
	r.frame = onAWS(base{kind: "node_role", keys: []string{"cluster_name", "name"}}, times{roleTimeout, roleTimeout, roleTimeout}, r)
	return r
}

// Schema describes the node role.
func (r *nodeRole) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The IAM role of launched instances, with the managed policies that a node needs and the EKS " +
			"access entry (type `EC2_LINUX`) that lets the nodes join the cluster. The cluster's authentication mode must include `API`.",
		Attributes: map[string]schema.Attribute{
			"cluster_name":         clusterNameAttribute(),
			"name":                 nameAttribute("role", "`KarpenterNodeRole-<cluster_name>`, with the end of a long cluster name replaced by a hash", awsspec.NodeRoleName, awsspec.CheckRoleName),
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
			"timeouts":         r.timeoutsAttribute(ctx),
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
	if !req.State.Raw.IsNull() {
		r.warnOfReplacement(ctx, prior, plan, &resp.Diagnostics)
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

// warnOfReplacement says that the plan replaces a role that instance profiles have. A
// plan does not know whether the new role is created first.
func (r *nodeRole) warnOfReplacement(ctx context.Context, prior, plan nodeRoleModel, diags *diag.Diagnostics) {
	if prior.Name.Equal(plan.Name) && prior.Path.Equal(plan.Path) && prior.ClusterName.Equal(plan.ClusterName) {
		return
	}
	client, err := r.session.AWS(ctx)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, planCheckTimeout)
	defer cancel()
	err = client.CheckRoleUnused(ctx, prior.Name.ValueString())
	if !errors.Is(err, aws.ErrInUse) {
		return
	}
	diags.AddWarning("karpenter_node_role is in use", fmt.Sprintf("karpenter_node_role %q: the plan replaces it, and %v.\n\n%s", importID(prior), err, replaceRole))
}

// replaceRole is how to replace a role that is in use.
const replaceRole = "A role cannot be deleted while an instance profile has it: the nodes would lose their rights and their access to the cluster. " +
	"To replace the role, give it another name and lifecycle { create_before_destroy = true }: the new role is created, the instance profile gets it, and then the old role goes. " +
	"To destroy it, first destroy the node pools and the instance profile."

// keepOrCreate plans a computed value: the value of the state, or unknown if the
// object has to be made (again).
func keepOrCreate(prior types.String) types.String {
	if prior.ValueString() == "" {
		return types.StringUnknown()
	}
	return prior
}
