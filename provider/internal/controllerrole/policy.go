package controllerrole

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/policydoc"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

// What users may add to what the daemon's role allows.

func queueKeyARNAttribute() schema.Attribute {
	return schema.StringAttribute{
		Optional:            true,
		MarkdownDescription: "ARN of the KMS key that the interruption queue is encrypted with, if it is one of yours. The daemon may then decrypt with it. An alias is no key: write the key's own ARN.",
		Validators:          []validator.String{validate.ARN("kms", "key/"), stringvalidator.AlsoRequires(path.MatchRoot("queue_arn"))},
	}
}

func imageParametersAttribute() schema.Attribute {
	return schema.SetAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: "ARNs of SSM parameters that the daemon may read, for node classes whose `ssm_parameter` is one of yours, such as `arn:aws:ssm:us-west-2:123456789012:parameter/images/*`. " +
			"The public parameters of AWS below `/aws/service/` need none.",
		Validators: []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.ValueStringsAre(validate.ARN("ssm", "parameter/"))},
	}
}

func roleStatementsAttribute() schema.Attribute {
	return schema.ListAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: "Further statements of what the role allows or denies, in JSON: policy documents, such as `data.aws_iam_policy_document.<name>.json`, or single statements, such as " +
			"`jsonencode({ Effect = \"Allow\", ... })`. They become a policy of their own.",
		Validators: []validator.List{listvalidator.SizeAtLeast(1), listvalidator.ValueStringsAre(validate.Is(checkRoleStatements))},
	}
}

// controllerRoleOutcome are the attributes that follow from others.
func controllerRoleOutcome() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"oidc_issuer":     schema.StringAttribute{Computed: true, MarkdownDescription: "OIDC issuer of the cluster, without `https://`. Null with Pod Identity, which needs no issuer."},
		"association_id":  schema.StringAttribute{Computed: true, MarkdownDescription: "Id of the Pod Identity association, such as `a-...`. Null with IRSA, and while the association is not as declared."},
		"association_arn": schema.StringAttribute{Computed: true, MarkdownDescription: "ARN of the Pod Identity association. Null where `association_id` is null."},
		"trust_policy":    schema.StringAttribute{Computed: true, MarkdownDescription: "Trust policy (JSON) of the role."},
		"policies": schema.MapAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "Policy documents (JSON) of the role, by policy name. Policies that others attached are not listed and not changed.",
		},
		"policy_arns": schema.MapAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "ARNs of the role's own policies, by what they are for: `nodes`, `profiles`, `read`, `interruption` if `queue_arn` is set, and `additional` if `additional_policy_statements` is set.",
		},
	}
}

func checkRoleStatements(text string) error {
	_, err := awsspec.PolicyStatements(text, false)
	return err //nolint:wrapcheck // it says what is wrong
}

// policiesKnown tells whether everything is known of which the policies are made.
func (m controllerRoleModel) policiesKnown() bool {
	return fwvalue.Known(m.NodeRoleARN, m.NodeRoleARNs, m.QueueARN, m.QueueKeyARN, m.ImageARNs, m.Name, m.Path, m.ClusterName) &&
		!fwvalue.AnyUnknown(m.NodeRoleARNs) && !fwvalue.AnyUnknown(m.ImageARNs) && fwvalue.WholeList(m.Further)
}

// policiesMadeAs tells whether the policies are made of the same as those of prior.
func (m controllerRoleModel) policiesMadeAs(prior controllerRoleModel) bool {
	return m.NodeRoleARN.Equal(prior.NodeRoleARN) && m.NodeRoleARNs.Equal(prior.NodeRoleARNs) && m.QueueARN.Equal(prior.QueueARN) && m.QueueKeyARN.Equal(prior.QueueKeyARN) &&
		m.ImageARNs.Equal(prior.ImageARNs) && m.Further.Equal(prior.Further) && m.Name.Equal(prior.Name) && m.Path.Equal(prior.Path) && m.ClusterName.Equal(prior.ClusterName)
}

// planPolicies plans the documents and the ARNs of the policies, as far as they are known.
func (r *controllerRole) planPolicies(plan, prior controllerRoleModel, region string, set func(name string, value any), diags *diag.Diagnostics) {
	switch {
	case !plan.policiesKnown():
		set("policies", types.MapUnknown(types.StringType))
		set("policy_arns", types.MapUnknown(types.StringType))
	case region != "":
		documents := plan.documents(region)
		for name, document := range documents {
			if err := awsspec.CheckPolicySize(name, document); err != nil {
				diags.AddAttributeError(path.Root("policies"), "Policy too large", fmt.Sprintf("karpenter_controller_role %q: %v.", managed.ImportID(plan), err))
			}
		}
		set("policies", policydoc.PlanPolicies(prior.Policies, documents))
		set("policy_arns", plan.policyARNs(region, documents))
	case prior.Policies.IsNull(): // a new role: they stay unknown
	case !plan.policiesMadeAs(prior): // without a region, nobody knows yet what they become
		set("policies", types.MapUnknown(types.StringType))
		set("policy_arns", types.MapUnknown(types.StringType))
	default:
		set("policies", prior.Policies)
		set("policy_arns", prior.PolicyARNs)
	}
}

// reconstructStatement sets what the policies were made of from a statement of one. Only the
// role's own policies tell of keys and parameters: any other may allow these actions, too.
func (m *controllerRoleModel) reconstructStatement(s statement, region, partition string, own bool) {
	switch {
	case len(s.Resource) == 0:
	case s.Action.has("iam:PassRole"):
		m.NodeRoleARN, m.NodeRoleARNs = types.StringValue(s.Resource[0]), fwvalue.SetOrNull(s.Resource[1:])
	case s.Action.has("sqs:ReceiveMessage"):
		m.QueueARN = types.StringValue(s.Resource[0])
	case !own:
	case s.Action.has("kms:Decrypt"):
		m.QueueKeyARN = types.StringValue(s.Resource[0])
	case s.Action.has("ssm:GetParameter"):
		public := fmt.Sprintf("arn:%s:ssm:%s::parameter%s", partition, region, awsspec.PublicParameters)
		m.ImageARNs = fwvalue.SetOrNull(slices.DeleteFunc(slices.Clone(s.Resource), func(arn string) bool { return strings.HasPrefix(arn, public) }))
	}
}
