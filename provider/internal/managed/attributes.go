package managed

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

// ComputedString is a value that AWS gives once and that does not change.
func ComputedString(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Computed: true, MarkdownDescription: description,
		PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

// ClusterNameAttribute names the EKS cluster. Another name needs another object.
func ClusterNameAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Required: true, MarkdownDescription: "Name of the EKS cluster.",
		PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
		Validators:    []validator.String{validate.Is(awsspec.CheckClusterName)},
	}
}

// IAMPathAttribute is the IAM path of a thing. Another path needs another thing.
func IAMPathAttribute(of string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true, Computed: true, Default: stringdefault.StaticString("/"),
		MarkdownDescription: fmt.Sprintf("IAM path of the %s. Default `/`.", of),
		PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
		Validators:          []validator.String{validate.IAMPath()},
	}
}

// PermissionsBoundaryAttribute names the permissions boundary of a role.
func PermissionsBoundaryAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Optional:            true,
		MarkdownDescription: "ARN of the IAM policy that is the permissions boundary of the role.",
		Validators:          []validator.String{validate.ARN("iam", "policy/")},
	}
}

// NameAttribute is a name whose default is built from the cluster's name. check
// says what is wrong with a name.
func NameAttribute(of, defaultText string, fromCluster func(cluster string) string, check func(string) error) schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true, Computed: true,
		MarkdownDescription: fmt.Sprintf("Name of the %s. Default: %s.", of, defaultText),
		PlanModifiers:       []planmodifier.String{ClusterName{FromCluster: fromCluster, Check: check}, stringplanmodifier.RequiresReplace()},
		Validators:          []validator.String{validate.Is(check)},
	}
}

// ClusterName plans a name that is not configured: the name is built from the
// cluster's.
type ClusterName struct {
	FromCluster func(cluster string) string
	Check       func(string) error
}

// Description says what is planned.
func (m ClusterName) Description(context.Context) string {
	return "the default is built from cluster_name"
}

// MarkdownDescription says what is planned.
func (m ClusterName) MarkdownDescription(ctx context.Context) string { return m.Description(ctx) }

// PlanModifyString sets the default if the cluster's name is known.
func (m ClusterName) PlanModifyString(ctx context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if !req.ConfigValue.IsNull() {
		return
	}
	var cluster types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("cluster_name"), &cluster)...)
	if cluster.IsUnknown() {
		resp.PlanValue = types.StringUnknown()
		return
	}
	name := m.FromCluster(cluster.ValueString())
	if err := m.Check(name); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid default name", fmt.Sprintf(
			"%s: %v. This default name is built from cluster_name. To use another name, set %s.", req.Path, err, req.Path))
		return
	}
	resp.PlanValue = types.StringValue(name)
}

// ObjectNameAttribute names a Kubernetes object. Another name needs another
// object.
func ObjectNameAttribute(kind string) schema.StringAttribute {
	return schema.StringAttribute{
		Required: true, MarkdownDescription: "Name of the " + kind + ".",
		PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
		Validators:    []validator.String{validate.ObjectName()},
	}
}
