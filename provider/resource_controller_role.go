package provider

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

type controllerRole struct {
	frame[controllerRoleModel, *aws.Clients]
}

type controllerRoleModel struct {
	ClusterName         types.String `tfsdk:"cluster_name"`
	Name                types.String `tfsdk:"name"`
	Path                types.String `tfsdk:"path"`
	PermissionsBoundary types.String `tfsdk:"permissions_boundary"`
	Namespace           types.String `tfsdk:"namespace"`
	ServiceAccount      types.String `tfsdk:"service_account"`
	NodeRoleARN         types.String `tfsdk:"node_role_arn"`
	NodeRoleARNs        types.Set    `tfsdk:"node_role_arns"`
	QueueARN            types.String `tfsdk:"queue_arn"`
	ARN                 types.String `tfsdk:"arn"`
	OIDCIssuer          types.String `tfsdk:"oidc_issuer"`
	TrustPolicy         types.String `tfsdk:"trust_policy"`
	Policies            types.Map    `tfsdk:"policies"`
	tagsModel
	limitsModel
}

func (m controllerRoleModel) ids() []string {
	return []string{m.ClusterName.ValueString(), m.Name.ValueString()}
}

func newControllerRole() resource.Resource {
	r := &controllerRole{}
	r.frame = onAWS(base{kind: "controller_role", keys: []string{"cluster_name", "name"}}, times{roleTimeout, roleTimeout, roleTimeout}, r)
	return r
}

// Schema describes the controller role.
func (r *controllerRole) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	serviceAccountPart := func(what, fallback string) schema.StringAttribute {
		return schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(fallback),
			MarkdownDescription: what + " that may assume the role. Default `" + fallback + "`.",
			Validators:          []validator.String{validate.Namespace()},
		}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "The IAM role of the daemon. The daemon's Kubernetes service account assumes the role through the cluster's " +
			"OIDC issuer (IRSA). The issuer must be registered as an IAM OIDC provider. The role allows only the AWS calls that the " +
			"daemon makes. The permissions are in several managed policies, each within IAM's limit of 6144 characters.",
		Attributes: map[string]schema.Attribute{
			"cluster_name":         clusterNameAttribute(),
			"name":                 nameAttribute("role", "`KarpenterControllerRole-<cluster_name>`, with the end of a long cluster name replaced by a hash", awsspec.ControllerRoleName, awsspec.CheckRoleName),
			"path":                 iamPathAttribute("role and its policies"),
			"permissions_boundary": permissionsBoundaryAttribute(),
			"namespace":            serviceAccountPart("Namespace of the service account", install.DefaultNamespace),
			"service_account":      serviceAccountPart("Name of the service account", install.DefaultServiceAccount),
			"node_role_arn": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "ARN of the node role, `karpenter_node_role.<name>.arn`. The daemon may pass this role to the instances that it launches.",
				Validators:          []validator.String{validate.Is(awsspec.CheckRoleARN)},
			},
			"node_role_arns": schema.SetAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "ARNs of further roles that the daemon may give to instances, for node classes with `role`.",
				Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.ValueStringsAre(validate.Is(awsspec.CheckRoleARN))},
			},
			"queue_arn": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "ARN of the interruption queue, `karpenter_interruption_queue.<name>.arn`. Without `queue_arn`, the daemon may not read any queue.",
				Validators:          []validator.String{validate.ARN("sqs", "")},
			},
			"arn":          computedString("ARN of the role."),
			"oidc_issuer":  computedString("OIDC issuer of the cluster, without `https://`."),
			"trust_policy": schema.StringAttribute{Computed: true, MarkdownDescription: "Trust policy (JSON) of the role."},
			"policies": schema.MapAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Policy documents (JSON) of the role, by policy name. Policies that others attached are not listed and not changed.",
			},
			"tags":     tagsAttribute(),
			"tags_all": tagsAllAttribute(),
			"timeouts": r.timeoutsAttribute(ctx),
		},
	}
}

// ModifyPlan plans the policies and the trust policy, so that the plan shows them
// and shows a change by somebody else as a difference. An attribute that depends
// on an unknown value stays unknown.
func (r *controllerRole) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.session == nil {
		return
	}
	r.planTags(ctx, resp)
	plan, ok := get[controllerRoleModel](ctx, resp.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	var prior controllerRoleModel
	if !req.State.Raw.IsNull() {
		if prior, ok = get[controllerRoleModel](ctx, req.State, &resp.Diagnostics); !ok {
			return
		}
	}
	set := func(name string, value any) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), value)...)
	}
	if !req.State.Raw.IsNull() {
		set("arn", keepOrCreate(prior.ARN))
	}
	region := r.planRegion(ctx, &resp.Diagnostics)
	switch {
	case !known(plan.NodeRoleARN, plan.NodeRoleARNs, plan.QueueARN, plan.Name, plan.ClusterName) || anyUnknown(plan.NodeRoleARNs):
		set("policies", types.MapUnknown(types.StringType))
	case region != "":
		documents := plan.documents(region)
		for name, document := range documents {
			if err := awsspec.CheckPolicySize(name, document); err != nil {
				resp.Diagnostics.AddAttributeError(path.Root("policies"), "Policy too large", fmt.Sprintf("karpenter_controller_role %q: %v.", importID(plan), err))
			}
		}
		set("policies", keepSpelling(prior.Policies, documents))
	case !req.State.Raw.IsNull():
		set("policies", prior.Policies)
	}
	if known(plan.OIDCIssuer, plan.NodeRoleARN, plan.Namespace, plan.ServiceAccount) {
		set("trust_policy", planJSON(prior.TrustPolicy, plan.trust()))
	} else {
		set("trust_policy", types.StringUnknown())
	}
}

// documents are the policies that the model asks for, by name.
func (m controllerRoleModel) documents(region string) map[string]string {
	partition, account := partitionAndAccount(m.NodeRoleARN.ValueString())
	documents := map[string]string{}
	for _, policy := range awsspec.ControllerPolicies(awsspec.ControllerPolicyInput{
		Partition: partition, Region: region, Account: account, Cluster: m.ClusterName.ValueString(), Role: m.Name.ValueString(),
		NodeRoleARNs: m.nodeRoles(), QueueARN: m.QueueARN.ValueString(),
	}) {
		documents[policy.Name] = policy.Document
	}
	return documents
}

// nodeRoles are the roles that the daemon may give to instances, each once: the first is
// node_role_arn.
func (m controllerRoleModel) nodeRoles() []string {
	first := m.NodeRoleARN.ValueString()
	var more []string
	for _, element := range m.NodeRoleARNs.Elements() {
		if arn := text(element); arn != first {
			more = append(more, arn)
		}
	}
	slices.Sort(more)
	return append([]string{first}, more...)
}

func (m controllerRoleModel) trust() string {
	partition, account := partitionAndAccount(m.NodeRoleARN.ValueString())
	return awsspec.IRSATrust(m.OIDCIssuer.ValueString(), account, partition, m.Namespace.ValueString(), m.ServiceAccount.ValueString())
}

// partitionAndAccount are the second and the fifth part of an ARN.
func partitionAndAccount(arn string) (partition, account string) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return "", ""
	}
	return parts[1], parts[4]
}
