package noderole

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// linuxEntry is the type of access entry that lets an instance join as a Linux node.
const linuxEntry = "EC2_LINUX"

// nodeEntryTypes are the types of access entries for instances. Source: EKS API reference,
// CreateAccessEntry.
func nodeEntryTypes() []string { return []string{linuxEntry, "EC2_WINDOWS", "EC2"} }

func accessEntryAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "The access entry that lets the nodes join the cluster. Default: `{ create = true, type = \"EC2_LINUX\" }`.",
		Attributes: map[string]schema.Attribute{
			"create": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(true),
				MarkdownDescription: "Whether the resource makes the access entry. Default `true`. Set `false` if another configuration makes it, or if the ConfigMap `aws-auth` lets the nodes in. " +
					"A change to `false` removes the access entry: nodes that have no other way in are cut off.",
			},
			"type": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString(linuxEntry),
				MarkdownDescription: "Type of the access entry: `EC2_LINUX` (default; Linux and Bottlerocket), `EC2_WINDOWS` (Windows), or `EC2` (EKS Auto Mode). " +
					"EKS cannot change the type: after a change the access entry is deleted and created again.",
				Validators: []validator.String{stringvalidator.OneOf(nodeEntryTypes()...)},
			},
		},
	}
}

// existing tells whether the role exists without this resource.
func (m nodeRoleModel) existing() bool { return m.ExistingRoleARN.ValueString() != "" }

// entryType is the type of the wanted access entry; "" if none is wanted.
func (m nodeRoleModel) entryType() string {
	attributes := m.AccessEntry.Attributes()
	if create, set := attributes["create"].(types.Bool); set && !create.IsNull() && !create.IsUnknown() && !create.ValueBool() {
		return ""
	}
	if kind, set := attributes["type"].(types.String); set && kind.ValueString() != "" {
		return kind.ValueString()
	}
	return linuxEntry
}

// planExisting plans the attributes that describe a role, where the role exists: the
// resource sets none of them.
func (m *nodeRoleModel) planExisting() {
	if m.ExistingRoleARN.IsNull() {
		return
	}
	m.ARN = m.ExistingRoleARN
	if m.ExistingRoleARN.IsUnknown() { // and perhaps null after all
		m.Description, m.MaxSessionDuration, m.AttachCNIPolicy, m.AttachSSMPolicy = types.StringUnknown(), types.Int64Unknown(), types.BoolUnknown(), types.BoolUnknown()
		m.UniqueID, m.TrustPolicy, m.ManagedPolicyARNs = types.StringUnknown(), types.StringUnknown(), types.SetUnknown(types.StringType)
		return
	}
	m.forgetRole()
}

// forgetRole leaves only name and path of the attributes that describe a role.
func (m *nodeRoleModel) forgetRole() {
	m.Description, m.MaxSessionDuration, m.PermissionsBoundary = types.StringNull(), types.Int64Null(), types.StringNull()
	m.AttachCNIPolicy, m.AttachSSMPolicy = types.BoolNull(), types.BoolNull()
	m.UniqueID, m.TrustPolicy = types.StringNull(), types.StringNull()
	m.ManagedPolicyARNs, m.AdditionalPolicyARNs = types.SetNull(types.StringType), types.SetNull(types.StringType)
}

// planEntry plans the ARN of the access entry. An entry of another type is another entry.
func (m *nodeRoleModel) planEntry(prior nodeRoleModel) {
	switch {
	case m.AccessEntry.IsUnknown() || !fwvalue.Known(slices.Collect(maps.Values(m.AccessEntry.Attributes()))...):
		m.AccessEntryARN = types.StringUnknown()
	case m.entryType() == "":
		m.AccessEntryARN = types.StringNull()
	case m.entryType() != prior.entryType() || m.ARN.IsUnknown():
		m.AccessEntryARN = types.StringUnknown()
	default:
		m.AccessEntryARN = managed.KeepOrCreate(prior.AccessEntryARN)
	}
}

// entryObject is the attribute access_entry for an entry of that type, after an import.
func entryObject(kind string) types.Object {
	kinds := map[string]attr.Type{"create": types.BoolType, "type": types.StringType}
	if kind == linuxEntry {
		return types.ObjectNull(kinds)
	}
	return types.ObjectValueMust(kinds, map[string]attr.Value{"create": types.BoolValue(true), "type": types.StringValue(kind)})
}

// importExisting turns an import of an ARN into an import of the access entry only.
func (m *nodeRoleModel) importExisting() {
	arn := m.Name.ValueString()
	if !strings.HasPrefix(arn, "arn:") || awsspec.CheckRoleARN(arn) != nil {
		return
	}
	m.ExistingRoleARN, m.ARN = types.StringValue(arn), types.StringValue(arn)
	m.Name, m.Path = types.StringValue(awsspec.RoleName(arn)), types.StringValue(awsspec.RolePathOfARN(arn))
	m.forgetRole()
}

// ofExistingRole plans an attribute of a role that exists: it follows from the ARN. Without
// such a role, the modifier otherwise plans the attribute, if there is one.
type ofExistingRole struct {
	of        func(arn string) string
	otherwise planmodifier.String
}

// Description says what is planned.
func (m ofExistingRole) Description(context.Context) string {
	return "with existing_role_arn, the value is read from the ARN"
}

// MarkdownDescription says what is planned.
func (m ofExistingRole) MarkdownDescription(ctx context.Context) string { return m.Description(ctx) }

// PlanModifyString sets the value if the ARN is configured.
func (m ofExistingRole) PlanModifyString(ctx context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	var arn types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("existing_role_arn"), &arn)...)
	switch {
	case arn.IsUnknown():
		resp.PlanValue = types.StringUnknown()
	case !arn.IsNull():
		resp.PlanValue = types.StringValue(m.of(arn.ValueString()))
	case m.otherwise != nil:
		m.otherwise.PlanModifyString(ctx, req, resp)
	}
}

// ValidateConfig refuses what contradicts existing_role_arn.
func (r *nodeRole) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	config, ok := managed.Get[nodeRoleModel](ctx, req.Config, &resp.Diagnostics)
	if !ok || config.ExistingRoleARN.IsNull() {
		return
	}
	for _, a := range []struct {
		name  string
		value attr.Value
	}{
		{"name", config.Name},
		{"path", config.Path},
		{"description", config.Description},
		{"permissions_boundary", config.PermissionsBoundary},
		{"max_session_duration", config.MaxSessionDuration},
		{"additional_policy_arns", config.AdditionalPolicyARNs},
		{"attach_cni_policy", config.AttachCNIPolicy},
		{"attach_ssm_policy", config.AttachSSMPolicy},
	} {
		if !a.value.IsNull() {
			resp.Diagnostics.AddAttributeError(path.Root(a.name), "Conflicting attributes", fmt.Sprintf(
				"%s: existing_role_arn names a role that exists, which this resource does not change: remove %s, or remove existing_role_arn to have a role created.", a.name, a.name))
		}
	}
	if !config.AccessEntry.IsUnknown() && config.entryType() == "" {
		resp.Diagnostics.AddAttributeError(path.Root("access_entry").AtName("create"), "Nothing to create",
			"access_entry.create: with existing_role_arn the access entry is all that this resource creates: remove the resource, or set access_entry.create = true.")
	}
}

// finishEntry gives the result of CreateAccessEntry, or the entry that was left. Of a role
// that exists without this configuration, EKS makes such entries itself, for managed node
// groups: the entry needs tags of this configuration.
func (m *nodeRoleModel) finishEntry(ctx context.Context, client *aws.Clients, entry aws.AccessEntry, failure error, own ownership.Record) (aws.AccessEntry, error) {
	want := m.accessEntry()
	return aws.Finish(entry, failure, func() (aws.AccessEntry, error) {
		if m.existing() {
			if len(want.Tags) == 0 {
				return aws.AccessEntry{}, aws.ErrNotFound
			}
			return client.FinishAccessEntry(ctx, want, aws.Role{})
		}
		role, err := client.GetRole(ctx, m.Name.ValueString())
		if err != nil {
			return aws.AccessEntry{}, err
		}
		return client.FinishAccessEntry(ctx, want, role)
	}, func(e aws.AccessEntry) {
		own.TakeUp(madeAccessEntry, e.ARN, "access entry for "+e.PrincipalARN)
	})
}
