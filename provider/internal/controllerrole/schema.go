package controllerrole

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/iamrole"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/policydoc"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

type controllerRole struct {
	managed.Frame[controllerRoleModel, *aws.Clients]
}

type controllerRoleModel struct {
	ClusterName types.String `tfsdk:"cluster_name"`
	iamrole.Model
	podModel
	NodeRoleARN  types.String `tfsdk:"node_role_arn"`
	NodeRoleARNs types.Set    `tfsdk:"node_role_arns"`
	QueueARN     types.String `tfsdk:"queue_arn"`
	QueueKeyARN  types.String `tfsdk:"queue_kms_key_arn"`
	ImageARNs    types.Set    `tfsdk:"ami_ssm_parameter_arns"`
	Further      types.List   `tfsdk:"additional_policy_statements"`
	Policies     types.Map    `tfsdk:"policies"`
	PolicyARNs   types.Map    `tfsdk:"policy_arns"`
	managed.TagsModel
	managed.LimitsModel
}

// podModel says how the daemon's pods get the role.
type podModel struct {
	Identity       types.String `tfsdk:"identity"`
	Namespace      types.String `tfsdk:"namespace"`
	ServiceAccount types.String `tfsdk:"service_account"`
	OIDCIssuer     types.String `tfsdk:"oidc_issuer"`
	AssociationID  types.String `tfsdk:"association_id"`
	AssociationARN types.String `tfsdk:"association_arn"`
}

// byPodIdentity says that EKS Pod Identity gives the role to the pods.
func (m podModel) byPodIdentity() bool { return m.Identity.ValueString() == iamrole.IdentityPod }

func (m controllerRoleModel) IDs() []string {
	return []string{m.ClusterName.ValueString(), m.Name.ValueString()}
}

// New is the resource, before its session is known.
func New() resource.Resource {
	r := &controllerRole{}
	r.Frame = managed.OnAWS(managed.Base{Kind: "controller_role", Keys: []string{"cluster_name", "name"}}, managed.Times{Create: iamrole.Timeout, Update: iamrole.Timeout, Delete: managed.InUseTimeout}, r)
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
	attributes := map[string]schema.Attribute{
		"cluster_name": managed.ClusterNameAttribute(),
		"name":         managed.NameAttribute("role", "`KarpenterControllerRole-<cluster_name>`, with the end of a long cluster name replaced by a hash", awsspec.ControllerRoleName, awsspec.CheckRoleName),
		"path":         managed.IAMPathAttribute("role and its policies"),
		"identity": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(iamrole.IdentityIRSA),
			MarkdownDescription: "How the daemon's pods get the role. `irsa` (default): by tokens of the cluster's OIDC issuer, which must be registered as an IAM OIDC provider. " +
				"`pod_identity`: by EKS Pod Identity. The resource then also makes the association of the service account, and the cluster needs the add-on `eks-pod-identity-agent`. " +
				"After a change, restart the daemon's pods: EKS gives a pod its credentials when the pod is created.",
			Validators: []validator.String{stringvalidator.OneOf(iamrole.IdentityIRSA, iamrole.IdentityPod)},
		},
		"namespace":       serviceAccountPart("Namespace of the service account", install.DefaultNamespace),
		"service_account": serviceAccountPart("Name of the service account", install.DefaultServiceAccount),
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
		"queue_kms_key_arn":            queueKeyARNAttribute(),
		"ami_ssm_parameter_arns":       imageParametersAttribute(),
		"additional_policy_statements": roleStatementsAttribute(),
		"tags":                         managed.TagsAttribute(),
		"tags_all":                     managed.TagsAllAttribute(),
		"timeouts":                     r.TimeoutsAttribute(ctx),
	}
	maps.Copy(attributes, iamrole.Attributes(controllerRoleDescription))
	maps.Copy(attributes, controllerRoleOutcome())
	resp.Schema = schema.Schema{
		MarkdownDescription: "The IAM role of the daemon. The daemon's Kubernetes service account gets the role through the cluster's " +
			"OIDC issuer (IRSA) or through EKS Pod Identity. The role allows only the AWS calls that the " +
			"daemon makes. The permissions are in several managed policies, each within IAM's limit of 6144 characters. " +
			"See the guide [IAM](../guides/iam.md).\n\n" +
			"The role is deleted only when the cluster's node pools have no instance, or another role serves the daemon: a destroy waits for that. See the guide [Destroy without leftovers](../guides/destroy.md#what-waits-for-instances).",
		Attributes: attributes,
	}
}

// controllerRoleDescription is the default description of the role, and that of its policies.
func controllerRoleDescription(cluster string) string {
	return "Karpenter daemon of EKS cluster " + cluster
}

// ModifyPlan plans the policies and the trust policy, so that the plan shows them
// and shows a change by somebody else as a difference. An attribute that depends
// on an unknown value stays unknown.
func (r *controllerRole) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.Session == nil {
		return
	}
	ownership.PlanReplacement(ctx, req, resp)
	r.warnOfChange(ctx, req, resp)
	if req.Plan.Raw.IsNull() {
		return
	}
	r.PlanTags(ctx, resp)
	plan, ok := managed.Get[controllerRoleModel](ctx, resp.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	var prior controllerRoleModel
	if !req.State.Raw.IsNull() {
		if prior, ok = managed.Get[controllerRoleModel](ctx, req.State, &resp.Diagnostics); !ok {
			return
		}
	}
	set := func(name string, value any) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), value)...)
	}
	if !req.State.Raw.IsNull() {
		plan.ARN = managed.KeepOrCreate(prior.ARN)
		set("arn", plan.ARN)
		set("unique_id", managed.KeepOrCreate(prior.UniqueID))
		r.notePlan(plan)
		r.warnTrust(plan, prior, &resp.Diagnostics)
	}
	planned := plan.podPlan(prior)
	set("oidc_issuer", planned.OIDCIssuer)
	set("association_id", planned.AssociationID)
	set("association_arn", planned.AssociationARN)
	region := r.PlanRegion(ctx, &resp.Diagnostics)
	plan.checkAccounts(region, &resp.Diagnostics)
	r.planPolicies(plan, prior, region, set, &resp.Diagnostics)
	plan.podModel = planned
	if client, err := r.Session.AWS(ctx); err == nil && !req.State.Raw.IsNull() {
		r.warnOfIssuer(ctx, client, plan, &resp.Diagnostics)
	}
	if plan.trustKnown(region) {
		set("trust_policy", policydoc.PlanPolicy(prior.TrustPolicy, plan.trust(region)))
	} else {
		set("trust_policy", types.StringUnknown())
	}
}

// warnOfChange says that the plan takes the role from a daemon whose nodes run.
func (r *controllerRole) warnOfChange(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	prior, ok := managed.PriorOf[controllerRoleModel](ctx, req, &resp.Diagnostics)
	if !ok {
		return
	}
	does, way := managed.PlanDestroys, managed.DestroyWaits+" "+failure.ReplaceDaemonRole
	if !req.Plan.Raw.IsNull() {
		plan, ok := managed.Get[controllerRoleModel](ctx, req.Plan, &resp.Diagnostics)
		if !ok || prior.Name.Equal(plan.Name) && prior.Path.Equal(plan.Path) && prior.ClusterName.Equal(plan.ClusterName) {
			return
		}
		does, way = managed.PlanReplaces, failure.ReplaceDaemonRole
		if prior.byPodIdentity() {
			way = "The daemon has no credentials until the new role and its association are created: it launches and ends nothing meanwhile."
		}
	}
	own, _ := ownership.Read(ctx, req.Private, &resp.Diagnostics)
	r.WarnOfUse(ctx, prior, does, way, &resp.Diagnostics, func(ctx context.Context, client *aws.Clients) (*managed.Need, error) {
		found, err := prior.users(ctx, client, own)
		if found != nil && found.Refuse == nil {
			return nil, err // no instances
		}
		return found, err
	})
}

// wanted are the policies that the model asks for.
func (m controllerRoleModel) wanted(region string) []awsspec.Policy {
	partition, account := awsspec.PartitionAndAccount(m.NodeRoleARN.ValueString())
	return awsspec.ControllerPolicies(awsspec.ControllerPolicyInput{
		Partition: partition, Region: region, Account: account, Cluster: m.ClusterName.ValueString(), Role: m.Name.ValueString(),
		NodeRoleARNs: m.nodeRoles(), QueueARN: m.QueueARN.ValueString(), QueueKeyARN: m.QueueKeyARN.ValueString(),
		ImageParameterARNs: slices.Sorted(slices.Values(fwvalue.TextsOf(m.ImageARNs))), Further: policydoc.StatementsOf(m.Further, false),
	})
}

// documents are the texts of the wanted policies, by name.
func (m controllerRoleModel) documents(region string) map[string]string {
	documents := map[string]string{}
	for _, policy := range m.wanted(region) {
		documents[policy.Name] = policy.Document
	}
	return documents
}

// policyARNs has the ARNs of those wanted policies that are in documents, by kind.
func (m controllerRoleModel) policyARNs(region string, documents map[string]string) types.Map {
	arns := map[string]string{}
	for _, policy := range m.wanted(region) {
		if _, there := documents[policy.Name]; there {
			arns[policy.Kind] = m.policyARN(policy.Name)
		}
	}
	return fwvalue.MapValue(arns)
}

// nodeRoles are the roles that the daemon may give to instances, each once: the first is
// node_role_arn.
func (m controllerRoleModel) nodeRoles() []string {
	first := m.NodeRoleARN.ValueString()
	var more []string
	for _, element := range m.NodeRoleARNs.Elements() {
		if arn := fwvalue.Text(element); arn != first {
			more = append(more, arn)
		}
	}
	slices.Sort(more)
	return append([]string{first}, more...)
}
