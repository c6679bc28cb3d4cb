package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8stypes "k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// How objects of the daemon go, one by one: at a destroy, and at an update that no longer
// declares them, as after a new namespace or service account.

const serviceAccountKind = "ServiceAccount"

// staleOf are the objects that were made and are no longer declared, in the order in which
// they go: a service account when its rights are gone, a namespace at the end.
func staleOf(objects []*unstructured.Unstructured, own ownership.Record) []kube.Ref {
	var stale []kube.Ref
	for _, key := range slices.Sorted(maps.Keys(own)) {
		ref, isObject := kube.ParseKey(key)
		if isObject && !slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return kube.RefOf(o).Key() == key }) {
			stale = append(stale, ref)
		}
	}
	last := map[string]int{serviceAccountKind: 1, "Namespace": 2}
	slices.SortStableFunc(stale, func(a, b kube.Ref) int { return cmp.Compare(last[a.Kind], last[b.Kind]) })
	return stale
}

// ownDefinitions are those that were made, by name alone.
func ownDefinitions(own ownership.Record) (out []*unstructured.Unstructured) {
	for _, key := range slices.Sorted(maps.Keys(own)) {
		if ref, isObject := kube.ParseKey(key); isObject && ref.Kind == definitionKind {
			named := &unstructured.Unstructured{}
			named.SetGroupVersionKind(ref.GroupVersionKind)
			named.SetName(ref.Name)
			out = append(out, named)
		}
	}
	return out
}

// onlyShadow says whether what runs in the namespace is a shadow, or nothing.
func (c *Cluster) onlyShadow(ctx context.Context, namespace string) (bool, error) {
	live, err := c.Get(ctx, deploymentRef(namespace))
	if errors.Is(err, kube.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	containers, _, _ := unstructured.NestedSlice(live.Object, "spec", "template", "spec", "containers")
	for _, x := range containers {
		container, _ := x.(map[string]any)
		if args, _, _ := unstructured.NestedStringSlice(container, "args"); !slices.Contains(args, install.ShadowArgument) {
			return false, nil
		}
	}
	return true, nil
}

// haltStale removes a Deployment that was made and is no longer declared, and waits until
// its pods are gone. It comes before another Deployment is created: daemons in different
// namespaces do not know of each other, and two of them would launch nodes for the same
// pods.
func (c *Cluster) haltStale(ctx context.Context, objects []*unstructured.Unstructured, own ownership.Record) error {
	for _, ref := range staleOf(objects, own) {
		if ref.Kind != kubeobject.DeploymentKind {
			continue
		}
		uid := k8stypes.UID(own[ref.Key()])
		if err := c.Delete(ctx, ref, uid); err != nil {
			return err
		}
		if err := c.WaitGone(ctx, ref, uid, nil); err != nil {
			return err
		}
		if err := c.awaitNoPods(ctx, ref.Namespace, install.LeaseLabels()); err != nil {
			return err
		}
		if err := c.removeLease(ctx, ref.Namespace); err != nil { // nobody renews it any more
			return err
		}
		delete(own, ref.Key()) // only now: an update that ends before begins here again
	}
	return nil
}

// awaitNoPods returns when no pod has the labels.
func (c *Cluster) awaitNoPods(ctx context.Context, namespace string, selector map[string]string) error {
	var names []string
	err := kube.Polling{Every: time.Second, DeniedWithin: c.DeniedWithin}.Until(ctx, func(ctx context.Context) (bool, error) {
		pods, err := c.List(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, namespace, labels.SelectorFromSet(selector).String())
		if err != nil {
			return false, err
		}
		names = nil
		for _, pod := range pods {
			names = append(names, pod.GetName())
		}
		return len(names) == 0, nil
	})
	if err != nil && len(names) > 0 {
		return fmt.Errorf("pods of the former daemon still run in namespace %q: %s: %w", namespace, strings.Join(names, ", "), err)
	}
	return err
}

// removeStale removes the objects that were made and are no longer declared. A namespace
// in which no daemon is declared loses the Lease.
func (c *Cluster) removeStale(ctx context.Context, objects []*unstructured.Unstructured, own ownership.Record, diags *diag.Diagnostics) error {
	runsIn := func(namespace string) bool {
		return slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool {
			return o.GetKind() == serviceAccountKind && o.GetNamespace() == namespace
		})
	}
	for _, ref := range staleOf(objects, own) {
		if ref.Kind == serviceAccountKind && !runsIn(ref.Namespace) {
			if err := c.removeLease(ctx, ref.Namespace); err != nil {
				return err
			}
		}
		if ref.Kind == "ConfigMap" && ref.Name == install.ShadowName { // the shadow has become the daemon
			err := c.removeLeaseNamed(ctx, ref.Namespace, install.ShadowName)
			if apierrors.IsForbidden(err) { // nothing depends on it
				diags.AddWarning("A Lease was not deleted", fmt.Sprintf("karpenter_daemon: the Lease %s/%s, which the shadow had: %v. Delete it yourself.", ref.Namespace, install.ShadowName, err))
			} else if err != nil {
				return err
			}
		}
		if err := c.removeOne(ctx, ref, own, diags); err != nil {
			return err
		}
	}
	return nil
}

// removeOne removes the object if it was made, and waits until it is gone. A namespace with
// objects of somebody else stays.
func (c *Cluster) removeOne(ctx context.Context, ref kube.Ref, own ownership.Record, diags *diag.Diagnostics) error {
	if _, ours := own[ref.Key()]; !ours {
		return nil
	}
	if ref.Kind == "Namespace" {
		others, err := c.othersIn(ctx, ref.Name)
		if err != nil {
			return err
		}
		if len(others) > 0 {
			delete(own, ref.Key())
			diags.AddWarning("The namespace was not deleted", fmt.Sprintf(
				"karpenter_daemon: namespace %q holds objects that this configuration did not create: %s. The namespace and these objects were not deleted. Delete the namespace yourself if nobody needs it.",
				ref.Name, strings.Join(others, ", ")))
			return nil
		}
	}
	tflog.Debug(ctx, "remove", map[string]any{"object": ref.String()})
	return c.DeleteObject(ctx, ref, own)
}
