package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/remark"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// uncarriedEvery is how often the daemon asks whether the cluster has, or still has, a kind that
// it does not carry out: two small answers for each kind.
const uncarriedEvery = 5 * time.Minute

// uncarried knows the objects in the cluster that Karpenter carries out and the daemon does not.
// Kinds that the cluster does not have are not watched, and those that the daemon may not list
// stay unknown: nothing depends on them.
type uncarried struct {
	clients *kube.Clients
	logger  hclog.Logger

	watched map[string]uncarriedWatch // by kind; one goroutine uses it
	refused map[string]bool           // kinds of which the log has said that they may not be listed

	mu      sync.Mutex
	objects map[types.UID]remark.Other
}

// uncarriedWatch is the watch of a kind.
type uncarriedWatch struct {
	resource schema.GroupVersionResource
	stop     context.CancelFunc
}

func newUncarried(clients *kube.Clients, logger hclog.Logger) *uncarried {
	return &uncarried{clients: clients, logger: logger, watched: map[string]uncarriedWatch{}, refused: map[string]bool{}, objects: map[types.UID]remark.Other{}}
}

// Look begins to watch the kinds that the cluster has by now, until the context ends or the
// cluster has them no more.
func (u *uncarried) Look(ctx context.Context, _ time.Time) error {
	var faults []error
	for _, kind := range legacy.UncarriedKinds() {
		resource, served, err := u.find(ctx, kind)
		faults = append(faults, err)
		if err != nil {
			continue
		}
		was, watched := u.watched[kind.Kind]
		if watched && (!served || was.resource != resource) {
			u.forget(kind.Kind)
			watched = false
		}
		if served && !watched {
			faults = append(faults, u.watch(ctx, kind, resource))
		}
	}
	return errors.Join(faults...)
}

// forget ends the watch of a kind. What the watch brings after that does not count.
func (u *uncarried) forget(kind string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.watched[kind].stop()
	delete(u.watched, kind)
	maps.DeleteFunc(u.objects, func(_ types.UID, o remark.Other) bool { return o.Object.Kind == kind })
}

func (u *uncarried) watch(ctx context.Context, kind legacy.Uncarried, resource schema.GroupVersionResource) error {
	of := watching(kind.Resource+"."+kind.Group, u.clients.Any.Resource(resource), &unstructured.Unstructured{})
	switch err := of.list(ctx, metav1.ListOptions{Limit: 1}); {
	case apierrors.IsNotFound(err): // the definition was deleted meanwhile
		return nil
	case apierrors.IsForbidden(err):
		if !u.refused[kind.Kind] {
			u.refused[kind.Kind] = true
			u.logger.Warn("the daemon may not list a kind that it does not carry out, so nobody is told of its objects: allow the daemon's service account to list and watch them", "kind", of.what, "error", err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("%s list: %w", of.what, err)
	}
	remarked := translate.Remark{Reason: translate.RemarkNotCarriedOut, Text: kind.Text()}
	ctx, stop := context.WithCancel(ctx)
	_, err := of.start(ctx, withMetadataAlone, func(o metav1.Object) {
		u.mu.Lock()
		defer u.mu.Unlock()
		if ctx.Err() != nil {
			return
		}
		u.objects[o.GetUID()] = remark.Other{
			Object: corev1.ObjectReference{APIVersion: resource.GroupVersion().String(), Kind: kind.Kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID()},
			Remark: remarked,
		}
	}, func(o metav1.Object) {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.objects, o.GetUID())
	})
	if err != nil {
		stop()
		return err
	}
	u.watched[kind.Kind] = uncarriedWatch{resource, stop}
	return nil
}

// find says whether the cluster has the kind, and in which version.
func (u *uncarried) find(ctx context.Context, kind legacy.Uncarried) (schema.GroupVersionResource, bool, error) {
	discovery := u.clients.Core.Discovery()
	var group metav1.APIGroup
	err := discovery.RESTClient().Get().AbsPath("/apis/" + kind.Group).Do(ctx).Into(&group)
	if apierrors.IsNotFound(err) {
		return schema.GroupVersionResource{}, false, nil
	}
	if err != nil {
		return schema.GroupVersionResource{}, false, fmt.Errorf("api %s discover: %w", kind.Group, err)
	}
	for _, version := range group.Versions {
		found, err := discovery.ServerResourcesForGroupVersion(version.GroupVersion)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return schema.GroupVersionResource{}, false, fmt.Errorf("api %s discover: %w", version.GroupVersion, err)
		}
		if slices.ContainsFunc(found.APIResources, func(r metav1.APIResource) bool { return r.Name == kind.Resource }) {
			return schema.GroupVersionResource{Group: kind.Group, Version: version.Version, Resource: kind.Resource}, true, nil
		}
	}
	return schema.GroupVersionResource{}, false, nil
}

// withMetadataAlone drops the rest of an object, which nothing reads.
func withMetadataAlone(o metav1.Object) metav1.Object {
	withoutManagedFields(o)
	if object, ok := o.(*unstructured.Unstructured); ok {
		delete(object.Object, "spec")
		delete(object.Object, "status")
	}
	return o
}

// All lists the objects, sorted.
func (u *uncarried) All() []remark.Other {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := make([]remark.Other, 0, len(u.objects))
	for _, o := range u.objects {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b remark.Other) int {
		return cmp.Or(strings.Compare(a.Object.Kind, b.Object.Kind), strings.Compare(a.Object.Namespace, b.Object.Namespace), strings.Compare(a.Object.Name, b.Object.Name), strings.Compare(string(a.Object.UID), string(b.Object.UID)))
	})
	return out
}
