package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
)

// create waits for the definition and creates the class.
func (r *nodeClass) create(ctx context.Context, j job[*cluster], plan *nodeClassModel) error {
	return r.put(ctx, *plan, j.client, j.own, (*cluster).createObject)
}

func (r *nodeClass) update(ctx context.Context, j job[*cluster], plan *nodeClassModel, _ nodeClassModel) error {
	return r.put(ctx, *plan, j.client, j.own, (*cluster).declareObject)
}

func (r *nodeClass) awaitReady(ctx context.Context, c *cluster, m nodeClassModel) error {
	return c.waitReady(ctx, nodeClassRef(m.Name.ValueString()))
}

// remove removes the class and waits until the daemon has removed its finalizer.
func (r *nodeClass) remove(ctx context.Context, j job[*cluster], state nodeClassModel) error {
	return j.client.deleteObject(ctx, nodeClassRef(state.Name.ValueString()), j.own)
}

// read refreshes the whole spec. If another class has the name, ours is gone.
func (r *nodeClass) read(ctx context.Context, j job[*cluster], state *nodeClassModel) (bool, error) {
	ref := nodeClassRef(state.Name.ValueString())
	live, err := j.client.Get(ctx, ref)
	if err == nil && !j.recorded {
		j.own[ref.Key()] = string(live.GetUID())
	}
	if errors.Is(err, kube.ErrNotFound) || err == nil && !j.own.is(ref.Key(), string(live.GetUID())) {
		return false, nil
	}
	var spec awsv1.EC2NodeClassSpec
	if err == nil {
		err = specInto(live, &spec)
	}
	if err != nil {
		return true, err
	}
	state.NodeClass = convert.NodeClassOf(ctx, spec, state.NodeClass, j.diags)
	state.tagsModel = r.specTags(state.tagsModel, spec.Tags)
	state.refresh(isReady(live))
	return true, nil
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

// specTags are the tags of a spec. The whole spec is ours, so a tag that somebody
// added shows as a difference.
func (r *nodeClass) specTags(prior tagsModel, found map[string]string) tagsModel {
	if prior.TagsAll.IsNull() {
		return r.readTags(prior, found)
	}
	return tagsModel{Tags: onlyKeysOf(prior.Tags, found), TagsAll: mapValue(found)}
}
