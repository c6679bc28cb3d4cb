package provider

import (
	"context"
	"errors"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// cutOff tells whether the provider has made the object without that a state knows of it.
// A Deployment, a pool or a class must be as declared: with anything else in it, another
// configuration runs it.
func cutOff(obj, live *unstructured.Unstructured) (bool, error) {
	if live.GetAnnotations()[adoptedMark] != "" || !appliedByUsAlone(live) {
		return false, nil
	}
	if kube.Unfinished(live) {
		return true, nil
	}
	if kind := live.GetKind(); kind != deploymentKind && kind != nodePoolRef("").Kind && kind != nodeClassRef("").Kind {
		return true, nil
	}
	owned, err := kube.Owned(live, kube.FieldManager)
	if err != nil {
		return false, err
	}
	return len(changed(obj, owned)) == 0 && extras(obj.Object, owned) == nil, nil
}

// appliedByUsAlone tells whether the provider has applied the object, and nobody else.
func appliedByUsAlone(obj *unstructured.Unstructured) bool {
	return declaredByUs(obj) && !slices.ContainsFunc(obj.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Operation == metav1.ManagedFieldsOperationApply && f.Manager != kube.FieldManager
	})
}

// rival tells whether another configuration of this provider has a daemon in the cluster:
// its objects are not left over. deployment is the declared one.
func (c *cluster) rival(ctx context.Context, deployment *unstructured.Unstructured, own ownership.Record) (bool, error) {
	all, err := c.List(ctx, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: deploymentKind}, "", "")
	if err != nil {
		return false, err
	}
	for i := range all {
		live, ref := &all[i], kube.RefOf(&all[i])
		if ref.Name != deployment.GetName() || !declaredByUs(live) || own.Is(ref.Key(), string(live.GetUID())) {
			continue
		}
		if ref.Key() != kube.RefOf(deployment).Key() {
			return true, nil
		}
		if left, err := cutOff(deployment, live); err != nil || !left {
			return !left, err
		}
	}
	return false, nil
}

// findLeft gives a function that notes an object in own and returns true if an apply that
// was cut off has left the object. It looks for a rival once, when there is something to
// take up.
func (c *cluster) findLeft(ctx context.Context, objects []*unstructured.Unstructured, own ownership.Record) func(obj, live *unstructured.Unstructured) (bool, error) {
	rival := sync.OnceValues(func() (bool, error) {
		for _, obj := range objects {
			if obj.GetKind() == deploymentKind {
				return c.rival(ctx, obj, own)
			}
		}
		return false, nil
	})
	return func(obj, live *unstructured.Unstructured) (bool, error) {
		left, err := cutOff(obj, live)
		if err != nil || !left {
			return false, err
		}
		if others, err := rival(); err != nil || others {
			return false, err
		}
		own.TakeUp(kube.RefOf(obj).Key(), string(live.GetUID()), kube.RefOf(obj).String())
		return true, nil
	}
}

// usedOfOthers names the objects of somebody else that are used as they are.
func (c *cluster) usedOfOthers(ctx context.Context, objects []*unstructured.Unstructured, own ownership.Record) ([]string, error) {
	var names []string
	for _, obj := range objects {
		ref := kube.RefOf(obj)
		if own[ref.Key()] != "" || own[ownership.KeyAdopted+ref.Key()] != "" {
			continue
		}
		_, err := c.Get(ctx, ref)
		switch {
		case err == nil:
			names = append(names, ref.String())
		case !errors.Is(err, kube.ErrNotFound):
			return nil, err
		}
	}
	return names, nil
}
