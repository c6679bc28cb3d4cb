package provider

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

// computedString is a value that AWS gives once and that does not change.
func computedString(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Computed: true, MarkdownDescription: description,
		PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

// clusterNameAttribute names the EKS cluster. Another name needs another object.
func clusterNameAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Required: true, MarkdownDescription: "Name of the EKS cluster.",
		PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
		Validators:    []validator.String{validate.Is(awsspec.CheckClusterName)},
	}
}

func iamPathAttribute(of string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true, Computed: true, Default: stringdefault.StaticString("/"),
		MarkdownDescription: fmt.Sprintf("IAM path of the %s. Default `/`.", of),
		PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
		Validators:          []validator.String{validate.IAMPath()},
	}
}

func permissionsBoundaryAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Optional:            true,
		MarkdownDescription: "ARN of the IAM policy that is the permissions boundary of the role.",
		Validators:          []validator.String{validate.ARN("iam", "policy/")},
	}
}

// nameAttribute is a name whose default is built from the cluster's name. check
// says what is wrong with a name.
func nameAttribute(of, defaultText string, fromCluster func(cluster string) string, check func(string) error) schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true, Computed: true,
		MarkdownDescription: fmt.Sprintf("Name of the %s. Default: %s.", of, defaultText),
		PlanModifiers:       []planmodifier.String{clusterName{fromCluster: fromCluster, check: check}, stringplanmodifier.RequiresReplace()},
		Validators:          []validator.String{validate.Is(check)},
	}
}

// clusterName plans a name that is not configured: the name is built from the
// cluster's.
type clusterName struct {
	fromCluster func(cluster string) string
	check       func(string) error
}

// Description says what is planned.
func (m clusterName) Description(context.Context) string {
	return "the default is built from cluster_name"
}

// MarkdownDescription says what is planned.
func (m clusterName) MarkdownDescription(ctx context.Context) string { return m.Description(ctx) }

// PlanModifyString sets the default if the cluster's name is known.
func (m clusterName) PlanModifyString(ctx context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if !req.ConfigValue.IsNull() {
		return
	}
	var cluster types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("cluster_name"), &cluster)...)
	if cluster.IsUnknown() {
		resp.PlanValue = types.StringUnknown()
		return
	}
	name := m.fromCluster(cluster.ValueString())
	if err := m.check(name); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid default name", fmt.Sprintf(
			"%s: %v. This default name is built from cluster_name. To use another name, set %s.", req.Path, err, req.Path))
		return
	}
	resp.PlanValue = types.StringValue(name)
}

// objectNameAttribute names a Kubernetes object. Another name needs another
// object.
func objectNameAttribute(kind string) schema.StringAttribute {
	return schema.StringAttribute{
		Required: true, MarkdownDescription: "Name of the " + kind + ".",
		PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
		Validators:    []validator.String{validate.ObjectName()},
	}
}
