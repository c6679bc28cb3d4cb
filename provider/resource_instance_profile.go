package provider

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
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

// instanceProfileTimeout covers IAM's eventual consistency with room to spare.
const instanceProfileTimeout = 5 * time.Minute

type instanceProfile struct {
	frame[instanceProfileModel, *aws.Clients]
}

type instanceProfileModel struct {
	Name     types.String `tfsdk:"name"`
	Path     types.String `tfsdk:"path"`
	Role     types.String `tfsdk:"role"`
	ARN      types.String `tfsdk:"arn"`
	UniqueID types.String `tfsdk:"unique_id"`
	tagsModel
	limitsModel
}

func newInstanceProfile() resource.Resource {
	r := &instanceProfile{}
	r.frame = onAWS(base{kind: "instance_profile", keys: []string{"name"}}, times{instanceProfileTimeout, instanceProfileTimeout, instanceProfileTimeout}, r)
	return r
}

// Schema describes the instance profile.
func (r *instanceProfile) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The IAM instance profile through which launched instances get the node role.",
		Attributes: map[string]schema.Attribute{
			"name": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the instance profile.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:          []validator.String{validate.Is(awsspec.CheckInstanceProfileName)},
			},
			"path": iamPathAttribute("instance profile"),
			"role": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the role, `karpenter_node_role.<name>.name`.",
				Validators:          []validator.String{validate.Is(awsspec.CheckRoleName)},
			},
			"arn":       computedString("ARN of the instance profile."),
			"unique_id": computedString("Unique id of the instance profile, such as `AIPA...`."),
			"tags":      tagsAttribute(),
			"tags_all":  tagsAllAttribute(),
			"timeouts":  r.timeoutsAttribute(ctx),
		},
	}
}

// ModifyPlan computes tags_all.
func (r *instanceProfile) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if !req.Plan.Raw.IsNull() && r.session != nil {
		r.planTags(ctx, resp)
		r.planRegion(ctx, &resp.Diagnostics)
	}
}

func (m instanceProfileModel) ids() []string { return []string{m.Name.ValueString()} }

func (m instanceProfileModel) wanted() aws.InstanceProfile {
	return aws.InstanceProfile{Name: m.Name.ValueString(), Path: m.Path.ValueString(), Role: m.Role.ValueString(), Tags: stringMap(m.TagsAll)}
}

// madeProfile is the key of the profile in made. Its identity is the
// InstanceProfileId.
const madeProfile = "profile"

// create makes the profile with its role.
func (r *instanceProfile) create(ctx context.Context, j job[*aws.Clients], plan *instanceProfileModel) error {
	profile, err := j.client.CreateInstanceProfile(ctx, plan.wanted())
	profile, err = aws.Finish(profile, err, func() (aws.InstanceProfile, error) { return j.client.FinishInstanceProfile(ctx, plan.wanted()) },
		func(p aws.InstanceProfile) {
			j.own.takeUp(madeProfile, p.ID, fmt.Sprintf("instance profile %q", p.Name))
		})
	if profile.ID != "" {
		plan.ARN, plan.UniqueID, j.own[madeProfile] = types.StringValue(profile.ARN), types.StringValue(profile.ID), profile.ID
	}
	return err
}

// read refreshes role, path and tags. If another profile has the name, ours is gone.
func (r *instanceProfile) read(ctx context.Context, j job[*aws.Clients], state *instanceProfileModel) (bool, error) {
	found, err := j.client.GetInstanceProfile(ctx, state.Name.ValueString())
	if err == nil && !j.recorded {
		j.own[madeProfile] = found.ID
	}
	switch {
	case errors.Is(err, aws.ErrNotFound), err == nil && !j.own.is(madeProfile, found.ID):
		return false, nil
	case err != nil:
		return true, err
	}
	state.ARN, state.UniqueID = types.StringValue(found.ARN), types.StringValue(found.ID)
	state.Path, state.Role = types.StringValue(found.Path), types.StringValue(found.Role)
	state.tagsModel = r.readTags(state.tagsModel, found.Tags)
	return true, nil
}

// update changes role and tags in place.
func (r *instanceProfile) update(ctx context.Context, j job[*aws.Clients], plan *instanceProfileModel, prior instanceProfileModel) error {
	want := plan.wanted()
	var err error
	if want.ID, err = j.own.identity(madeProfile); err != nil {
		return err
	}
	_, err = j.client.UpdateInstanceProfile(ctx, prior.wanted(), want)
	return err
}

func (r *instanceProfile) remove(ctx context.Context, j job[*aws.Clients], state instanceProfileModel) error {
	return j.client.DeleteInstanceProfile(ctx, state.Name.ValueString(), j.own[madeProfile])
}
