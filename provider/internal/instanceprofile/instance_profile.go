package instanceprofile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

// instanceProfileTimeout covers IAM's eventual consistency with room to spare.
const instanceProfileTimeout = 5 * time.Minute

type instanceProfile struct {
	managed.Frame[instanceProfileModel, *aws.Clients]
}

type instanceProfileModel struct {
	Name     types.String `tfsdk:"name"`
	Path     types.String `tfsdk:"path"`
	Role     types.String `tfsdk:"role"`
	ARN      types.String `tfsdk:"arn"`
	UniqueID types.String `tfsdk:"unique_id"`
	managed.TagsModel
	managed.LimitsModel
}

// New is the resource, before its session is known.
func New() resource.Resource {
	r := &instanceProfile{}
	r.Frame = managed.OnAWS(managed.Base{Kind: "instance_profile", Keys: []string{"name"}}, managed.Times{Create: instanceProfileTimeout, Update: instanceProfileTimeout, Delete: managed.InUseTimeout}, r)
	return r
}

// Schema describes the instance profile.
func (r *instanceProfile) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The IAM instance profile through which launched instances get the node role. It is deleted only when no instance has it: a destroy waits for that. " +
			"See the guide [Destroy without leftovers](../guides/destroy.md#what-waits-for-instances).",
		Attributes: map[string]schema.Attribute{
			"name": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the instance profile.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:          []validator.String{validate.Is(awsspec.CheckInstanceProfileName)},
			},
			"path": managed.IAMPathAttribute("instance profile"),
			"role": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the role, `karpenter_node_role.<name>.name`.",
				Validators:          []validator.String{validate.Is(awsspec.CheckRoleName)},
			},
			"arn":       managed.ComputedString("ARN of the instance profile."),
			"unique_id": managed.ComputedString("Unique id of the instance profile, such as `AIPA...`."),
			"tags":      managed.TagsAttribute(),
			"tags_all":  managed.TagsAllAttribute(),
			"timeouts":  r.TimeoutsAttribute(ctx),
		},
	}
}

// ModifyPlan computes tags_all, and warns of what the plan takes away from instances.
func (r *instanceProfile) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.Session == nil {
		return
	}
	ownership.PlanReplacement(ctx, req, resp)
	if !req.Plan.Raw.IsNull() {
		r.PlanTags(ctx, resp)
		r.PlanRegion(ctx, &resp.Diagnostics)
	}
	prior, ok := managed.PriorOf[instanceProfileModel](ctx, req, &resp.Diagnostics)
	if !ok {
		return
	}
	own, _ := ownership.Read(ctx, req.Private, &resp.Diagnostics)
	look := func(ctx context.Context, client *aws.Clients) (*managed.Need, error) {
		return prior.users(ctx, client, own)
	}
	does, way := managed.PlanDestroys, managed.DestroyWaits+" "+failure.ReplaceProfile
	if !req.Plan.Raw.IsNull() {
		plan, ok := managed.Get[instanceProfileModel](ctx, resp.Plan, &resp.Diagnostics)
		switch {
		case !ok:
			return
		case !prior.Name.Equal(plan.Name) || !prior.Path.Equal(plan.Path):
			does, way = managed.PlanReplaces, failure.ReplaceProfile
		case !prior.Role.Equal(plan.Role) && prior.Role.ValueString() != "":
			does, way = "gives it another role", anotherRole
		default:
			return
		}
	}
	r.WarnOfUse(ctx, prior, does, way, &resp.Diagnostics, look)
}

// anotherRole is what happens to instances whose instance profile gets another role. Source:
// IAM API reference, RemoveRoleFromInstanceProfile.
const anotherRole = "These instances keep credentials of the former role until EC2 hands out those of the new one, which may take hours, and the credentials end at once when the former role is deleted. " +
	"To lose nothing, give the instance profile another name, too, and lifecycle { create_before_destroy = true }: the node classes get the new instance profile, and their nodes are replaced."

func (m instanceProfileModel) IDs() []string { return []string{m.Name.ValueString()} }

func (m instanceProfileModel) wanted() aws.InstanceProfile {
	return aws.InstanceProfile{Name: m.Name.ValueString(), Path: m.Path.ValueString(), Role: m.Role.ValueString(), Tags: fwvalue.StringMap(m.TagsAll)}
}

// madeProfile is the key of the profile in the record. Its identity is the
// InstanceProfileId.
const madeProfile = "profile"

// Make makes the profile with its role.
func (r *instanceProfile) Make(ctx context.Context, j managed.Job[*aws.Clients], plan *instanceProfileModel) error {
	profile, err := j.Client.CreateInstanceProfile(ctx, plan.wanted())
	profile, err = aws.Finish(profile, err, func() (aws.InstanceProfile, error) { return j.Client.FinishInstanceProfile(ctx, plan.wanted()) },
		func(p aws.InstanceProfile) {
			j.Own.TakeUp(madeProfile, p.ID, fmt.Sprintf("instance profile %q", p.Name))
		})
	if profile.ID != "" {
		plan.ARN, plan.UniqueID, j.Own[madeProfile] = types.StringValue(profile.ARN), types.StringValue(profile.ID), profile.ID
	}
	return err
}

// Observe refreshes role, path and tags. If another profile has the name, ours is gone.
func (r *instanceProfile) Observe(ctx context.Context, j managed.Job[*aws.Clients], state *instanceProfileModel) (bool, error) {
	found, err := j.Client.GetInstanceProfile(ctx, state.Name.ValueString())
	if err == nil && !j.Recorded {
		j.Own[madeProfile] = found.ID
	}
	switch {
	case errors.Is(err, aws.ErrNotFound), err == nil && !j.Own.Is(madeProfile, found.ID):
		return false, nil
	case err != nil:
		return true, err
	}
	state.ARN, state.UniqueID = types.StringValue(found.ARN), types.StringValue(found.ID)
	state.Path, state.Role = types.StringValue(found.Path), types.StringValue(found.Role)
	state.TagsModel = r.ReadTags(state.TagsModel, found.Tags)
	return true, nil
}

// Change changes role and tags in place.
func (r *instanceProfile) Change(ctx context.Context, j managed.Job[*aws.Clients], plan *instanceProfileModel, prior instanceProfileModel) error {
	want := plan.wanted()
	var err error
	if want.ID, err = j.Own.Identity(madeProfile); err != nil {
		return err
	}
	_, err = j.Client.UpdateInstanceProfile(ctx, prior.wanted(), want)
	return err
}

// Remove waits until no instance has the profile.
func (r *instanceProfile) Remove(ctx context.Context, j managed.Job[*aws.Clients], state instanceProfileModel) error {
	err := managed.AwaitUnused(ctx, j, "instance profile "+state.Name.ValueString(), func(ctx context.Context, client *aws.Clients) (*managed.Need, error) {
		return state.users(ctx, client, j.Own)
	})
	if err != nil {
		return err
	}
	return r.TakeBack(ctx, j, state)
}

// TakeBack removes the profile at once.
func (r *instanceProfile) TakeBack(ctx context.Context, j managed.Job[*aws.Clients], state instanceProfileModel) error {
	return j.Client.DeleteInstanceProfile(ctx, state.Name.ValueString(), j.Own[madeProfile])
}

// users finds the instances that have the profile.
func (m instanceProfileModel) users(ctx context.Context, client *aws.Clients, own ownership.Record) (*managed.Need, error) {
	found, err := client.GetInstanceProfile(ctx, m.Name.ValueString())
	if errors.Is(err, aws.ErrNotFound) || err == nil && !own.Is(madeProfile, found.ID) {
		return nil, nil // it is gone
	}
	if err != nil {
		return nil, err
	}
	instances, err := client.InstancesWithProfile(ctx, found.ARN)
	if err != nil || len(instances) == 0 {
		return nil, err
	}
	why := aws.InstancesText(instances)
	return &managed.Need{Why: "instances have the instance profile (" + why + ")", Refuse: fmt.Errorf("%w (nothing was changed): %s", failure.ErrProfileInUse, why)}, nil
}
