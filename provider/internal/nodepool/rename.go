package nodepool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// A pool gets another name in one update: the pool of the new name is created and
// becomes ready, then the old pool is deleted and its nodes go. The private state has
// the UIDs of both pools until the old one is gone, and the state has ready = false. So
// the next apply goes on, with the new name or with the old one.
//
// An update that is killed saves no state. The new pool says in a label which pool it
// takes the place of, by UID. So a refresh finds the new pool, also when the old one is
// gone already.

// poolsBut gives the names of the pools in m but the given one, sorted.
func poolsBut(own ownership.Record, name string) []string {
	var names []string
	for key := range maps.Keys(own) {
		if ref, ok := kube.ParseKey(key); ok && ref.Kind == v1.NodePoolKind && ref.Name != name {
			names = append(names, ref.Name)
		}
	}
	slices.Sort(names)
	return names
}

func renamesProtected(plan, prior nodePoolModel) bool {
	return !plan.Name.Equal(prior.Name) && plan.DeletionProtection.ValueBool() && prior.DeletionProtection.ValueBool()
}

func protectedFromRename(from, to string) string {
	return fmt.Sprintf("karpenter_node_pool %q: deletion_protection is true, and the new name %q would delete NodePool %q with all its nodes. Nothing was changed.\n\n"+
		"Set deletion_protection = false together with the new name, or set name = %q.", from, to, from, from)
}

// refuseDelete says why the pool is not deleted, and what to do.
func (r *nodePool) refuseDelete(diags *diag.Diagnostics, state nodePoolModel) {
	diags.AddError("Cannot delete karpenter_node_pool", fmt.Sprintf(
		"karpenter_node_pool %q: deletion_protection is true. NodePool %q and its nodes were not changed.\n\n"+
			"To delete the node pool, set deletion_protection = false and run terraform apply, then destroy it. "+
			"A replacement destroys it, too: to keep it, leave out -replace, or run terraform untaint.", managed.ImportID(state), state.Name.ValueString()))
}

// Change declares the pool of the plan. If it has another name than before, Change
// creates it, or goes on with the pool that an earlier update has created.
func (r *nodePool) Change(ctx context.Context, j managed.Job[*poolCluster], model *nodePoolModel, prior nodePoolModel) error {
	plan, c, own := *model, j.Client, j.Own
	from, to := prior.Name.ValueString(), plan.Name.ValueString()
	if renamesProtected(plan, prior) {
		return failure.ErrProtected
	}
	if err := c.findSuccessors(ctx, from, own); err != nil {
		return err
	}
	if from == to {
		return r.put(ctx, plan, own, c.DeclareObject)
	}
	uid, err := own.Identity(kubeobject.NodePoolRef(from).Key())
	if err != nil {
		return err
	}
	return r.put(ctx, plan, own, func(ctx context.Context, ref kube.Ref, want kubeobject.Declared, own ownership.Record) error {
		return c.succeed(ctx, ref, want, uid, own)
	})
}

// succeed declares the pool that takes the place of the pool of that UID.
func (c *poolCluster) succeed(ctx context.Context, ref kube.Ref, want kubeobject.Declared, uid string, own ownership.Record) error {
	labels := map[string]string{v1.LabelRenamedFrom: uid}
	maps.Copy(labels, want.Labels)
	want.Labels = labels
	obj, err := kubeobject.Manifest(ref, want, own)
	if err != nil {
		return err
	}
	live, err := c.Get(ctx, ref)
	if err == nil && live.GetDeletionTimestamp() == nil && own.Is(ref.Key(), string(live.GetUID())) {
		return c.Declare(ctx, obj, own)
	}
	// The label tells what an update that was cut off has made: no other pool is taken up.
	return c.CreateNew(ctx, obj, own, func(_, _ *unstructured.Unstructured) (bool, error) { return false, nil })
}

// findSuccessors notes in own the pools that were created to take the place of the
// named one.
func (c *poolCluster) findSuccessors(ctx context.Context, name string, own ownership.Record) error {
	uid := own[kubeobject.NodePoolRef(name).Key()]
	if uid == "" {
		return nil
	}
	pools, err := c.List(ctx, kubeobject.NodePoolRef("").GroupVersionKind, "", v1.LabelRenamedFrom+"="+uid)
	if errors.Is(err, kube.ErrKindNotServed) {
		return nil
	}
	for i := range pools {
		if kubeobject.DeclaredByUs(&pools[i]) {
			own[kubeobject.NodePoolRef(pools[i].GetName()).Key()] = string(pools[i].GetUID())
		}
	}
	return err
}

// livePool reads the pool. If it is gone, livePool reads the pool that was created to
// take its place. ErrNotFound if there is none. Without a record, own gets the pool.
func (c *poolCluster) livePool(ctx context.Context, name string, own ownership.Record, recorded bool) (*unstructured.Unstructured, error) {
	ref := kubeobject.NodePoolRef(name)
	live, err := c.Get(ctx, ref)
	if err != nil && !errors.Is(err, kube.ErrNotFound) {
		return nil, err
	}
	if !recorded {
		if err == nil {
			own[ref.Key()] = string(live.GetUID())
		}
		return live, err
	}
	if err := c.findSuccessors(ctx, name, own); err != nil {
		return nil, err
	}
	if err == nil && own.Is(ref.Key(), string(live.GetUID())) {
		return live, nil
	}
	for _, other := range poolsBut(own, name) {
		ref := kubeobject.NodePoolRef(other)
		live, err := c.Get(ctx, ref)
		switch {
		case err == nil && live.GetDeletionTimestamp() == nil && own.Is(ref.Key(), string(live.GetUID())):
			return live, nil
		case err != nil && !errors.Is(err, kube.ErrNotFound):
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s read: %w", ref, kube.ErrNotFound)
}

// othersRemain tells whether a pool in own but the named one, or a NodeClaim of it, is
// still there. A pool that is gone with its NodeClaims leaves own.
func (c *poolCluster) othersRemain(ctx context.Context, name string, own ownership.Record) (bool, error) {
	remain := false
	for _, other := range poolsBut(own, name) {
		ref := kubeobject.NodePoolRef(other)
		live, err := c.Get(ctx, ref)
		if err != nil && !errors.Is(err, kube.ErrNotFound) {
			return false, err
		}
		if err == nil && own.Is(ref.Key(), string(live.GetUID())) {
			remain = true
			continue
		}
		claims, err := c.claimsOf(ctx, other, own[ref.Key()])
		if err != nil {
			return false, err
		}
		if len(claims) > 0 {
			remain = true
			continue
		}
		delete(own, ref.Key())
	}
	return remain, nil
}

// replaceOthers waits until the pool of the plan is ready, then deletes the other pools
// and waits until their nodes are gone. within bounds the wait for ready.
func (r *nodePool) replaceOthers(ctx, within context.Context, plan, prior nodePoolModel, c *poolCluster, own ownership.Record, resp *resource.UpdateResponse) {
	name := plan.Name.ValueString()
	if err := c.WaitReady(within, kubeobject.NodePoolRef(name)); err != nil {
		r.saveUnfinished(ctx, resp, prior)
		r.failChange(&resp.Diagnostics, plan, prior, &renameError{created: name, stays: poolsBut(own, name), err: err})
		return
	}
	r.saveUnfinished(ctx, resp, plan)
	ctx, cancel := managed.Bounded(ctx, &resp.Diagnostics, plan.Timeouts.Delete, managed.DrainTimeout)
	defer cancel()
	for _, other := range poolsBut(own, name) {
		err := c.removePool(ctx, kubeobject.NodePoolRef(other), own)
		own.Write(ctx, resp.Private, &resp.Diagnostics)
		if err != nil {
			r.failChange(&resp.Diagnostics, plan, prior, &renameError{ready: name, stays: []string{other}, err: err})
			return
		}
	}
	if plan.Begin() {
		plan.Ready = types.BoolValue(true)
	}
	r.Save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
}

// saveUnfinished saves the model so that the next apply goes on.
func (r *nodePool) saveUnfinished(ctx context.Context, resp *resource.UpdateResponse, model nodePoolModel) {
	model.Ready = types.BoolValue(false)
	r.Save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, model)
}

// renameError says where a rename ended early.
type renameError struct {
	created, ready string   // the pool that takes the place of the others: one of the two is set
	stays          []string // the other pools
	err            error
}

// Error says what exists and why.
func (e *renameError) Error() string {
	others := strings.Join(kubeobject.Quoted(e.stays), ", ")
	if e.created != "" {
		return fmt.Sprintf("NodePool %q exists and is not ready, so NodePool %s was not deleted: %v", e.created, others, e.err)
	}
	return fmt.Sprintf("NodePool %q is ready, and NodePool %s or its nodes are still there: %v", e.ready, others, e.err)
}

// Unwrap gives the reason.
func (e *renameError) Unwrap() error { return e.err }

// failChange adds one error for an update, with the remedy where it is about a rename.
func (r *nodePool) failChange(diags *diag.Diagnostics, plan, prior nodePoolModel, err error) {
	from, to := prior.Name.ValueString(), plan.Name.ValueString()
	var rename *renameError
	var remedy string
	switch {
	case errors.Is(err, failure.ErrProtected):
		diags.AddAttributeError(path.Root("name"), "Cannot rename karpenter_node_pool", protectedFromRename(from, to))
		return
	case errors.As(err, &rename) && rename.created != "":
		remedy = fmt.Sprintf("Correct the configuration and apply again: the apply continues the rename. Or set name = %q and apply: the apply deletes NodePool %q.", rename.stays[0], rename.created)
		if from == to {
			remedy = "Correct the configuration and apply again: the apply continues."
		}
	case errors.As(err, &rename):
		remedy = fmt.Sprintf("The daemon continues to drain the nodes of NodePool %q. Apply again: the apply waits for them as long as delete of the timeouts attribute says.", rename.stays[0])
	case from != to && errors.Is(err, kube.ErrExists):
		remedy = fmt.Sprintf("Nothing was changed. Choose another name, or delete NodePool %q and apply again.", to)
	default:
		r.Fail(diags, managed.VerbUpdate, plan, err)
		return
	}
	diags.AddError("Cannot rename karpenter_node_pool", fmt.Sprintf("karpenter_node_pool %q: %s.\n\n%s", from, strings.TrimSuffix(err.Error(), "."), remedy))
}
