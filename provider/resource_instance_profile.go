package provider

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
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

type instanceProfile struct{ base }

type instanceProfileModel struct {
	Name types.String `tfsdk:"name"`
	Path types.String `tfsdk:"path"`
	Role types.String `tfsdk:"role"`
	ARN  types.String `tfsdk:"arn"`
	tagsModel
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

func newInstanceProfile() resource.Resource {
	return &instanceProfile{base{kind: "instance_profile", keys: []string{"name"}}}
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
			"arn":      computedString("ARN of the instance profile."),
			"tags":     tagsAttribute(),
			"tags_all": tagsAllAttribute(),
			"timeouts": timeoutsAttribute(ctx, instanceProfileTimeout, instanceProfileTimeout, instanceProfileTimeout),
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

func (m instanceProfileModel) remove(ctx context.Context, client *aws.Clients, own made) error {
	return client.DeleteInstanceProfile(ctx, m.Name.ValueString(), own[madeProfile])
}

// Create makes the profile. If the role cannot be added, Create removes the profile.
func (r *instanceProfile) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan, ok := get[instanceProfileModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Create, instanceProfileTimeout)
	defer cancel()
	client, err := r.session.AWS(ctx)
	if err != nil {
		r.fail(&resp.Diagnostics, verbCreate, plan, err)
		return
	}
	own := made{}
	save := func() {
		own.write(ctx, resp.Private, &resp.Diagnostics)
		r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
	}
	profile, err := client.CreateInstanceProfile(ctx, plan.wanted())
	if profile.ID != "" {
		plan.ARN, own[madeProfile] = types.StringValue(profile.ARN), profile.ID
	}
	if err != nil {
		r.fail(&resp.Diagnostics, verbCreate, plan, err)
		r.undo(ctx, &resp.Diagnostics, plan, own, func(ctx context.Context) error { return plan.remove(ctx, client.JustMade(), own) }, save)
		return
	}
	save()
}

// Read refreshes role, path and tags. If another profile has the name, ours is
// gone.
func (r *instanceProfile) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state, ok := get[instanceProfileModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	client, err := r.session.AWS(ctx)
	if err != nil {
		r.unread(ctx, resp, state, err)
		return
	}
	own, recorded := readMade(ctx, req.Private, &resp.Diagnostics)
	found, err := client.GetInstanceProfile(ctx, state.Name.ValueString())
	if err == nil && !recorded {
		own[madeProfile] = found.ID
	}
	switch {
	case errors.Is(err, aws.ErrNotFound), err == nil && !own.is(madeProfile, found.ID):
		r.forget(ctx, resp, state)
		return
	case err != nil:
		r.fail(&resp.Diagnostics, verbRead, state, err)
		return
	}
	state.ARN, state.Path, state.Role = types.StringValue(found.ARN), types.StringValue(found.Path), types.StringValue(found.Role)
	state.tagsModel = r.readTags(state.tagsModel, found.Tags)
	own.write(ctx, resp.Private, &resp.Diagnostics)
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, state)
}

// Update changes role and tags in place.
func (r *instanceProfile) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, prior, ok := planAndState[instanceProfileModel](ctx, req, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Update, instanceProfileTimeout)
	defer cancel()
	client, own, err := r.mine(ctx, req.Private, &resp.Diagnostics)
	if err == nil {
		want := plan.wanted()
		if want.ID, err = own.identity(madeProfile); err == nil {
			_, err = client.UpdateInstanceProfile(ctx, prior.wanted(), want)
		}
	}
	if err != nil {
		r.fail(&resp.Diagnostics, verbUpdate, plan, err)
		return
	}
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
}

// Delete removes the profile.
func (r *instanceProfile) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state, ok := get[instanceProfileModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, state.Timeouts.Delete, instanceProfileTimeout)
	defer cancel()
	client, own, err := r.mine(ctx, req.Private, &resp.Diagnostics)
	if err == nil {
		err = state.remove(ctx, client, own)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, verbDelete, state, err)
	}
}
