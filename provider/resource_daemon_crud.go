package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
)

// foundKey is the key of the private state that lists the objects that were
// there before: they are left behind on destroy.
const foundKey = "found"

// Create installs the daemon, definitions first, and waits for its rollout.
func (r *daemon) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan, ok := get[daemonModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Create, daemonTimeout)
	defer cancel()
	c, objects, err := r.prepare(ctx, &plan)
	var found []string
	if err == nil {
		found, err = c.alreadyThere(ctx, objects)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "create", plan, err)
		return
	}
	writeStrings(ctx, resp.Private, foundKey, found, &resp.Diagnostics)
	plan.Objects = mapValue(nil)
	err = c.install(ctx, objects, false, func(obj *unstructured.Unstructured) {
		plan.note(obj)
		r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
	})
	if err == nil {
		err = c.waitRollout(ctx, plan)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "create", plan, err)
	}
}

// prepare gives the cluster, whose version must be one that the daemon
// supports, and the objects to install. It fills in what was unknown in the plan.
func (r *daemon) prepare(ctx context.Context, plan *daemonModel) (*cluster, []*unstructured.Unstructured, error) {
	if plan.Region.IsUnknown() {
		clients, err := r.session.AWS(ctx)
		if err != nil {
			return nil, nil, err
		}
		plan.Region = types.StringValue(clients.Region())
	}
	plan.ID = plan.deploymentID()
	objects, err := install.Objects(plan.options())
	if err != nil {
		return nil, nil, err
	}
	c, err := r.session.Cluster(ctx)
	if err != nil {
		return nil, nil, err
	}
	return c, objects, c.checkVersion()
}

// alreadyThere names those of the objects that exist. A Deployment that exists
// is another installation: that is an ErrConflict.
func (c *cluster) alreadyThere(ctx context.Context, objects []*unstructured.Unstructured) ([]string, error) {
	var found []string
	for _, obj := range objects {
		ref := kube.RefOf(obj)
		_, err := c.Get(ctx, ref)
		switch {
		case errors.Is(err, kube.ErrNotFound):
		case err != nil:
			return nil, err
		case ref.Kind == "Deployment":
			return nil, fmt.Errorf("%s %w", ref, aws.ErrConflict)
		default:
			found = append(found, ref.String())
		}
	}
	return found, nil
}

// install applies the objects in order and tells of each. Between the
// definitions and the rest it waits until the definitions are established.
func (c *cluster) install(ctx context.Context, objects []*unstructured.Unstructured, force bool, done func(*unstructured.Unstructured)) error {
	var defined []kube.Ref
	for _, obj := range objects {
		ref := kube.RefOf(obj)
		if ref.Kind == "CustomResourceDefinition" {
			defined = append(defined, ref)
		} else {
			for _, definition := range defined {
				if _, err := c.Wait(ctx, definition, kube.ConditionTrue("Established")); err != nil {
					return err
				}
			}
			defined = nil
		}
		if _, err := c.Apply(ctx, obj, force); err != nil {
			return err
		}
		done(obj)
	}
	return nil
}

// note records that an object is as declared.
func (m *daemonModel) note(obj *unstructured.Unstructured) {
	objects := stringMap(m.Objects)
	if objects == nil {
		objects = map[string]string{}
	}
	objects[kube.RefOf(obj).String()] = digest(obj)
	m.Objects = mapValue(objects)
}

func deploymentRef(namespace string) kube.Ref {
	return kube.Ref{
		GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: namespace, Name: install.DefaultName,
	}
}

func (c *cluster) waitRollout(ctx context.Context, m daemonModel) error {
	if !m.Wait.ValueBool() {
		return nil
	}
	_, err := c.Wait(ctx, deploymentRef(m.Namespace.ValueString()), kube.RolledOut)
	return err
}

// Read compares every object with what was applied.
func (r *daemon) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state, ok := get[daemonModel](ctx, req.State, &resp.Diagnostics)
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
	if state.ClusterName.IsNull() {
		if err := state.reconstruct(ctx, c); err != nil {
			r.fail(&resp.Diagnostics, "import", state, err)
			return
		}
		// Who made the namespace is not known, and it may hold more than the
		// daemon: it is left behind.
		namespace := kube.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: state.Namespace.ValueString()}
		writeStrings(ctx, resp.Private, foundKey, []string{namespace.String()}, &resp.Diagnostics)
	}
	live, err := state.liveObjects(ctx, c)
	if err != nil {
		r.fail(&resp.Diagnostics, "read", state, err)
		return
	}
	if len(live) == 0 {
		resp.State.RemoveResource(ctx)
		return
	}
	state.Objects = mapValue(live)
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, state)
}

// liveObjects is the objects attribute as the cluster has it: what is gone is
// missing, what was changed says where.
func (m daemonModel) liveObjects(ctx context.Context, c *cluster) (map[string]string, error) {
	objects, err := install.Objects(m.options())
	if err != nil {
		return nil, err
	}
	live := map[string]string{}
	for _, obj := range objects {
		ref := kube.RefOf(obj)
		found, err := c.Get(ctx, ref)
		if errors.Is(err, kube.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		owned, err := kube.Owned(found, kube.FieldManager)
		if err != nil {
			return nil, err
		}
		live[ref.String()] = digest(obj)
		if paths := changed(obj, owned); len(paths) > 0 {
			live[ref.String()] = "changed: " + strings.Join(paths, ", ")
		}
	}
	return live, nil
}

// changed lists where the owned part of a live object is not as applied. What
// names an object is not owned by anyone.
func changed(applied *unstructured.Unstructured, owned map[string]any) []string {
	wanted := applied.DeepCopy().Object
	delete(wanted, "apiVersion")
	delete(wanted, "kind")
	unstructured.RemoveNestedField(wanted, "metadata", "name")
	unstructured.RemoveNestedField(wanted, "metadata", "namespace")
	if metadata, ok := wanted["metadata"].(map[string]any); ok && len(metadata) == 0 {
		delete(wanted, "metadata")
	}
	return convert.Differences(wanted, owned)
}

// Update applies the objects again, removes those that are no longer declared
// (a service account of another name), and waits for the rollout.
func (r *daemon) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, prior, ok := planAndState[daemonModel](ctx, req, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Update, daemonTimeout)
	defer cancel()
	c, objects, err := r.prepare(ctx, &plan)
	if err == nil {
		err = c.install(ctx, objects, true, func(*unstructured.Unstructured) {})
	}
	if err == nil {
		err = c.removeStale(ctx, prior, objects, readStrings(ctx, req.Private, foundKey, &resp.Diagnostics))
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "update", plan, err)
		return
	}
	plan.Objects = digests(objects)
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
	if err := c.waitRollout(ctx, plan); err != nil {
		r.fail(&resp.Diagnostics, "update", plan, err)
	}
}

// removeStale removes what was declared before and is not any more; what was
// there before us stays.
func (c *cluster) removeStale(ctx context.Context, prior daemonModel, objects []*unstructured.Unstructured, keep []string) error {
	before, err := install.Objects(prior.options())
	if err != nil {
		return err
	}
	var wanted []kube.Ref
	for _, obj := range objects {
		wanted = append(wanted, kube.RefOf(obj))
	}
	for _, obj := range before {
		if ref := kube.RefOf(obj); !slices.Contains(wanted, ref) && !slices.Contains(keep, ref.String()) {
			if err := c.Delete(ctx, ref, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// Delete removes everything in the opposite order, once nothing is left that
// needs the daemon or its definitions.
func (r *daemon) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state, ok := get[daemonModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, state.Timeouts.Delete, daemonTimeout)
	defer cancel()
	keep := readStrings(ctx, req.Private, foundKey, &resp.Diagnostics)
	c, err := r.session.Cluster(ctx)
	if err == nil {
		err = c.nothingLeft(ctx)
	}
	if err == nil {
		err = c.uninstall(ctx, state, keep)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "delete", state, err)
	}
}

// nothingLeft refuses while objects of our definitions exist: without the daemon
// their finalizers hold them for ever, and their instances go on running.
func (c *cluster) nothingLeft(ctx context.Context) error {
	var left []string
	for _, kind := range []schema.GroupVersionKind{
		v1.GroupVersion().WithKind(v1.NodePoolKind), v1.GroupVersion().WithKind(v1.NodeClaimKind), awsv1.GroupVersion().WithKind(awsv1.EC2NodeClassKind),
	} {
		items, err := c.List(ctx, kind, "", "")
		if err != nil && !errors.Is(err, kube.ErrKindNotServed) {
			return err
		}
		for _, item := range items {
			left = append(left, kube.RefOf(&item).String())
		}
	}
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrStillNeeded, strings.Join(left, ", "))
}

// uninstall removes the objects, last applied first, and waits for each.
func (c *cluster) uninstall(ctx context.Context, m daemonModel, keep []string) error {
	objects, err := install.Objects(m.options())
	if err != nil {
		return err
	}
	// The daemon makes its Lease itself.
	lease := kube.Ref{
		GroupVersionKind: schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
		Namespace:        m.Namespace.ValueString(), Name: install.LeaseName,
	}
	for _, obj := range slices.Backward(objects) {
		ref := kube.RefOf(obj)
		if slices.Contains(keep, ref.String()) {
			continue
		}
		if err := c.Delete(ctx, ref, ""); err != nil {
			return err
		}
		if err := c.WaitGone(ctx, ref, "", nil); err != nil {
			return err
		}
		tflog.Debug(ctx, "removed", map[string]any{"object": ref.String()})
		if ref.Kind == "Deployment" {
			if err := c.Delete(ctx, lease, ""); err != nil {
				return err
			}
		}
	}
	return nil
}
