package provider

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
)

// newerKubernetes is the summary of a warning.
const newerKubernetes = "The Kubernetes version is newer than the provider"

// create installs the daemon, definitions first.
func (r *daemon) create(ctx context.Context, j job[*cluster], plan *daemonModel) error {
	plan.Objects = mapValue(nil)
	objects, err := r.prepare(ctx, j, plan)
	if err != nil {
		return err
	}
	if err := j.client.noOtherController(ctx, namespacesOf(j.own, *plan), j.diags); err != nil {
		return err
	}
	if err := j.client.install(ctx, objects, j.own, plan.AdoptDefinitions.ValueBool()); err != nil {
		warnAdopted(j.own, j.diags) // what is taken back leaves them
		return err
	}
	plan.Objects = digests(objects)
	return nil
}

func (r *daemon) awaitReady(ctx context.Context, c *cluster, m daemonModel) error {
	live, err := c.Wait(ctx, deploymentRef(m.Namespace.ValueString()), kube.RolledOut)
	if err != nil {
		return err
	}
	return goingError(live)
}

// read compares every object with what was applied.
func (r *daemon) read(ctx context.Context, j job[*cluster], state *daemonModel) (bool, error) {
	if state.ClusterName.IsNull() { // imported
		if err := state.reconstruct(ctx, j.client, r.session.image); err != nil {
			return true, err
		}
	}
	seen, err := state.liveObjects(ctx, j.client, j.own, j.recorded)
	if err != nil || j.own.nothing() {
		return false, err
	}
	state.Objects = mapValue(seen.states)
	deployment := deploymentRef(state.Namespace.ValueString())
	rolledOut, available := false, true
	if found, err := j.client.Get(ctx, deployment); err == nil && j.own.is(deployment.Key(), string(found.GetUID())) {
		rolledOut, _ = kube.RolledOut(found)
		available = r.warnHealth(ctx, j.client, *state, found, j.diags)
		r.warnCredentials(ctx, j.client, *state, j.diags)
	}
	state.refresh(rolledOut)
	if !available {
		state.fails()
	}
	for _, in := range seen.renamed {
		warnRenamed(&r.base, j.diags, state, in)
	}
	for _, object := range seen.going {
		warnGoing(&r.base, j.diags, state, object, "The next apply waits until it is gone, and creates it anew.")
	}
	return true, nil
}

// update applies the objects again, and removes objects that are no longer declared: the
// old service account after a change of its name, all but the definitions after a new
// namespace. A change of needs writes nothing as long as the objects are as planned.
func (r *daemon) update(ctx context.Context, j job[*cluster], plan *daemonModel, prior daemonModel) error {
	if !plan.Needs.Equal(prior.Needs) && plan.Objects.Equal(prior.Objects) && plan.AdoptDefinitions.Equal(prior.AdoptDefinitions) {
		return nil
	}
	objects, err := r.prepare(ctx, j, plan)
	if err != nil {
		return err
	}
	if err := j.client.nothingStaleNeeded(ctx, objects, j.own); err != nil {
		return err
	}
	if err := j.client.noOtherController(ctx, namespacesOf(j.own, *plan), j.diags); err != nil {
		return err
	}
	// What would refuse the installation is found before the running daemon ends.
	adopting := plan.AdoptDefinitions.ValueBool()
	if _, err := j.client.foreign(ctx, objects, j.own, adopting); err != nil {
		return err
	}
	if err := j.client.haltStale(ctx, objects, j.own); err != nil {
		return err
	}
	if err := j.client.install(ctx, objects, j.own, adopting); err != nil {
		return err
	}
	plan.Objects = digests(objects)
	return j.client.removeStale(ctx, objects, j.own, j.diags)
}

// remove removes everything that was made, in the opposite order. It refuses while an
// object still needs the daemon or its definitions, or while something runs in AWS that
// only the daemon ends.
func (r *daemon) remove(ctx context.Context, j job[*cluster], state daemonModel) error {
	if err := j.client.awaitNothingLeft(ctx, j.own); err != nil {
		return err
	}
	runs, err := j.client.runsOurs(ctx, j.own)
	if err == nil && runs {
		err = r.awaitNoLeftovers(ctx, state, j.diags)
	}
	if err != nil {
		return err
	}
	j.spare()
	objects, err := state.objects(ctx)
	if err != nil {
		return err
	}
	used, err := j.client.usedOfOthers(ctx, objects, j.own)
	if err != nil {
		return err
	}
	if err := j.client.remove(ctx, state, j.own, j.diags); err != nil {
		return err
	}
	if len(used) > 0 {
		j.diags.AddWarning("Objects of others were not deleted", fmt.Sprintf(
			"karpenter_daemon %q: the daemon used %s, which this configuration did not create. What of these still exists was not deleted. Delete it yourself if nobody needs it.", importID(state), strings.Join(used, ", ")))
	}
	warnAdopted(j.own, j.diags)
	return nil
}

// namespacesOf are the namespaces in which this configuration has, or gets, the daemon. After a
// move that was broken off there are two.
func namespacesOf(own made, plan daemonModel) []string {
	namespaces := []string{plan.Namespace.ValueString()}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		if ref, isObject := kube.ParseKey(key); isObject && ref.Kind == deploymentKind {
			namespaces = append(namespaces, ref.Namespace)
		}
	}
	return namespaces
}

// takeBack removes what a failed creation has made.
func (r *daemon) takeBack(ctx context.Context, j job[*cluster], plan daemonModel) error {
	return j.client.takeBack(ctx, plan, j.own, j.diags)
}

// prepare gives the objects to install. The daemon must work with the cluster's version.
// prepare fills in the values that were unknown in the plan.
func (r *daemon) prepare(ctx context.Context, j job[*cluster], plan *daemonModel) ([]*unstructured.Unstructured, error) {
	if plan.Region.IsUnknown() {
		clients, err := r.session.AWS(ctx)
		if err != nil {
			return nil, err
		}
		plan.Region = types.StringValue(clients.Region())
	}
	fips, dualStack := r.session.endpointKinds(ctx)
	if plan.FIPS.IsUnknown() {
		plan.FIPS = fips
	}
	if plan.DualStack.IsUnknown() {
		plan.DualStack = dualStack
	}
	plan.ID = plan.deploymentID()
	reference, err := imageReference(ctx, r.session, plan.Image)
	if err != nil {
		return nil, err
	}
	plan.ImageReference = types.StringValue(reference)
	objects, err := plan.objects(ctx)
	if err != nil {
		return nil, err
	}
	newer, err := j.client.checkVersion()
	if newer != "" {
		j.diags.AddWarning(newerKubernetes, fmt.Sprintf("karpenter_daemon %q: %s.", importID(*plan), newer))
	}
	return objects, err
}

func deploymentRef(namespace string) kube.Ref {
	return kube.Ref{
		GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: deploymentKind}, Namespace: namespace, Name: install.DefaultName,
	}
}
