package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
	ref := nodeClassRef(state.Name.ValueString())
	if _, has := j.own[ref.Key()]; !has {
		return nil
	}
	if err := j.client.awaitUnreferenced(ctx, ref.Name); err != nil {
		return err
	}
	j.spare()
	return j.client.deleteObject(ctx, ref, j.own)
}

// takeBack removes the class that a failed creation has made, also if node pools wait
// for it.
func (r *nodeClass) takeBack(ctx context.Context, j job[*cluster], plan nodeClassModel) error {
	return j.client.deleteObject(ctx, nodeClassRef(plan.Name.ValueString()), j.own)
}

// awaitUnreferenced returns when no NodePool refers to the class, but those that are being
// deleted. The deletion of a class cannot be undone: the class is no longer ready, and its
// pools launch nothing. ErrReferenced.
func (c *cluster) awaitUnreferenced(ctx context.Context, class string) error {
	var by []string
	within, cancel := context.WithTimeout(ctx, releasedWithin)
	defer cancel()
	err := kube.Polling{Every: time.Second, DeniedWithin: c.DeniedWithin}.Until(within, func(context.Context) (bool, error) {
		// The outer context: the client refuses a request that its rate limit would delay past the end.
		names, err := c.poolsOf(ctx, class)
		if err != nil {
			return false, err
		}
		by = names
		return len(by) == 0, nil
	})
	if len(by) > 0 && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("EC2NodeClass %q %w NodePool %s", class, ErrReferenced, strings.Join(quoted(by), ", "))
	}
	return err
}

// poolsOf names the NodePools that refer to the class, but those that are being deleted.
func (c *cluster) poolsOf(ctx context.Context, class string) (names []string, err error) {
	pools, err := c.List(ctx, nodePoolRef("").GroupVersionKind, "", "")
	if err != nil && !errors.Is(err, kube.ErrKindNotServed) {
		return nil, err
	}
	for _, pool := range pools {
		name, _, _ := unstructured.NestedString(pool.Object, "spec", "template", "spec", "nodeClassRef", "name")
		if name == class && pool.GetDeletionTimestamp() == nil {
			names = append(names, pool.GetName())
		}
	}
	return names, nil
}

// warnReplaced warns if the plan replaces a class to which node pools refer. A plan does not know
// whether the new one is created first, nor what becomes of the node pools: only the deletion can
// refuse.
func (r *nodeClass) warnReplaced(ctx context.Context, own made, plan nodeClassModel, diags *diag.Diagnostics) {
	ctx, cancel := context.WithTimeout(ctx, planCheckTimeout)
	defer cancel()
	c, err := clusterOf(ctx, &r.base, own)
	if err != nil {
		return // a plan must also work if the cluster cannot be asked: the deletion asks again
	}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		ref, isObject := kube.ParseKey(key)
		if !isObject || ref.Kind != awsv1.EC2NodeClassKind {
			continue
		}
		if by, err := c.poolsOf(ctx, ref.Name); err == nil && len(by) > 0 {
			diags.AddWarning("karpenter_node_class is in use", fmt.Sprintf("karpenter_node_class %q: the plan replaces EC2NodeClass %q, to which node pools refer: NodePool %s.\n\n"+
				"A node class that node pools refer to is not deleted. Without create_before_destroy and another name, the apply ends with an error, and nothing of the node class is changed. "+
				"To replace the node class, give it another name and lifecycle { create_before_destroy = true }: the new one is created, the node pools get it, their nodes are replaced, and the old one goes.",
				importID(plan), ref.Name, strings.Join(quoted(by), ", ")))
		}
	}
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
	if err == nil {
		err = state.foundMetadata(live)
	}
	if err != nil {
		return true, err
	}
	state.NodeClass = convert.NodeClassOf(ctx, spec, state.NodeClass, j.diags)
	state.tagsModel = r.specTags(state.tagsModel, spec.Tags)
	state.refresh(isReady(live))
	warnGoing(&r.base, j.diags, state, live, "While it goes, its node pools launch no nodes, and updates are refused. When it is gone, the next plan creates it anew.")
	if j.recorded {
		return true, nil
	}
	imported := state.Spec(ctx, state.TagsAll, j.diags)
	known, err := manifest(ref, declared{spec: &imported}, nil)
	if err != nil {
		return true, err
	}
	return true, keepFields(&r.base, j.own, known, live, importID(state), j.diags)
}

// put creates or updates the class with declare, and notes in own what is made.
func (r *nodeClass) put(ctx context.Context, plan nodeClassModel, c *cluster, own made, declare func(*cluster, context.Context, kube.Ref, declared, made) error) error {
	var diags diag.Diagnostics
	spec := plan.Spec(ctx, plan.TagsAll, &diags)
	if diags.HasError() {
		return fmt.Errorf("%s: %s", diags[0].Summary(), diags[0].Detail())
	}
	return declare(c, ctx, nodeClassRef(plan.Name.ValueString()), plan.with(&spec), own)
}

// specTags are the tags of a spec. The whole spec is ours, so a tag that somebody
// added shows as a difference.
func (r *nodeClass) specTags(prior tagsModel, found map[string]string) tagsModel {
	if prior.TagsAll.IsNull() {
		return r.readTags(prior, found)
	}
	found = r.session.ignoreTags.without(found)
	return tagsModel{Tags: onlyKeysOf(prior.Tags, found), TagsAll: mapValue(found)}
}
