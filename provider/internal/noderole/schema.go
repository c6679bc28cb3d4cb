package noderole

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/iamrole"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/policydoc"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

type nodeRole struct {
	managed.Frame[nodeRoleModel, *aws.Clients]
}

type nodeRoleModel struct {
	ClusterName types.String `tfsdk:"cluster_name"`
	iamrole.Model
	ExistingRoleARN   types.String `tfsdk:"existing_role_arn"`
	AttachCNIPolicy   types.Bool   `tfsdk:"attach_cni_policy"`
	AttachSSMPolicy   types.Bool   `tfsdk:"attach_ssm_policy"`
	ManagedPolicyARNs types.Set    `tfsdk:"managed_policy_arns"`
	AccessEntry       types.Object `tfsdk:"access_entry"`
	AccessEntryARN    types.String `tfsdk:"access_entry_arn"`
	managed.TagsModel
	managed.LimitsModel
}

func (m nodeRoleModel) IDs() []string {
	if m.existing() {
		return []string{m.ClusterName.ValueString(), m.ExistingRoleARN.ValueString()}
	}
	return []string{m.ClusterName.ValueString(), m.Name.ValueString()}
}

// New is the resource, before its session is known.
func New() resource.Resource {
	r := &nodeRole{}
	r.Frame = managed.OnAWS(managed.Base{Kind: "node_role", Keys: []string{"cluster_name", "name"}}, managed.Times{Create: iamrole.Timeout, Update: iamrole.Timeout, Delete: managed.InUseTimeout}, r)
	return r
}

// Schema describes the node role.
func (r *nodeRole) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	name := managed.NameAttribute("role", "`KarpenterNodeRole-<cluster_name>`, with the end of a long cluster name replaced by a hash", awsspec.NodeRoleName, awsspec.CheckRoleName)
	name.PlanModifiers = append([]planmodifier.String{ofExistingRole{awsspec.RoleName, name.PlanModifiers[0]}}, name.PlanModifiers[1:]...)
	rolePath := managed.IAMPathAttribute("role")
	rolePath.PlanModifiers = append([]planmodifier.String{ofExistingRole{of: awsspec.RolePathOfARN}}, rolePath.PlanModifiers...)
	attributes := map[string]schema.Attribute{
		"cluster_name": managed.ClusterNameAttribute(),
		"name":         name,
		"path":         rolePath,
		"existing_role_arn": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "ARN of a role that exists already. The resource then makes the role's access entry only: it neither changes nor deletes the role, " +
				"and makes no call to IAM before the destruction, which asks whether instance profiles and instances have the role. All attributes that describe a role must be left out. " +
				"EKS binds an access entry to the role that there is when the entry is made, not to its name: where another configuration deletes the role and makes it again, replace this resource (`-replace`), or no new node joins.",
			PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
			Validators:    []validator.String{validate.Is(awsspec.CheckRoleARN)},
		},
		"attach_cni_policy": schema.BoolAttribute{
			Optional: true, Computed: true, Default: booldefault.StaticBool(true),
			MarkdownDescription: "Whether the role gets `AmazonEKS_CNI_Policy`. Default `true`. Set `false` if the VPC CNI has a role of its own, or the cluster uses IPv6 or another network plugin.",
		},
		"attach_ssm_policy": schema.BoolAttribute{
			Optional: true, Computed: true, Default: booldefault.StaticBool(true),
			MarkdownDescription: "Whether the role gets `AmazonSSMManagedInstanceCore`. Default `true`. Set `false` if nobody reaches the nodes through Session Manager.",
		},
		"trust_policy": schema.StringAttribute{Computed: true, MarkdownDescription: "Trust policy (JSON) of the role. It allows EC2 to assume the role."},
		"managed_policy_arns": schema.SetAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "ARNs of the AWS managed policies that every node needs: `AmazonEKSWorkerNodePolicy`, `AmazonEC2ContainerRegistryPullOnly`, with `attach_ssm_policy` " +
				"`AmazonSSMManagedInstanceCore`, and with `attach_cni_policy` `AmazonEKS_CNI_Policy`. Policies that others attached are not listed and not changed.",
		},
		"access_entry":     accessEntryAttribute(),
		"access_entry_arn": schema.StringAttribute{Computed: true, MarkdownDescription: "ARN of the cluster's access entry for the role. Null if the resource makes none."},
		"tags":             managed.TagsAttribute(),
		"tags_all":         managed.TagsAllAttribute(),
		"timeouts":         r.TimeoutsAttribute(ctx),
	}
	maps.Copy(attributes, iamrole.Attributes(nodeRoleDescription))
	resp.Schema = schema.Schema{
		MarkdownDescription: "The IAM role of launched instances, with the managed policies that a node needs and the EKS " +
			"access entry that lets the nodes join the cluster. The cluster's authentication mode must include `API`, unless `access_entry.create` is `false`. " +
			"For a role that exists already, set `existing_role_arn`. See the guide [IAM](../guides/iam.md).\n\n" +
			"Role and access entry are deleted only when no instance and no instance profile has the role: a destroy waits for that. See the guide [Destroy without leftovers](../guides/destroy.md#what-waits-for-instances).",
		Attributes: attributes,
	}
}

func nodeRoleDescription(cluster string) string { return "Nodes launched for EKS cluster " + cluster }

// ModifyPlan plans the attributes of the role, so that the plan shows a change by
// somebody else as a difference. If the region is not known, the last known values
// stay.
func (r *nodeRole) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.Session == nil {
		return
	}
	ownership.PlanReplacement(ctx, req, resp)
	if req.Plan.Raw.IsNull() {
		if prior, ok := managed.PriorOf[nodeRoleModel](ctx, req, &resp.Diagnostics); ok {
			r.warn(ctx, prior, managed.PlanDestroys, managed.DestroyWaits+" "+failure.ReplaceRole, &resp.Diagnostics)
		}
		return
	}
	r.PlanTags(ctx, resp)
	plan, ok := managed.Get[nodeRoleModel](ctx, resp.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	var prior nodeRoleModel
	if !req.State.Raw.IsNull() {
		if prior, ok = managed.Get[nodeRoleModel](ctx, req.State, &resp.Diagnostics); !ok {
			return
		}
	}
	if !req.State.Raw.IsNull() {
		r.warnOfChange(ctx, prior, plan, &resp.Diagnostics)
	}
	region := r.PlanRegion(ctx, &resp.Diagnostics)
	if region != "" {
		partition := awsspec.Partition(region)
		plan.TrustPolicy = policydoc.PlanPolicy(prior.TrustPolicy, awsspec.NodeTrust(partition))
		plan.ManagedPolicyARNs = fwvalue.SetValue(plan.nodePolicies(partition))
	} else if !req.State.Raw.IsNull() {
		plan.TrustPolicy, plan.ManagedPolicyARNs = prior.TrustPolicy, prior.ManagedPolicyARNs
	}
	// Without a region, nobody knows yet what another choice of policies gives.
	chosenAnew := !req.State.Raw.IsNull() && !(plan.AttachCNIPolicy.Equal(prior.AttachCNIPolicy) && plan.AttachSSMPolicy.Equal(prior.AttachSSMPolicy))
	if !fwvalue.Known(plan.AttachCNIPolicy, plan.AttachSSMPolicy) || region == "" && chosenAnew {
		plan.ManagedPolicyARNs = types.SetUnknown(types.StringType)
	}
	plan.ARN, plan.UniqueID = managed.KeepOrCreate(prior.ARN), managed.KeepOrCreate(prior.UniqueID)
	plan.planExisting()
	plan.planEntry(prior)
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

// warnOfChange says that the plan replaces a role that is in use, or takes away its access
// entry. A plan does not know whether the new role is created first.
func (r *nodeRole) warnOfChange(ctx context.Context, prior, plan nodeRoleModel, diags *diag.Diagnostics) {
	switch {
	case !prior.Name.Equal(plan.Name) || !prior.Path.Equal(plan.Path) || !prior.ClusterName.Equal(plan.ClusterName) || !prior.ExistingRoleARN.Equal(plan.ExistingRoleARN):
		r.warn(ctx, prior, managed.PlanReplaces, failure.ReplaceRole, diags)
	case prior.AccessEntryARN.ValueString() != "" && !plan.AccessEntry.IsUnknown() && plan.entryType() == "":
		r.warn(ctx, prior, "removes its access entry", "Nodes that have no other way into the cluster are cut off: check first that another access entry, or the ConfigMap aws-auth, lets them in.", diags)
	case prior.AccessEntryARN.ValueString() != "" && !plan.AccessEntry.IsUnknown() && plan.entryType() != prior.entryType():
		r.warn(ctx, prior, "replaces its access entry", "EKS cannot change the type of an access entry: the nodes are cut off from the cluster until the new one is created, and nodes that need the former type stay cut off. "+
			"For nodes of another type, use another karpenter_node_role.", diags)
	}
}

// warn warns if the role is in use. That an instance profile has the role matters to a
// replacement only.
func (r *nodeRole) warn(ctx context.Context, prior nodeRoleModel, does, way string, diags *diag.Diagnostics) {
	r.WarnOfUse(ctx, prior, does, way, diags, func(ctx context.Context, client *aws.Clients) (*managed.Need, error) {
		found, err := prior.users(ctx, client)
		if found != nil && found.Within > 0 && does != managed.PlanReplaces {
			return nil, err
		}
		return found, err
	})
}
