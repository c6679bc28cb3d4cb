package nodeclass

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// Make waits for the definition and creates the class.
func (r *nodeClass) Make(ctx context.Context, j managed.Job[*classCluster], plan *nodeClassModel) error {
	return r.put(ctx, *plan, j.Own, j.Client.CreateObject)
}

func (r *nodeClass) Change(ctx context.Context, j managed.Job[*classCluster], plan *nodeClassModel, _ nodeClassModel) error {
	return r.put(ctx, *plan, j.Own, j.Client.DeclareObject)
}

func (r *nodeClass) AwaitReady(ctx context.Context, c *classCluster, m nodeClassModel) error {
	return c.WaitReady(ctx, kubeobject.NodeClassRef(m.Name.ValueString()))
}

// Remove removes the class and waits until the daemon has removed its finalizer.
func (r *nodeClass) Remove(ctx context.Context, j managed.Job[*classCluster], state nodeClassModel) error {
	ref := kubeobject.NodeClassRef(state.Name.ValueString())
	if _, has := j.Own[ref.Key()]; !has {
		return nil
	}
	if err := j.Client.awaitUnreferenced(ctx, ref.Name); err != nil {
		return err
	}
	j.Spare()
	return j.Client.DeleteObject(ctx, ref, j.Own)
}

// TakeBack removes the class that a failed creation has made, also if node pools wait
// for it.
func (r *nodeClass) TakeBack(ctx context.Context, j managed.Job[*classCluster], plan nodeClassModel) error {
	return j.Client.DeleteObject(ctx, kubeobject.NodeClassRef(plan.Name.ValueString()), j.Own)
}

// awaitUnreferenced returns when no NodePool refers to the class, but those that are being
// deleted. The deletion of a class cannot be undone: the class is no longer ready, and its
// pools launch nothing. ErrReferenced.
func (c *classCluster) awaitUnreferenced(ctx context.Context, class string) error {
	var by []string
	within, cancel := context.WithTimeout(ctx, managed.ReleasedWithin)
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
		return fmt.Errorf("EC2NodeClass %q %w NodePool %s", class, failure.ErrReferenced, strings.Join(kubeobject.Quoted(by), ", "))
	}
	return err
}

// poolsOf names the NodePools that refer to the class, but those that are being deleted.
func (c *classCluster) poolsOf(ctx context.Context, class string) (names []string, err error) {
	pools, err := c.List(ctx, kubeobject.NodePoolRef("").GroupVersionKind, "", "")
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
func (r *nodeClass) warnReplaced(ctx context.Context, own ownership.Record, plan nodeClassModel, diags *diag.Diagnostics) {
	ctx, cancel := context.WithTimeout(ctx, managed.PlanCheckTimeout)
	defer cancel()
	c, err := kubeobject.Of(ctx, &r.Base, own)
	if err != nil {
		return // a plan must also work if the cluster cannot be asked: the deletion asks again
	}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		ref, isObject := kube.ParseKey(key)
		if !isObject || ref.Kind != awsv1.EC2NodeClassKind {
			continue
		}
		if by, err := (&classCluster{c}).poolsOf(ctx, ref.Name); err == nil && len(by) > 0 {
			diags.AddWarning("karpenter_node_class is in use", fmt.Sprintf("karpenter_node_class %q: the plan replaces EC2NodeClass %q, to which node pools refer: NodePool %s.\n\n"+
				"A node class that node pools refer to is not deleted. Without create_before_destroy and another name, the apply ends with an error, and nothing of the node class is changed. "+
				"To replace the node class, give it another name and lifecycle { create_before_destroy = true }: the new one is created, the node pools get it, their nodes are replaced, and the old one is deleted.",
				managed.ImportID(plan), ref.Name, strings.Join(kubeobject.Quoted(by), ", ")))
		}
	}
}

// Observe refreshes the whole spec. If another class has the name, ours is gone.
func (r *nodeClass) Observe(ctx context.Context, j managed.Job[*classCluster], state *nodeClassModel) (bool, error) {
	ref := kubeobject.NodeClassRef(state.Name.ValueString())
	live, err := j.Client.Get(ctx, ref)
	if err == nil && !j.Recorded {
		j.Own[ref.Key()] = string(live.GetUID())
	}
	if errors.Is(err, kube.ErrNotFound) || err == nil && !j.Own.Is(ref.Key(), string(live.GetUID())) {
		return false, nil
	}
	var spec awsv1.EC2NodeClassSpec
	if err == nil {
		err = kubeobject.SpecInto(live, &spec)
	}
	if err == nil {
		err = state.FoundMetadata(live)
	}
	if err != nil {
		return true, err
	}
	state.NodeClass = convert.NodeClassOf(ctx, spec, state.NodeClass, j.Diags)
	state.TagsModel = r.specTags(state.TagsModel, spec.Tags)
	state.Refresh(kubeobject.IsReady(live))
	kubeobject.WarnGoing(&r.Base, j.Diags, state, live, "Until it is deleted, its node pools launch no nodes, and updates are refused. Then the next plan creates it anew.")
	if j.Recorded {
		return true, nil
	}
	imported := state.Spec(state.TagsAll, j.Diags)
	known, err := kubeobject.Manifest(ref, kubeobject.Declared{Spec: &imported}, nil)
	if err != nil {
		return true, err
	}
	return true, kubeobject.KeepFields(&r.Base, j.Own, known, live, managed.ImportID(state), j.Diags)
}

// put creates or updates the class with declare, and notes in own what is made.
func (r *nodeClass) put(ctx context.Context, plan nodeClassModel, own ownership.Record, declare func(context.Context, kube.Ref, kubeobject.Declared, ownership.Record) error) error {
	var diags diag.Diagnostics
	spec := plan.Spec(plan.TagsAll, &diags)
	if diags.HasError() {
		return fmt.Errorf("%s: %s", diags[0].Summary(), diags[0].Detail())
	}
	return declare(ctx, kubeobject.NodeClassRef(plan.Name.ValueString()), plan.With(&spec), own)
}

// specTags are the tags of a spec. The whole spec is ours, so a tag that somebody
// added shows as a difference.
func (r *nodeClass) specTags(prior managed.TagsModel, found map[string]string) managed.TagsModel {
	if prior.TagsAll.IsNull() {
		return r.ReadTags(prior, found)
	}
	found = r.Session.IgnoreTags.Without(found)
	return managed.TagsModel{Tags: fwvalue.OnlyKeysOf(prior.Tags, found), TagsAll: fwvalue.MapValue(found)}
}

// MoveState accepts kubectl_manifest and kubernetes_manifest of an EC2NodeClass.
func (r *nodeClass) MoveState(context.Context) []resource.StateMover {
	return kubeobject.Movers(&r.Base)
}
