package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
)

// Create waits for the definition, creates the class and waits until it is ready.
func (r *nodeClass) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan, ok := get[nodeClassModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Create, nodeClassTimeout)
	defer cancel()
	own := made{}
	c, err := r.clusterOf(ctx, own)
	if err == nil {
		err = r.put(ctx, plan, c, own, (*cluster).createObject)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, verbCreate, plan, err)
		r.undo(ctx, &resp.Diagnostics, plan, own, func(ctx context.Context) error {
			return c.deleteObject(ctx, nodeClassRef(plan.Name.ValueString()), own)
		}, func() {
			own.write(ctx, resp.Private, &resp.Diagnostics)
			plan.Ready = waitingReady(plan.Wait)
			r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
		})
		return
	}
	own.write(ctx, resp.Private, &resp.Diagnostics)
	r.settle(ctx, plan, c, verbCreate, &resp.State, resp.Identity, &resp.Diagnostics)
}

// Update changes the class as planned and waits until it is ready.
func (r *nodeClass) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, ok := get[nodeClassModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Update, nodeClassTimeout)
	defer cancel()
	c, own, err := r.myCluster(ctx, req.Private, &resp.Diagnostics)
	if err == nil {
		err = r.put(ctx, plan, c, own, (*cluster).declareObject)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, verbUpdate, plan, err)
		return
	}
	r.settle(ctx, plan, c, verbUpdate, &resp.State, resp.Identity, &resp.Diagnostics)
}

// put creates or updates the class with declare, and notes in own what is made.
func (r *nodeClass) put(ctx context.Context, plan nodeClassModel, c *cluster, own made, declare func(*cluster, context.Context, kube.Ref, any, made) error) error {
	var diags diag.Diagnostics
	spec := plan.Spec(ctx, plan.TagsAll, &diags)
	if diags.HasError() {
		return fmt.Errorf("%s: %s", diags[0].Summary(), diags[0].Detail())
	}
	return declare(c, ctx, nodeClassRef(plan.Name.ValueString()), &spec, own)
}

// settle saves the declared class before the wait until it is ready, and again after
// the wait.
func (r *nodeClass) settle(ctx context.Context, plan nodeClassModel, c *cluster, verb string,
	state *tfsdk.State, identity *tfsdk.ResourceIdentity, diags *diag.Diagnostics,
) {
	plan.Ready = waitingReady(plan.Wait)
	r.save(ctx, state, identity, diags, plan)
	if !plan.Wait.ValueBool() {
		return
	}
	if err := c.waitReady(ctx, nodeClassRef(plan.Name.ValueString())); err != nil {
		r.notReady(diags, verb, plan, err)
		return
	}
	plan.Ready = types.BoolValue(true)
	r.save(ctx, state, identity, diags, plan)
}

// Read refreshes the whole spec. If another class has the name, ours is gone.
func (r *nodeClass) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state, ok := get[nodeClassModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	own, recorded := readMade(ctx, req.Private, &resp.Diagnostics)
	c, err := r.clusterOf(ctx, own)
	if err != nil {
		r.unread(ctx, resp, state, err)
		return
	}
	ref := nodeClassRef(state.Name.ValueString())
	live, err := c.Get(ctx, ref)
	if err == nil && !recorded {
		own[ref.Key()] = string(live.GetUID())
	}
	if errors.Is(err, kube.ErrNotFound) || err == nil && !own.is(ref.Key(), string(live.GetUID())) {
		r.forget(ctx, resp, state)
		return
	}
	var spec awsv1.EC2NodeClassSpec
	if err == nil {
		err = specInto(live, &spec)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, verbRead, state, err)
		return
	}
	state.NodeClass = convert.NodeClassOf(ctx, spec, state.NodeClass, &resp.Diagnostics)
	state.tagsModel = r.specTags(state.tagsModel, spec.Tags)
	if state.Wait.IsNull() { // imported
		state.Wait = types.BoolValue(true)
	}
	state.Ready = refreshReady(state.Wait, state.Ready, isReady(live))
	own.write(ctx, resp.Private, &resp.Diagnostics)
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, state)
}

// specTags are the tags of a spec. The whole spec is ours, so a tag that somebody
// added shows as a difference.
func (r *nodeClass) specTags(prior tagsModel, found map[string]string) tagsModel {
	if prior.TagsAll.IsNull() {
		return r.readTags(prior, found)
	}
	return tagsModel{Tags: onlyKeysOf(prior.Tags, found), TagsAll: mapValue(found)}
}

// Delete removes the class and waits until the daemon has removed its finalizer.
func (r *nodeClass) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state, ok := get[nodeClassModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, state.Timeouts.Delete, nodeClassDeleteTimeout)
	defer cancel()
	ref := nodeClassRef(state.Name.ValueString())
	c, own, err := r.myCluster(ctx, req.Private, &resp.Diagnostics)
	if err == nil {
		err = c.deleteObject(ctx, ref, own)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, verbDelete, state, err)
	}
}
