package nodepool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// drainPoll is the time between two looks of a destroy at the remaining NodeClaims.
const drainPoll = time.Second

// Make waits for the definition and creates the pool.
func (r *nodePool) Make(ctx context.Context, j managed.Job[*poolCluster], plan *nodePoolModel) error {
	err := r.put(ctx, *plan, j.Own, j.Client.CreateObject)
	if err != nil {
		// Terraform replaces what such a create leaves: protection would prevent that.
		plan.DeletionProtection, plan.OnDestroy, plan.OnTimeout = types.BoolValue(false), types.StringValue(destroyDrain), types.StringValue(timeoutFail)
	}
	return err
}

// Update changes the pool as planned and waits until it is ready. A pool that has
// another name then takes the place of the old pool.
func (r *nodePool) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, prior, ok := managed.PlanAndState[nodePoolModel](ctx, req, &resp.Diagnostics)
	if !ok {
		return
	}
	own, _ := ownership.Read(ctx, req.Private, &resp.Diagnostics)
	if plan.sameObject(prior) && len(poolsBut(own, plan.Name.ValueString())) == 0 {
		r.Save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
		return
	}
	within, cancel := managed.Bounded(ctx, &resp.Diagnostics, plan.Timeouts.Update, nodePoolTimeout)
	defer cancel()
	j, err := r.Mine(within, req.Private, &resp.Diagnostics)
	if err == nil {
		err = r.Change(within, j, &plan, prior)
		j.Own.Write(ctx, resp.Private, &resp.Diagnostics)
	}
	if err != nil {
		if len(poolsBut(j.Own, prior.Name.ValueString())) > 0 {
			r.saveUnfinished(ctx, resp, prior)
		}
		r.failChange(&resp.Diagnostics, plan, prior, err)
		return
	}
	if len(poolsBut(j.Own, plan.Name.ValueString())) > 0 {
		r.replaceOthers(ctx, within, plan, prior, j.Client, j.Own, resp)
		return
	}
	r.Settle(within, managed.Outcome{State: &resp.State, Identity: resp.Identity, Private: resp.Private, Diags: &resp.Diagnostics}, j, plan, managed.VerbUpdate)
}

// sameObject tells whether the plan changes nothing of the NodePool itself, but what the
// resource does with it. Such an update also works for a NodePool that is being deleted.
func (m nodePoolModel) sameObject(prior nodePoolModel) bool {
	var ignored diag.Diagnostics
	// Without wait, ready is false only while a rename is not finished.
	waits := (m.Wait.ValueBool() || !prior.Wait.ValueBool()) && !m.Ready.Equal(prior.Ready)
	return m.Name.Equal(prior.Name) && !waits && m.SameMetadata(prior.ObjectModel) && reflect.DeepEqual(m.Spec(&ignored), prior.Spec(&ignored))
}

func (r *nodePool) AwaitReady(ctx context.Context, c *poolCluster, m nodePoolModel) error {
	return c.WaitReady(ctx, kubeobject.NodePoolRef(m.Name.ValueString()))
}

// Observe refreshes the whole spec. If another pool has the name, ours is gone.
func (r *nodePool) Observe(ctx context.Context, j managed.Job[*poolCluster], state *nodePoolModel) (bool, error) {
	live, err := j.Client.livePool(ctx, state.Name.ValueString(), j.Own, j.Recorded)
	if errors.Is(err, kube.ErrNotFound) {
		return false, nil
	}
	var spec v1.NodePoolSpec
	if err == nil {
		err = kubeobject.SpecInto(live, &spec)
	}
	if err == nil {
		err = state.FoundMetadata(live)
	}
	unfinished := false
	if err == nil {
		unfinished, err = j.Client.othersRemain(ctx, live.GetName(), j.Own)
	}
	if err != nil {
		return true, err
	}
	state.Name = types.StringValue(live.GetName())
	state.NodePool = convert.NodePoolOf(ctx, spec, state.NodePool, j.Diags)
	if state.DeletionProtection.IsNull() { // imported
		state.DeletionProtection = types.BoolValue(false)
	}
	state.orDefaults()
	state.Refresh(kubeobject.IsReady(live))
	if live.GetDeletionTimestamp() != nil {
		claims, err := j.Client.claimsOf(ctx, live.GetName(), string(live.GetUID()))
		if err != nil {
			return true, err
		}
		var held []string
		if len(claims) > 0 {
			held = append(held, fmt.Sprintf("%d NodeClaims", len(claims)))
		}
		kubeobject.WarnGoing(&r.Base, j.Diags, state, live, "Its nodes are drained, no new ones are launched, and updates are refused. When it is deleted, the next plan creates it anew.", held...)
	}
	if unfinished {
		state.Ready = types.BoolValue(false)
	}
	if j.Recorded {
		return true, nil
	}
	imported := state.Spec(j.Diags)
	known, err := kubeobject.Manifest(kubeobject.NodePoolRef(live.GetName()), kubeobject.Declared{Spec: &imported}, nil)
	if err != nil {
		return true, err
	}
	return true, kubeobject.KeepFields(&r.Base, j.Own, known, live, managed.ImportID(state), j.Diags)
}

// Delete refuses a protected pool.
func (r *nodePool) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state, ok := managed.Get[nodePoolModel](ctx, req.State, &resp.Diagnostics)
	if ok && state.DeletionProtection.ValueBool() {
		r.refuseDelete(&resp.Diagnostics, state)
		return
	}
	r.Frame.Delete(ctx, req, resp)
}

// put creates or updates the pool with declare, and notes in own what is made.
func (r *nodePool) put(ctx context.Context, plan nodePoolModel, own ownership.Record, declare func(context.Context, kube.Ref, kubeobject.Declared, ownership.Record) error) error {
	var diags diag.Diagnostics
	spec := plan.Spec(&diags)
	if diags.HasError() {
		return fmt.Errorf("%s: %s", diags[0].Summary(), diags[0].Detail())
	}
	return declare(ctx, kubeobject.NodePoolRef(plan.Name.ValueString()), plan.With(&spec), own)
}

// releaseWithin is how long the daemon has to release a deleted pool without NodeClaims.
const releaseWithin = 15 * time.Second

// terminatePool removes the pool that was made. The mark says that nothing replaces its
// nodes first and that budgets of the pool do not count.
func (c *poolCluster) terminatePool(ctx context.Context, ref kube.Ref, own ownership.Record) error {
	uid, has := own[ref.Key()]
	if !has {
		return nil
	}
	err := c.annotate(ctx, ref, apitypes.UID(uid), map[string]string{v1.AnnotationTerminate: v1.LabelTrue})
	if err != nil {
		return err
	}
	return c.removePool(ctx, ref, own)
}

// removePool deletes the pool that was made, and waits until it and its NodeClaims are
// gone, and with them its nodes. Until then the pool is in own.
func (c *poolCluster) removePool(ctx context.Context, ref kube.Ref, own ownership.Record) error {
	uid, has := own[ref.Key()]
	if !has {
		return nil
	}
	err := c.Delete(ctx, ref, apitypes.UID(uid))
	if err == nil {
		err = c.waitDrained(ctx, ref.Name, uid)
	}
	if err == nil {
		err = c.releasePool(ctx, ref, uid)
	}
	if err != nil {
		return err
	}
	return c.DeleteObject(ctx, ref, own)
}

// releasePool removes the daemon's finalizer from a deleted pool without NodeClaims, if
// no daemon does.
func (c *poolCluster) releasePool(ctx context.Context, ref kube.Ref, uid string) error {
	within, cancel := context.WithTimeout(ctx, releaseWithin)
	defer cancel()
	if c.WaitGone(within, ref, apitypes.UID(uid), nil) == nil {
		return nil
	}
	tflog.Warn(ctx, "no daemon releases the node pool: its finalizer is removed", map[string]any{"node_pool": ref.Name})
	return c.release(ctx, ref, apitypes.UID(uid))
}

// release removes the daemon's finalizer from the object with this UID, which is being
// deleted.
func (c *poolCluster) release(ctx context.Context, ref kube.Ref, uid apitypes.UID) error {
	return c.patchMetadata(ctx, ref, uid, func(live *unstructured.Unstructured) map[string]any {
		if live.GetDeletionTimestamp() == nil {
			return nil
		}
		rest := slices.DeleteFunc(live.GetFinalizers(), func(f string) bool { return f == v1.FinalizerTermination })
		return map[string]any{"resourceVersion": live.GetResourceVersion(), "finalizers": rest}
	})
}

// annotate sets annotations of the object with this UID.
func (c *poolCluster) annotate(ctx context.Context, ref kube.Ref, uid apitypes.UID, annotations map[string]string) error {
	return c.patchMetadata(ctx, ref, uid, func(*unstructured.Unstructured) map[string]any {
		return map[string]any{"annotations": annotations}
	})
}

// patchMetadata changes metadata of the object with this UID, unless change gives nothing to
// change. An object that is gone, or is another one of the name, is no error. What somebody
// else writes meanwhile is read again.
func (c *poolCluster) patchMetadata(ctx context.Context, ref kube.Ref, uid apitypes.UID, change func(live *unstructured.Unstructured) map[string]any) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live, err := c.Get(ctx, ref)
		if errors.Is(err, kube.ErrNotFound) || err == nil && live.GetUID() != uid {
			return nil
		}
		if err != nil {
			return err
		}
		metadata := change(live)
		if metadata == nil {
			return nil
		}
		metadata["uid"] = uid
		patch, err := json.Marshal(map[string]any{"metadata": metadata})
		if err != nil {
			return fmt.Errorf("%s patch: %w", ref, err)
		}
		if err := c.Merge(ctx, kubeobject.ResourceOf(ref), ref.Name, patch); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
}

// waitDrained waits until the pool of that UID has no NodeClaims, and logs the
// progress. It ignores the NodeClaims of another pool of the same name, and lives through
// errors of the API server that pass.
func (c *poolCluster) waitDrained(ctx context.Context, pool, uid string) error {
	before := -1
	var claims []unstructured.Unstructured
	told := func(err error) {
		tflog.Warn(ctx, "the cluster does not answer: the wait continues", map[string]any{"node_pool": pool, "error": err.Error()})
	}
	err := kube.Polling{Every: drainPoll, DeniedWithin: c.DeniedWithin, Told: told}.Until(ctx, func(ctx context.Context) (bool, error) {
		found, err := c.claimsOf(ctx, pool, uid)
		if err != nil {
			return false, err
		}
		if claims = found; len(claims) != before {
			before = len(claims)
			tflog.Info(ctx, "waiting for nodes to drain", map[string]any{"node_pool": pool, "node_claims": before})
		}
		return len(claims) == 0, nil
	})
	if before >= 0 && err != nil && ctx.Err() != nil {
		return fmt.Errorf("%d NodeClaims still exist: %w\n  %s", len(claims), err, strings.Join(drainLines(claims), "\n  "))
	}
	return err
}

// claimsOf lists the NodeClaims of the pool of that UID. If the kind is not served,
// there are none.
func (c *poolCluster) claimsOf(ctx context.Context, pool, uid string) ([]unstructured.Unstructured, error) {
	claims, err := c.List(ctx, v1.GroupVersion().WithKind(v1.NodeClaimKind), "", v1.LabelNodePool+"="+pool)
	if errors.Is(err, kube.ErrKindNotServed) {
		return nil, nil
	}
	return slices.DeleteFunc(claims, func(claim unstructured.Unstructured) bool { return ofAnotherPool(claim, uid) }), err
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

// MoveState accepts kubectl_manifest and kubernetes_manifest of a NodePool.
func (r *nodePool) MoveState(context.Context) []resource.StateMover {
	return kubeobject.Movers(&r.Base)
}
