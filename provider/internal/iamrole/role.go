package iamrole

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/policydoc"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

// Model is embedded by the models of the roles that the provider makes.
type Model struct {
	Name                 types.String `tfsdk:"name"`
	Path                 types.String `tfsdk:"path"`
	Description          types.String `tfsdk:"description"`
	PermissionsBoundary  types.String `tfsdk:"permissions_boundary"`
	MaxSessionDuration   types.Int64  `tfsdk:"max_session_duration"`
	AdditionalPolicyARNs types.Set    `tfsdk:"additional_policy_arns"`
	ARN                  types.String `tfsdk:"arn"`
	UniqueID             types.String `tfsdk:"unique_id"`
	TrustPolicy          types.String `tfsdk:"trust_policy"`
}

// maxAdditionalPolicies leaves room for the role's own policies: IAM attaches 25 at most,
// and 10 as long as the account's quota is not raised.
const maxAdditionalPolicies = 20

// Attributes are the attributes of Model that a user may set, besides name and path.
func Attributes(describe func(cluster string) string) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"description": schema.StringAttribute{
			Optional: true, Computed: true,
			MarkdownDescription: "Description of the role. Default `" + describe("<cluster_name>") + "`.",
			PlanModifiers:       []planmodifier.String{managed.ClusterName{FromCluster: describe, Check: awsspec.CheckRoleDescription}},
			Validators:          []validator.String{validate.Is(awsspec.CheckRoleDescription)},
		},
		"permissions_boundary": managed.PermissionsBoundaryAttribute(),
		"max_session_duration": schema.Int64Attribute{
			Optional: true, Computed: true, Default: int64default.StaticInt64(3600),
			MarkdownDescription: "How long a session of the role may last, in seconds: 3600 to 43200. Default 3600.",
			Validators:          []validator.Int64{int64validator.Between(3600, 43200)},
		},
		"additional_policy_arns": schema.SetAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "ARNs of managed policies that are attached to the role besides its own. A policy that is removed from this set is detached. " +
				"Policies that others attached are not changed.",
			Validators: []validator.Set{setvalidator.SizeBetween(1, maxAdditionalPolicies), setvalidator.ValueStringsAre(validate.ARN("iam", "policy/"))},
		},
		"arn":       managed.ComputedString("ARN of the role."),
		"unique_id": managed.ComputedString("Unique id of the role, such as `AROA...`. A role that is created again has another one."),
	}
}

// Asked is the role that the model asks IAM for, without trust policy, tags and the policies
// of its kind.
func (m Model) Asked() aws.Role {
	return aws.Role{
		Name: m.Name.ValueString(), Path: m.Path.ValueString(), Description: m.Description.ValueString(),
		PermissionsBoundary: m.PermissionsBoundary.ValueString(), MaxSessionDuration: time.Duration(m.MaxSessionDuration.ValueInt64()) * time.Second,
	}
}

// additional are the ARNs in additional_policy_arns, sorted.
func (m Model) additional() []string {
	var arns []string
	for _, element := range m.AdditionalPolicyARNs.Elements() {
		arns = append(arns, fwvalue.Text(element))
	}
	slices.Sort(arns)
	return arns
}

// WithAdditional are the policies of the role's kind and the additional ones, each once.
func (m Model) WithAdditional(own []string) []string {
	return slices.Concat(own, fwvalue.Without(m.additional(), own))
}

// Found sets the model to the live role. A role that is gone has no ARN.
func (m *Model) Found(role aws.Role) {
	m.ARN, m.UniqueID = fwvalue.StringOrNull(role.ARN), fwvalue.StringOrNull(role.ID)
	if role.ARN == "" {
		return
	}
	m.Path, m.Description = types.StringValue(role.Path), types.StringValue(role.Description)
	m.PermissionsBoundary = fwvalue.StringOrNull(role.PermissionsBoundary)
	m.MaxSessionDuration = types.Int64Value(int64(role.MaxSessionDuration / time.Second))
	m.TrustPolicy = policydoc.PlanPolicy(m.TrustPolicy, role.TrustPolicy)
	if !m.AdditionalPolicyARNs.IsNull() {
		m.AdditionalPolicyARNs = fwvalue.SetValue(fwvalue.Intersection(m.additional(), role.ManagedPolicies))
	}
}

// attach notes the policies as about to be attached.
func attach(own ownership.Record, arns []string) {
	for _, arn := range arns {
		own[ownership.KeyAttaching+arn] = arn
	}
}

// attached are the policies that a failed update may have attached, sorted.
func attached(own ownership.Record) []string {
	var arns []string
	for key := range own {
		if arn, is := strings.CutPrefix(key, ownership.KeyAttaching); is {
			arns = append(arns, arn)
		}
	}
	slices.Sort(arns)
	return arns
}

// forgetAttaching ends it: the update has succeeded, or the role is gone.
func forgetAttaching(own ownership.Record) {
	maps.DeleteFunc(own, func(key, _ string) bool { return strings.HasPrefix(key, ownership.KeyAttaching) })
}

// ChangeRole changes the role from had to want. A failed update may have attached policies that
// the state does not have: they count as had, too.
func (m *Model) ChangeRole(ctx context.Context, client *aws.Clients, had, want aws.Role, own ownership.Record) error {
	want.ID = own[ownership.KeyRole]
	had.ManagedPolicies = slices.Concat(had.ManagedPolicies, fwvalue.Without(slices.Concat(MadePolicies(own), attached(own)), had.ManagedPolicies))
	attach(own, m.additional())
	role, err := client.UpdateRole(ctx, had, want)
	if err != nil {
		return err
	}
	m.made(role, own)
	forgetAttaching(own)
	return nil
}

// FoundAttached shows policies that a failed update has attached: the next plan then
// removes those that the configuration does not have.
func (m *Model) FoundAttached(role aws.Role, own ownership.Record) {
	more := fwvalue.Intersection(fwvalue.Without(attached(own), m.additional()), role.ManagedPolicies)
	if len(more) > 0 {
		m.AdditionalPolicyARNs = fwvalue.SetValue(slices.Concat(m.additional(), more))
	}
}

// made sets what IAM gave to the role, and notes it.
func (m *Model) made(role aws.Role, own ownership.Record) {
	if role.ID != "" {
		m.ARN, m.UniqueID, own[ownership.KeyRole] = types.StringValue(role.ARN), types.StringValue(role.ID), role.ID
	}
}

// MadePolicies are the ARNs of the policies that were made, sorted.
func MadePolicies(own ownership.Record) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(own)), func(key string) bool { return !strings.HasPrefix(key, "arn:") })
}

// Timeout covers IAM's eventual consistency with room to spare.
const Timeout = 5 * time.Minute

// FindRole reads the role. A role that is gone, or that somebody else has made, is none.
func FindRole(ctx context.Context, j managed.Job[*aws.Clients], name string) (aws.Role, error) {
	found, err := j.Client.GetRole(ctx, name)
	if err == nil && !j.Recorded {
		j.Own[ownership.KeyRole] = found.ID
	}
	if errors.Is(err, aws.ErrNotFound) || err == nil && !j.Own.Is(ownership.KeyRole, found.ID) {
		delete(j.Own, ownership.KeyRole)
		forgetAttaching(j.Own)
		return aws.Role{}, nil
	}
	return found, err
}
