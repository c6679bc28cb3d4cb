package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// Create installs the daemon, definitions first, and waits for its rollout. If the
// installation fails, Create removes what it has made.
func (r *daemon) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan, ok := get[daemonModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Create, daemonTimeout)
	defer cancel()
	own := made{}
	plan.Objects, plan.Ready = mapValue(nil), waitingReady(plan.Wait)
	save := func() {
		own.write(ctx, resp.Private, &resp.Diagnostics)
		r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
	}
	c, objects, err := r.prepare(ctx, &plan, own)
	if err == nil {
		err = c.install(ctx, objects, own)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, verbCreate, plan, err)
		r.undo(ctx, &resp.Diagnostics, plan, own, func(ctx context.Context) error { return c.takeBack(ctx, plan, own, &resp.Diagnostics) }, save)
		return
	}
	plan.Objects = digests(objects)
	save()
	r.settle(ctx, plan, c, verbCreate, &resp.State, resp.Identity, &resp.Diagnostics)
}

// settle waits for the rollout of the saved Deployment, then saves ready.
func (r *daemon) settle(ctx context.Context, plan daemonModel, c *cluster, verb string,
	state *tfsdk.State, identity *tfsdk.ResourceIdentity, diags *diag.Diagnostics,
) {
	if !plan.Wait.ValueBool() {
		return
	}
	if _, err := c.Wait(ctx, deploymentRef(plan.Namespace.ValueString()), kube.RolledOut); err != nil {
		r.notReady(diags, verb, plan, err)
		return
	}
	plan.Ready = types.BoolValue(true)
	r.save(ctx, state, identity, diags, plan)
}

// prepare gives the cluster and the objects to install. The daemon must support the
// cluster's version. prepare fills in the values that were unknown in the plan.
func (r *daemon) prepare(ctx context.Context, plan *daemonModel, own made) (*cluster, []*unstructured.Unstructured, error) {
	if plan.Region.IsUnknown() {
		clients, err := r.session.AWS(ctx)
		if err != nil {
			return nil, nil, err
		}
		plan.Region = types.StringValue(clients.Region())
	}
	plan.ID = plan.deploymentID()
	reference, err := r.session.imageReference(ctx, plan.Image)
	if err != nil {
		return nil, nil, err
	}
	plan.ImageReference = types.StringValue(reference)
	objects, err := plan.objects(ctx)
	if err != nil {
		return nil, nil, err
	}
	c, err := r.clusterOf(ctx, own)
	if err != nil {
		return nil, nil, err
	}
	return c, objects, c.checkVersion()
}

func deploymentRef(namespace string) kube.Ref {
	return kube.Ref{
		GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: namespace, Name: install.DefaultName,
	}
}

// Read compares every object with what was applied.
func (r *daemon) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state, ok := get[daemonModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	own, recorded := readMade(ctx, req.Private, &resp.Diagnostics)
	c, err := r.clusterOf(ctx, own)
	if err != nil {
		r.unread(ctx, resp, state, err)
		return
	}
	if state.ClusterName.IsNull() {
		if err := state.reconstruct(ctx, c, r.session.image); err != nil {
			r.fail(&resp.Diagnostics, "import", state, err)
			return
		}
	}
	live, err := state.liveObjects(ctx, c, own, recorded)
	if err != nil {
		r.fail(&resp.Diagnostics, verbRead, state, err)
		return
	}
	if own.nothing() {
		r.forget(ctx, resp, state)
		return
	}
	state.Objects = mapValue(live)
	deployment := deploymentRef(state.Namespace.ValueString())
	rolledOut := false
	if found, err := c.Get(ctx, deployment); err == nil && own.is(deployment.Key(), string(found.GetUID())) {
		rolledOut, _ = kube.RolledOut(found)
	}
	state.Ready = refreshReady(state.Wait, state.Ready, rolledOut)
	own.write(ctx, resp.Private, &resp.Diagnostics)
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, state)
}

// Update applies the objects again, removes objects that are no longer declared
// (the old service account after a change of its name), and waits for the rollout.
func (r *daemon) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, ok := get[daemonModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Update, daemonTimeout)
	defer cancel()
	_, own, err := r.myCluster(ctx, req.Private, &resp.Diagnostics)
	var objects []*unstructured.Unstructured
	var c *cluster
	if err == nil {
		c, objects, err = r.prepare(ctx, &plan, own)
	}
	if err == nil {
		err = c.nothingStaleNeeded(ctx, objects, own)
	}
	if err == nil {
		err = c.install(ctx, objects, own)
		if err == nil {
			err = c.removeStale(ctx, objects, own)
		}
		own.write(ctx, resp.Private, &resp.Diagnostics)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, verbUpdate, plan, err)
		return
	}
	plan.Objects, plan.Ready = digests(objects), waitingReady(plan.Wait)
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
	r.settle(ctx, plan, c, verbUpdate, &resp.State, resp.Identity, &resp.Diagnostics)
}

// Delete removes everything that was made, in the opposite order. It refuses while
// an object still needs the daemon or its definitions.
func (r *daemon) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state, ok := get[daemonModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, state.Timeouts.Delete, daemonTimeout)
	defer cancel()
	c, own, err := r.myCluster(ctx, req.Private, &resp.Diagnostics)
	if err == nil {
		err = c.uninstall(ctx, state, own, &resp.Diagnostics)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, verbDelete, state, err)
	}
}
