package spotrole

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/iamrole"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// spotRole is the service-linked role of EC2 Spot. An account has it once, for all clusters
// and regions, so the resource adopts a role that is there, and keeps it at the destruction.
type spotRole struct {
	managed.Frame[spotRoleModel, *aws.Clients]
}

type spotRoleModel struct {
	Name            types.String `tfsdk:"name"`
	DeleteOnDestroy types.Bool   `tfsdk:"delete_on_destroy"`
	ARN             types.String `tfsdk:"arn"`
	UniqueID        types.String `tfsdk:"unique_id"`
	Adopted         types.Bool   `tfsdk:"adopted"`
	managed.LimitsModel
}

func (m spotRoleModel) IDs() []string { return []string{awsspec.SpotRoleName} }

// New is the resource, before its session is known.
func New() resource.Resource {
	r := &spotRole{}
	r.Frame = managed.OnAWS(managed.Base{Kind: "spot_service_linked_role", Keys: []string{"name"}}, managed.Times{Create: iamrole.Timeout, Update: iamrole.Timeout, Delete: iamrole.Timeout}, r)
	return r
}

// Schema describes the service-linked role.
func (r *spotRole) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The service-linked role of EC2 Spot, `" + awsspec.SpotRoleName + "`. An account needs it before it launches its first spot instance, and has it once, for all clusters and regions. " +
			"If the role exists already, the resource adopts it and never deletes it. A role that the resource created stays at the destruction, too, unless `delete_on_destroy` is set.",
		Attributes: map[string]schema.Attribute{
			"name": managed.ComputedString("Name of the role, which AWS gives: `" + awsspec.SpotRoleName + "`."),
			"delete_on_destroy": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(false),
				MarkdownDescription: "Whether the destruction deletes the role, if this resource created or imported it. Default `false`, as other clusters of the account may need the role. AWS refuses while there are spot instances.",
			},
			"arn":       schema.StringAttribute{Computed: true, MarkdownDescription: "ARN of the role."},
			"unique_id": schema.StringAttribute{Computed: true, MarkdownDescription: "Unique id of the role, such as `AROA...`."},
			"adopted":   schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether the role was there before this resource."},
			"timeouts":  r.TimeoutsAttribute(ctx),
		},
	}
}

// ModifyPlan plans the role's name, and keeps the rest: the role does not change.
func (r *spotRole) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	set := func(name string, value any) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), value)...)
	}
	set("name", awsspec.SpotRoleName)
	if req.State.Raw.IsNull() {
		return
	}
	if prior, ok := managed.Get[spotRoleModel](ctx, req.State, &resp.Diagnostics); ok {
		set("arn", prior.ARN)
		set("unique_id", prior.UniqueID)
		set("adopted", prior.Adopted)
	}
}

// adoptedRole is the key in the record of a role that was there before. It is never deleted.
const adoptedRole = "adopted role"

func (m *spotRoleModel) set(role aws.Role, adopted bool) {
	m.Name, m.ARN, m.UniqueID, m.Adopted = types.StringValue(awsspec.SpotRoleName), types.StringValue(role.ARN), types.StringValue(role.ID), types.BoolValue(adopted)
}

// Make makes the role, or notes one that is there.
func (r *spotRole) Make(ctx context.Context, j managed.Job[*aws.Clients], plan *spotRoleModel) error {
	role, err := j.Client.CreateServiceLinkedRole(ctx, awsspec.SpotService, awsspec.SpotRoleName)
	adopted := errors.Is(err, aws.ErrConflict)
	if adopted {
		role, err = j.Client.GetServiceLinkedRole(ctx, awsspec.SpotService, awsspec.SpotRoleName)
	}
	if err != nil {
		if role.ID != "" && !adopted { // made all the same: the undo deletes it
			j.Own[ownership.KeyRole] = role.ID
		}
		return err
	}
	key := ownership.KeyRole
	if adopted {
		key = adoptedRole
	}
	j.Own[key] = role.ID
	plan.set(role, adopted)
	return nil
}

// Observe looks whether the role is there. A role that was deleted and created again by
// somebody else serves as well: it is adopted.
func (r *spotRole) Observe(ctx context.Context, j managed.Job[*aws.Clients], state *spotRoleModel) (bool, error) {
	if name := state.Name.ValueString(); name != awsspec.SpotRoleName {
		return true, fmt.Errorf("service-linked role %q: the only role of EC2 Spot is %s: import that name", name, awsspec.SpotRoleName)
	}
	role, err := j.Client.GetServiceLinkedRole(ctx, awsspec.SpotService, awsspec.SpotRoleName)
	if errors.Is(err, aws.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	if !j.Recorded {
		j.Own[ownership.KeyRole] = role.ID
	}
	if !j.Own.Is(ownership.KeyRole, role.ID) {
		delete(j.Own, ownership.KeyRole)
		j.Own[adoptedRole] = role.ID
	}
	if state.DeleteOnDestroy.IsNull() {
		state.DeleteOnDestroy = types.BoolValue(false)
	}
	state.set(role, j.Own[ownership.KeyRole] == "")
	return true, nil
}

// Change has nothing to do in AWS: delete_on_destroy is for the destruction.
func (r *spotRole) Change(context.Context, managed.Job[*aws.Clients], *spotRoleModel, spotRoleModel) error {
	return nil
}

// Remove deletes the role if that is asked for, and only if it was made or imported.
func (r *spotRole) Remove(ctx context.Context, j managed.Job[*aws.Clients], state spotRoleModel) error {
	id := j.Own[ownership.KeyRole]
	if id == "" && j.Own[adoptedRole] != "" && state.DeleteOnDestroy.ValueBool() {
		j.Diags.AddWarning("The service-linked role was not deleted", fmt.Sprintf(
			"karpenter_%s %q: the role was there before this resource, which deletes only a role that it created or imported. If no cluster of the account needs spot instances, delete it (aws iam delete-service-linked-role).", r.Kind, managed.ImportID(state)))
	}
	if id == "" || !state.DeleteOnDestroy.ValueBool() {
		return nil
	}
	return j.Client.DeleteServiceLinkedRole(ctx, awsspec.SpotService, awsspec.SpotRoleName, id)
}

// TakeBack deletes the role that a failed creation made, whatever is asked for the
// destruction.
func (r *spotRole) TakeBack(ctx context.Context, j managed.Job[*aws.Clients], plan spotRoleModel) error {
	plan.DeleteOnDestroy = types.BoolValue(true)
	return r.Remove(ctx, j, plan)
}
