package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// NewerKubernetes is the summary of a warning.
const NewerKubernetes = "The Kubernetes version is newer than the provider"

// Make installs the daemon, definitions first.
func (r *daemon) Make(ctx context.Context, j managed.Job[*Cluster], plan *daemonModel) error {
	plan.Objects = fwvalue.MapValue(nil)
	objects, err := r.prepare(ctx, j, plan)
	if err != nil {
		return err
	}
	if err := alone(ctx, j, *plan); err != nil {
		return err
	}
	if err := j.Client.install(ctx, objects, j.Own, plan.AdoptDefinitions.ValueBool()); err != nil {
		warnAdopted(j.Own, j.Diags) // what is taken back leaves them
		return err
	}
	plan.Objects = digests(objects)
	return nil
}

func (r *daemon) AwaitReady(ctx context.Context, c *Cluster, m daemonModel) error {
	live, err := c.Wait(ctx, deploymentRef(m.Namespace.ValueString()), kube.RolledOut)
	if err != nil {
		return err
	}
	return kubeobject.GoingError(live)
}

// Observe compares every object with what was applied.
func (r *daemon) Observe(ctx context.Context, j managed.Job[*Cluster], state *daemonModel) (bool, error) {
	if state.ClusterName.IsNull() { // imported
		if err := state.reconstruct(ctx, j.Client, r.Session.Image); err != nil {
			return true, err
		}
	}
	seen, err := state.liveObjects(ctx, j.Client, j.Own, j.Recorded)
	if err != nil || j.Own.Nothing() {
		return false, err
	}
	state.Objects = fwvalue.MapValue(seen.states)
	deployment := deploymentRef(state.Namespace.ValueString())
	rolledOut, available := false, true
	if found, err := j.Client.Get(ctx, deployment); err == nil && j.Own.Is(deployment.Key(), string(found.GetUID())) {
		rolledOut, _ = kube.RolledOut(found)
		available = r.warnHealth(ctx, j.Client, *state, found, j.Diags)
		if !state.shadow() { // which can do without
			r.warnCredentials(ctx, j.Client, *state, j.Diags)
		}
	}
	state.Refresh(rolledOut)
	if !available {
		state.Fails()
	}
	for _, in := range seen.renamed {
		warnRenamed(&r.Base, j.Diags, state, in)
	}
	for _, object := range seen.going {
		kubeobject.WarnGoing(&r.Base, j.Diags, state, object, "The next apply waits until it is deleted, and creates it anew.")
	}
	return true, nil
}

// Change applies the objects again, and removes objects that are no longer declared: the
// old service account after a change of its name, all but the definitions after a new
// namespace. A change of needs writes nothing as long as the objects are as planned.
func (r *daemon) Change(ctx context.Context, j managed.Job[*Cluster], plan *daemonModel, prior daemonModel) error {
	if !plan.Needs.Equal(prior.Needs) && plan.Objects.Equal(prior.Objects) && plan.AdoptDefinitions.Equal(prior.AdoptDefinitions) {
		return nil
	}
	objects, err := r.prepare(ctx, j, plan)
	if err != nil {
		return err
	}
	declared := objects
	if plan.shadow() { // which declares no definitions; those that the daemon has brought stay
		declared = slices.Concat(objects, ownDefinitions(j.Own))
	}
	if err := j.Client.nothingStaleNeeded(ctx, declared, j.Own); err != nil {
		return err
	}
	if plan.shadow() && !prior.shadow() {
		if err := j.Client.handedOver(ctx); err != nil {
			return err
		}
	}
	if err := alone(ctx, j, *plan); err != nil {
		return err
	}
	// What would refuse the installation is found before the running daemon ends.
	adopting := plan.AdoptDefinitions.ValueBool()
	if _, err := j.Client.foreign(ctx, objects, j.Own, adopting); err != nil {
		return err
	}
	if err := j.Client.haltStale(ctx, declared, j.Own); err != nil {
		return err
	}
	if err := j.Client.install(ctx, objects, j.Own, adopting); err != nil {
		return err
	}
	plan.Objects = digests(objects)
	return j.Client.removeStale(ctx, declared, j.Own, j.Diags)
}

// Remove removes everything that was made, in the opposite order. It refuses while an
// object still needs the daemon or its definitions, or while something runs in AWS that
// only the daemon ends.
func (r *daemon) Remove(ctx context.Context, j managed.Job[*Cluster], state daemonModel) error {
	if err := r.unneeded(ctx, j, state); err != nil {
		return err
	}
	j.Spare()
	objects, err := state.objects(ctx)
	if err != nil {
		return err
	}
	used, err := j.Client.usedOfOthers(ctx, objects, j.Own)
	if err != nil {
		return err
	}
	if err := j.Client.remove(ctx, state, j.Own, j.Diags); err != nil {
		return err
	}
	if len(used) > 0 {
		j.Diags.AddWarning("Objects of others were not deleted", fmt.Sprintf(
			"karpenter_daemon %q: the daemon used %s, which this configuration did not create. What of these still exists was not deleted. Delete it yourself if nobody needs it.", managed.ImportID(state), strings.Join(used, ", ")))
	}
	warnAdopted(j.Own, j.Diags)
	return nil
}

// unneeded returns when nothing in the cluster or in AWS needs the daemon any more. Nothing needs a
// shadow. What runs counts, not the state: an update to the daemon may have been cut off.
func (r *daemon) unneeded(ctx context.Context, j managed.Job[*Cluster], state daemonModel) error {
	if state.shadow() && len(ownDefinitions(j.Own)) == 0 {
		only, err := j.Client.onlyShadow(ctx, state.Namespace.ValueString())
		if err != nil || only {
			return err
		}
	}
	if err := j.Client.awaitNothingLeft(ctx, j.Own); err != nil {
		return err
	}
	runs, err := j.Client.runsOurs(ctx, j.Own)
	if err == nil && runs {
		err = r.awaitNoLeftovers(ctx, state, j.Diags)
	}
	return err
}

// alone returns when no other controller works for the cluster. Beside a shadow one may.
func alone(ctx context.Context, j managed.Job[*Cluster], plan daemonModel) error {
	if plan.shadow() {
		return nil
	}
	return j.Client.noOtherController(ctx, namespacesOf(j.Own, plan), j.Diags)
}

// namespacesOf are the namespaces in which this configuration has, or gets, the daemon. After a
// move that was broken off there are two.
func namespacesOf(own ownership.Record, plan daemonModel) []string {
	namespaces := []string{plan.Namespace.ValueString()}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		if ref, isObject := kube.ParseKey(key); isObject && ref.Kind == kubeobject.DeploymentKind {
			namespaces = append(namespaces, ref.Namespace)
		}
	}
	return namespaces
}

// TakeBack removes what a failed creation has made.
func (r *daemon) TakeBack(ctx context.Context, j managed.Job[*Cluster], plan daemonModel) error {
	return j.Client.takeBack(ctx, plan, j.Own, j.Diags)
}

// prepare gives the objects to install. The daemon must work with the cluster's version.
// prepare fills in the values that were unknown in the plan.
func (r *daemon) prepare(ctx context.Context, j managed.Job[*Cluster], plan *daemonModel) ([]*unstructured.Unstructured, error) {
	if plan.Region.IsUnknown() {
		clients, err := r.Session.AWS(ctx)
		if err != nil {
			return nil, err
		}
		plan.Region = types.StringValue(clients.Region())
	}
	fips, dualStack := r.Session.EndpointKinds(ctx)
	if plan.FIPS.IsUnknown() {
		plan.FIPS = fips
	}
	if plan.DualStack.IsUnknown() {
		plan.DualStack = dualStack
	}
	plan.ID = plan.deploymentID()
	reference, err := imageReference(ctx, r.Session, plan.Image)
	if err != nil {
		return nil, err
	}
	plan.ImageReference = types.StringValue(reference)
	objects, err := plan.objects(ctx)
	if err != nil {
		return nil, err
	}
	newer, err := j.Client.CheckVersion()
	if newer != "" {
		j.Diags.AddWarning(NewerKubernetes, fmt.Sprintf("karpenter_daemon %q: %s.", managed.ImportID(*plan), newer))
	}
	return objects, err
}

func deploymentRef(namespace string) kube.Ref {
	return kube.Ref{
		GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kubeobject.DeploymentKind}, Namespace: namespace, Name: install.DefaultName,
	}
}
