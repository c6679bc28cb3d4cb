//go:build lab

package provider_test

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// standin is a provider for tests. It has one resource, standin_thing, which stands for
// whatever of AWS a module makes; the rules of what may come and go when are the ground's.
type standin struct{ ground ground }

// ground is where the things of a stand-in are.
type ground interface {
	// create makes a thing of the kind. It gives the thing a name, and the names of its parts.
	create(ctx context.Context, kind string) (name string, values []string, err error)
	destroy(ctx context.Context, kind string) error
}

// Metadata names the provider.
func (*standin) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "standin"
}

// Schema is empty: the stand-in needs no configuration.
func (*standin) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}

// Configure does nothing.
func (*standin) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}

// DataSources are none.
func (*standin) DataSources(context.Context) []func() datasource.DataSource { return nil }

// Resources are standin_thing.
func (p *standin) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return &thing{p.ground} }}
}

type thing struct{ ground ground }

// thingModel is a thing. What AWS would say about it is known after the creation.
type thingModel struct {
	Kind   types.String `tfsdk:"kind"`
	Of     types.List   `tfsdk:"of"` // what the thing refers to
	ID     types.String `tfsdk:"id"`
	Name   types.String `tfsdk:"name"`
	Values types.List   `tfsdk:"values"`
}

// Metadata names the resource.
func (*thing) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "standin_thing"
}

// Schema describes the thing. What it refers to sets the order and never changes.
func (*thing) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	replace := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"kind":   schema.StringAttribute{Required: true, PlanModifiers: replace},
		"of":     schema.ListAttribute{Optional: true, ElementType: types.StringType},
		"id":     schema.StringAttribute{Computed: true},
		"name":   schema.StringAttribute{Computed: true},
		"values": schema.ListAttribute{Computed: true, ElementType: types.StringType},
	}}
}

// Create makes the thing on the ground.
func (r *thing) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan thingModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	name, values, err := r.ground.create(ctx, plan.Kind.ValueString())
	if err != nil {
		resp.Diagnostics.AddError("The "+plan.Kind.ValueString()+" came too early", err.Error())
		return
	}
	list, diags := types.ListValueFrom(ctx, types.StringType, values)
	resp.Diagnostics.Append(diags...)
	plan.ID, plan.Name, plan.Values = types.StringValue("id of "+name), types.StringValue(name), list
	resp.Diagnostics.Append(resp.State.Set(ctx, plan)...)
}

// Read leaves the state as it is.
func (*thing) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

// Update refuses: no test changes a thing.
func (*thing) Update(_ context.Context, _ resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.Diagnostics.AddError("A stand-in was changed", fmt.Sprintf("What %T refers to has changed between two applies.", thing{}))
}

// Delete removes the thing from the ground.
func (r *thing) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state thingModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if err := r.ground.destroy(ctx, state.Kind.ValueString()); err != nil {
		resp.Diagnostics.AddError("The "+state.Kind.ValueString()+" went too early", err.Error())
	}
}
