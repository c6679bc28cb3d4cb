package provider

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
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

// roleModel is embedded by the models of the roles that the provider makes.
type roleModel struct {
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

// iamRoleAttributes are the attributes of roleModel that a user may set, besides name and path.
func iamRoleAttributes(describe func(cluster string) string) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"description": schema.StringAttribute{
			Optional: true, Computed: true,
			MarkdownDescription: "Description of the role. Default `" + describe("<cluster_name>") + "`.",
			PlanModifiers:       []planmodifier.String{clusterName{fromCluster: describe, check: awsspec.CheckRoleDescription}},
			Validators:          []validator.String{validate.Is(awsspec.CheckRoleDescription)},
		},
		"permissions_boundary": permissionsBoundaryAttribute(),
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
		"arn":       computedString("ARN of the role."),
		"unique_id": computedString("Unique id of the role, such as `AROA...`. A role that is created again has another one."),
	}
}

// asked is the role that the model asks IAM for, without trust policy, tags and the policies
// of its kind.
func (m roleModel) asked() aws.Role {
	return aws.Role{
		Name: m.Name.ValueString(), Path: m.Path.ValueString(), Description: m.Description.ValueString(),
		PermissionsBoundary: m.PermissionsBoundary.ValueString(), MaxSessionDuration: time.Duration(m.MaxSessionDuration.ValueInt64()) * time.Second,
	}
}

// additional are the ARNs in additional_policy_arns, sorted.
func (m roleModel) additional() []string {
	var arns []string
	for _, element := range m.AdditionalPolicyARNs.Elements() {
		arns = append(arns, text(element))
	}
	slices.Sort(arns)
	return arns
}

// withAdditional are the policies of the role's kind and the additional ones, each once.
func (m roleModel) withAdditional(own []string) []string {
	return slices.Concat(own, without(m.additional(), own))
}

// found sets the model to the live role. A role that is gone has no ARN.
func (m *roleModel) found(role aws.Role) {
	m.ARN, m.UniqueID = stringOrNull(role.ARN), stringOrNull(role.ID)
	if role.ARN == "" {
		return
	}
	m.Path, m.Description = types.StringValue(role.Path), types.StringValue(role.Description)
	m.PermissionsBoundary = stringOrNull(role.PermissionsBoundary)
	m.MaxSessionDuration = types.Int64Value(int64(role.MaxSessionDuration / time.Second))
	m.TrustPolicy = planPolicy(m.TrustPolicy, role.TrustPolicy)
	if !m.AdditionalPolicyARNs.IsNull() {
		m.AdditionalPolicyARNs = setValue(intersection(m.additional(), role.ManagedPolicies))
	}
}

// attach notes the policies as about to be attached.
func attach(own made, arns []string) {
	for _, arn := range arns {
		own[attaching+arn] = arn
	}
}

// attached are the policies that a failed update may have attached, sorted.
func attached(own made) []string {
	var arns []string
	for key := range own {
		if arn, is := strings.CutPrefix(key, attaching); is {
			arns = append(arns, arn)
		}
	}
	slices.Sort(arns)
	return arns
}

// forgetAttaching ends it: the update has succeeded, or the role is gone.
func forgetAttaching(own made) {
	maps.DeleteFunc(own, func(key, _ string) bool { return strings.HasPrefix(key, attaching) })
}

// change changes the role from had to want. A failed update may have attached policies that
// the state does not have: they count as had, too.
func (m *roleModel) change(ctx context.Context, client *aws.Clients, had, want aws.Role, own made) error {
	want.ID = own[madeRole]
	had.ManagedPolicies = slices.Concat(had.ManagedPolicies, without(slices.Concat(madePolicies(own), attached(own)), had.ManagedPolicies))
	attach(own, m.additional())
	role, err := client.UpdateRole(ctx, had, want)
	if err != nil {
		return err
	}
	m.made(role, own)
	forgetAttaching(own)
	return nil
}

// foundAttached shows policies that a failed update has attached: the next plan then
// removes those that the configuration does not have.
func (m *roleModel) foundAttached(role aws.Role, own made) {
	more := intersection(without(attached(own), m.additional()), role.ManagedPolicies)
	if len(more) > 0 {
		m.AdditionalPolicyARNs = setValue(slices.Concat(m.additional(), more))
	}
}

// made sets what IAM gave to the role, and notes it.
func (m *roleModel) made(role aws.Role, own made) {
	if role.ID != "" {
		m.ARN, m.UniqueID, own[madeRole] = types.StringValue(role.ARN), types.StringValue(role.ID), role.ID
	}
}

// madePolicies are the ARNs of the policies that were made, sorted.
func madePolicies(own made) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(own)), func(key string) bool { return !strings.HasPrefix(key, "arn:") })
}

// roleTimeout covers IAM's eventual consistency with room to spare.
const roleTimeout = 5 * time.Minute

// findRole reads the role. A role that is gone, or that somebody else has made, is none.
func findRole(ctx context.Context, j job[*aws.Clients], name string) (aws.Role, error) {
	found, err := j.client.GetRole(ctx, name)
	if err == nil && !j.recorded {
		j.own[madeRole] = found.ID
	}
	if errors.Is(err, aws.ErrNotFound) || err == nil && !j.own.is(madeRole, found.ID) {
		delete(j.own, madeRole)
		forgetAttaching(j.own)
		return aws.Role{}, nil
	}
	return found, err
}
