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
	if !req.Plan.Raw.IsNull() {
		r.planTags(ctx, resp)
	}
}

func (m instanceProfileModel) ids() []string { return []string{m.Name.ValueString()} }

func (m instanceProfileModel) wanted() aws.InstanceProfile {
	return aws.InstanceProfile{Name: m.Name.ValueString(), Path: m.Path.ValueString(), Role: m.Role.ValueString(), Tags: stringMap(m.TagsAll)}
}

// Create makes the profile; one whose role could not be added is kept in state.
func (r *instanceProfile) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan, ok := get[instanceProfileModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Create, instanceProfileTimeout)
	defer cancel()
	client, err := r.session.AWS(ctx)
	if err != nil {
		r.fail(&resp.Diagnostics, "create", plan, err)
		return
	}
	made, err := client.CreateInstanceProfile(ctx, plan.wanted())
	if made.ARN != "" {
		plan.ARN = types.StringValue(made.ARN)
		r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "create", plan, err)
	}
}

// Read refreshes role, path and tags.
func (r *instanceProfile) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state, ok := get[instanceProfileModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	client, err := r.session.AWS(ctx)
	if err != nil {
		if !r.keepState(&resp.Diagnostics, err) {
			r.fail(&resp.Diagnostics, "read", state, err)
		}
		return
	}
	found, err := client.GetInstanceProfile(ctx, state.Name.ValueString())
	switch {
	case errors.Is(err, aws.ErrNotFound):
		resp.State.RemoveResource(ctx)
		return
	case err != nil:
		r.fail(&resp.Diagnostics, "read", state, err)
		return
	}
	state.ARN, state.Path, state.Role = types.StringValue(found.ARN), types.StringValue(found.Path), types.StringValue(found.Role)
	state.tagsModel = r.readTags(state.tagsModel, found.Tags)
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
	client, err := r.session.AWS(ctx)
	if err == nil {
		_, err = client.UpdateInstanceProfile(ctx, prior.wanted(), plan.wanted())
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "update", plan, err)
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
	client, err := r.session.AWS(ctx)
	if err == nil {
		err = client.DeleteInstanceProfile(ctx, state.Name.ValueString())
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "delete", state, err)
	}
}
