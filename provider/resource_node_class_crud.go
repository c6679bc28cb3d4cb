package provider

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
)

// Create declares the class, once its definition is there, and waits for it.
func (r *nodeClass) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan, ok := get[nodeClassModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Create, nodeClassTimeout)
	defer cancel()
	r.put(ctx, plan, (*cluster).createObject, "create", &resp.State, resp.Identity, &resp.Diagnostics)
}

// Update declares the class as planned and waits for it.
func (r *nodeClass) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, ok := get[nodeClassModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Update, nodeClassTimeout)
	defer cancel()
	r.put(ctx, plan, (*cluster).declareObject, "update", &resp.State, resp.Identity, &resp.Diagnostics)
}

// put declares the class and saves it before it waits.
func (r *nodeClass) put(ctx context.Context, plan nodeClassModel, declare func(*cluster, context.Context, kube.Ref, any) error,
	verb string, state *tfsdk.State, identity *tfsdk.ResourceIdentity, diags *diag.Diagnostics,
) {
	ref := nodeClassRef(plan.Name.ValueString())
	spec := plan.Spec(ctx, plan.TagsAll, diags)
	c, err := r.session.Cluster(ctx)
	if err == nil {
		err = declare(c, ctx, ref, &spec)
	}
	if err != nil {
		r.fail(diags, verb, plan, err)
		return
	}
	r.save(ctx, state, identity, diags, plan)
	if plan.Wait.ValueBool() {
		if err := c.waitReady(ctx, ref); err != nil {
			r.fail(diags, verb, plan, err)
		}
	}
}

// Read refreshes the whole spec.
func (r *nodeClass) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state, ok := get[nodeClassModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	c, err := r.session.Cluster(ctx)
	if err != nil {
		if !r.keepState(&resp.Diagnostics, err) {
			r.fail(&resp.Diagnostics, "read", state, err)
		}
		return
	}
	live, err := c.Get(ctx, nodeClassRef(state.Name.ValueString()))
	if errors.Is(err, kube.ErrNotFound) {
		resp.State.RemoveResource(ctx)
		return
	}
	var spec awsv1.EC2NodeClassSpec
	if err == nil {
		err = specInto(live, &spec)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "read", state, err)
		return
	}
	state.NodeClass = convert.NodeClassOf(ctx, spec, state.NodeClass, &resp.Diagnostics)
	state.tagsModel = r.specTags(state.tagsModel, spec.Tags)
	if state.Wait.IsNull() { // imported
		state.Wait = types.BoolValue(true)
	}
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, state)
}

// specTags are the tags of a spec, which is ours as a whole: a tag that somebody
// added shows as a difference.
func (r *nodeClass) specTags(prior tagsModel, found map[string]string) tagsModel {
	if prior.TagsAll.IsNull() {
		return r.readTags(prior, found)
	}
	return tagsModel{Tags: onlyKeysOf(prior.Tags, found), TagsAll: mapValue(found)}
}

// Delete removes the class and waits until the daemon has let go of it.
func (r *nodeClass) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state, ok := get[nodeClassModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, state.Timeouts.Delete, nodeClassDeleteTimeout)
	defer cancel()
	ref := nodeClassRef(state.Name.ValueString())
	c, err := r.session.Cluster(ctx)
	if err == nil {
		err = c.Delete(ctx, ref, "")
	}
	if err == nil {
		err = c.WaitGone(ctx, ref, "", nil)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "delete", state, err)
	}
}
