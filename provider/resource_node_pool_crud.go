package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
)

// drainPoll is how often a destroy looks at the nodes that are left.
const drainPoll = time.Second

// Create declares the pool, once its definition is there, and waits for it.
func (r *nodePool) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan, ok := get[nodePoolModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Create, nodePoolTimeout)
	defer cancel()
	r.put(ctx, plan, (*cluster).createObject, "create", &resp.State, resp.Identity, &resp.Diagnostics)
}

// Update declares the pool as planned and waits for it.
func (r *nodePool) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, ok := get[nodePoolModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Update, nodePoolTimeout)
	defer cancel()
	r.put(ctx, plan, (*cluster).declareObject, "update", &resp.State, resp.Identity, &resp.Diagnostics)
}

// put declares the pool and saves it before it waits.
func (r *nodePool) put(ctx context.Context, plan nodePoolModel, declare func(*cluster, context.Context, kube.Ref, any) error,
	verb string, state *tfsdk.State, identity *tfsdk.ResourceIdentity, diags *diag.Diagnostics,
) {
	ref := nodePoolRef(plan.Name.ValueString())
	spec := plan.Spec(ctx, diags)
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
func (r *nodePool) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state, ok := get[nodePoolModel](ctx, req.State, &resp.Diagnostics)
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
	live, err := c.Get(ctx, nodePoolRef(state.Name.ValueString()))
	if errors.Is(err, kube.ErrNotFound) {
		resp.State.RemoveResource(ctx)
		return
	}
	var spec v1.NodePoolSpec
	if err == nil {
		err = specInto(live, &spec)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "read", state, err)
		return
	}
	state.NodePool = convert.NodePoolOf(ctx, spec, state.NodePool, &resp.Diagnostics)
	if state.Wait.IsNull() { // imported
		state.Wait = types.BoolValue(true)
	}
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, state)
}

// Delete removes the pool and waits until its NodeClaims, and so its nodes and
// instances, are gone.
func (r *nodePool) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state, ok := get[nodePoolModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, state.Timeouts.Delete, drainTimeout)
	defer cancel()
	ref := nodePoolRef(state.Name.ValueString())
	c, err := r.session.Cluster(ctx)
	if err == nil {
		err = c.Delete(ctx, ref, "")
	}
	if err == nil {
		err = c.WaitGone(ctx, ref, "", nil)
	}
	if err == nil {
		err = c.waitDrained(ctx, ref.Name)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "delete", state, err)
	}
}

// waitDrained waits until the pool has no NodeClaims, and logs how it goes.
func (c *cluster) waitDrained(ctx context.Context, pool string) error {
	before := -1
	for {
		claims, err := c.List(ctx, v1.GroupVersion().WithKind(v1.NodeClaimKind), "", v1.LabelNodePool+"="+pool)
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
			return fmt.Errorf("%d NodeClaims are not gone: %w\n  %s", len(claims), ctx.Err(), strings.Join(drainLines(claims), "\n  "))
		case <-time.After(drainPoll):
		}
	}
}

// drainLines say of each NodeClaim how far it is.
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
