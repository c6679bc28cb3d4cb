package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
)

// drainPoll is the time between two looks of a destroy at the remaining NodeClaims.
const drainPoll = time.Second

// Create waits for the definition, creates the pool and waits until it is ready.
func (r *nodePool) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan, ok := get[nodePoolModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Create, nodePoolTimeout)
	defer cancel()
	own := made{}
	c, err := r.clusterOf(ctx, own)
	if err == nil {
		err = r.put(ctx, plan, c, own, (*cluster).createObject)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, verbCreate, plan, err)
		r.undo(ctx, &resp.Diagnostics, plan, own, func(ctx context.Context) error {
			return c.terminatePool(ctx, nodePoolRef(plan.Name.ValueString()), own)
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

// Update changes the pool as planned and waits until it is ready.
func (r *nodePool) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, ok := get[nodePoolModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Update, nodePoolTimeout)
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

// put creates or updates the pool with declare, and notes in own what is made.
func (r *nodePool) put(ctx context.Context, plan nodePoolModel, c *cluster, own made, declare func(*cluster, context.Context, kube.Ref, any, made) error) error {
	var diags diag.Diagnostics
	spec := plan.Spec(ctx, &diags)
	if diags.HasError() {
		return fmt.Errorf("%s: %s", diags[0].Summary(), diags[0].Detail())
	}
	return declare(c, ctx, nodePoolRef(plan.Name.ValueString()), &spec, own)
}

// settle saves the declared pool before the wait until it is ready, and again after
// the wait.
func (r *nodePool) settle(ctx context.Context, plan nodePoolModel, c *cluster, verb string,
	state *tfsdk.State, identity *tfsdk.ResourceIdentity, diags *diag.Diagnostics,
) {
	plan.Ready = waitingReady(plan.Wait)
	r.save(ctx, state, identity, diags, plan)
	if !plan.Wait.ValueBool() {
		return
	}
	if err := c.waitReady(ctx, nodePoolRef(plan.Name.ValueString())); err != nil {
		r.notReady(diags, verb, plan, err)
		return
	}
	plan.Ready = types.BoolValue(true)
	r.save(ctx, state, identity, diags, plan)
}

// Read refreshes the whole spec. If another pool has the name, ours is gone.
func (r *nodePool) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state, ok := get[nodePoolModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	own, recorded := readMade(ctx, req.Private, &resp.Diagnostics)
	c, err := r.clusterOf(ctx, own)
	if err != nil {
		r.unread(ctx, resp, state, err)
		return
	}
	ref := nodePoolRef(state.Name.ValueString())
	live, err := c.Get(ctx, ref)
	if err == nil && !recorded {
		own[ref.Key()] = string(live.GetUID())
	}
	if errors.Is(err, kube.ErrNotFound) || err == nil && !own.is(ref.Key(), string(live.GetUID())) {
		r.forget(ctx, resp, state)
		return
	}
	var spec v1.NodePoolSpec
	if err == nil {
		err = specInto(live, &spec)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, verbRead, state, err)
		return
	}
	state.NodePool = convert.NodePoolOf(ctx, spec, state.NodePool, &resp.Diagnostics)
	if state.Wait.IsNull() { // imported
		state.Wait = types.BoolValue(true)
	}
	state.Ready = refreshReady(state.Wait, state.Ready, isReady(live))
	own.write(ctx, resp.Private, &resp.Diagnostics)
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, state)
}

// Delete removes the pool and waits until its NodeClaims are gone, and with them its
// nodes and instances.
func (r *nodePool) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state, ok := get[nodePoolModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, state.Timeouts.Delete, drainTimeout)
	defer cancel()
	ref := nodePoolRef(state.Name.ValueString())
	c, own, err := r.myCluster(ctx, req.Private, &resp.Diagnostics)
	if err == nil {
		err = c.terminatePool(ctx, ref, own)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, verbDelete, state, err)
	}
}

// releaseWithin is how long the daemon has to release a deleted pool without NodeClaims.
const releaseWithin = 15 * time.Second

// terminatePool deletes the pool that was made, with all its nodes, and waits until they
// are gone. The mark says that nothing replaces them first and that budgets of the pool
// do not count.
func (c *cluster) terminatePool(ctx context.Context, ref kube.Ref, own made) error {
	uid, has := own[ref.Key()]
	if !has {
		return nil
	}
	err := c.patchPool(ctx, ref, uid, map[string]any{"annotations": map[string]string{v1.AnnotationTerminate: v1.LabelTrue}})
	if err == nil {
		err = c.Delete(ctx, ref, apitypes.UID(uid))
	}
	if err == nil {
		err = c.waitDrained(ctx, ref.Name, uid)
	}
	if err == nil {
		err = c.releasePool(ctx, ref, uid)
	}
	if err != nil {
		return err
	}
	return c.deleteObject(ctx, ref, own)
}

// releasePool removes the daemon's finalizer from a deleted pool without NodeClaims, if
// no daemon does.
func (c *cluster) releasePool(ctx context.Context, ref kube.Ref, uid string) error {
	within, cancel := context.WithTimeout(ctx, releaseWithin)
	defer cancel()
	if c.WaitGone(within, ref, apitypes.UID(uid), nil) == nil {
		return nil
	}
	live, err := c.Get(ctx, ref)
	switch {
	case errors.Is(err, kube.ErrNotFound), err == nil && (string(live.GetUID()) != uid || live.GetDeletionTimestamp() == nil):
		return nil
	case err != nil:
		return err
	}
	rest := slices.DeleteFunc(live.GetFinalizers(), func(f string) bool { return f == v1.FinalizerTermination })
	tflog.Warn(ctx, "no daemon releases the node pool: its finalizer is removed", map[string]any{"node_pool": ref.Name})
	return c.patchPool(ctx, ref, uid, map[string]any{"resourceVersion": live.GetResourceVersion(), "finalizers": rest})
}

// patchPool changes metadata of the pool with this UID. A pool that is gone, or is another
// one of the name, is no error.
func (c *cluster) patchPool(ctx context.Context, ref kube.Ref, uid string, metadata map[string]any) error {
	live, err := c.Get(ctx, ref)
	if errors.Is(err, kube.ErrNotFound) || err == nil && string(live.GetUID()) != uid {
		return nil
	}
	if err != nil {
		return err
	}
	metadata["uid"] = uid
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("%s patch: %w", ref, err)
	}
	return c.unset(ctx, resourceOf(ref), ref.Name, patch)
}

// waitDrained waits until the pool of that UID has no NodeClaims, and logs the
// progress. It ignores the NodeClaims of another pool of the same name.
func (c *cluster) waitDrained(ctx context.Context, pool, uid string) error {
	before := -1
	for {
		claims, err := c.List(ctx, v1.GroupVersion().WithKind(v1.NodeClaimKind), "", v1.LabelNodePool+"="+pool)
		claims = slices.DeleteFunc(claims, func(claim unstructured.Unstructured) bool { return ofAnotherPool(claim, uid) })
		switch {
		case errors.Is(err, kube.ErrKindNotServed), err == nil && len(claims) == 0:
			return nil
		case err != nil && ctx.Err() == nil:
			return err
		}
		if err == nil && len(claims) != before {
			before = len(claims)
			tflog.Info(ctx, "waiting for nodes to drain", map[string]any{"node_pool": pool, "node_claims": before})
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d NodeClaims still exist: %w\n  %s", len(claims), ctx.Err(), strings.Join(drainLines(claims), "\n  "))
		case <-time.After(drainPoll):
		}
	}
}

// ofAnotherPool tells whether the claim's owner is a NodePool of another UID.
func ofAnotherPool(claim unstructured.Unstructured, uid string) bool {
	return slices.ContainsFunc(claim.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		return owner.Kind == v1.NodePoolKind && string(owner.UID) != uid
	})
}

// drainLines has a line for each NodeClaim, with its drain and termination.
func drainLines(claims []unstructured.Unstructured) []string {
	var lines []string
	for _, claim := range claims {
		line := claim.GetName()
		for _, kind := range []string{v1.ConditionDrained, v1.ConditionInstanceTerminating} {
			if text := conditionText(&claim, kind); text != "" {
				line += ", " + text
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// conditionText is a condition as one word or sentence; "" where it is absent.
func conditionText(obj *unstructured.Unstructured, kind string) string {
	conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil {
		return ""
	}
	for _, entry := range conditions {
		if condition, ok := entry.(map[string]any); ok && condition["type"] == kind {
			return strings.TrimRight(fmt.Sprintf("%s=%v %v %v", kind, condition["status"], condition["reason"], condition["message"]), " ")
		}
	}
	return ""
}
