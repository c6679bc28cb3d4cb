package daemon

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// rival tells whether another configuration of this provider has a daemon in the cluster:
// its objects are not left over. deployment is the declared one.
func (c *Cluster) rival(ctx context.Context, deployment *unstructured.Unstructured, own ownership.Record) (bool, error) {
	all, err := c.List(ctx, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kubeobject.DeploymentKind}, "", "")
	if err != nil {
		return false, err
	}
	for i := range all {
		live, ref := &all[i], kube.RefOf(&all[i])
		if ref.Name != deployment.GetName() || !kubeobject.DeclaredByUs(live) || own.Is(ref.Key(), string(live.GetUID())) {
			continue
		}
		if ref.Key() != kube.RefOf(deployment).Key() {
			return true, nil
		}
		if left, err := kubeobject.CutOff(deployment, live); err != nil || !left {
			return !left, err
		}
	}
	return false, nil
}

// findLeft gives a function that notes an object in own and returns true if an apply that
// was cut off has left the object. It looks for a rival once, when there is something to
// take up.
func (c *Cluster) findLeft(ctx context.Context, objects []*unstructured.Unstructured, own ownership.Record) func(obj, live *unstructured.Unstructured) (bool, error) {
	rival := sync.OnceValues(func() (bool, error) {
		for _, obj := range objects {
			if obj.GetKind() == kubeobject.DeploymentKind {
				return c.rival(ctx, obj, own)
			}
		}
		return false, nil
	})
	return func(obj, live *unstructured.Unstructured) (bool, error) {
		left, err := kubeobject.CutOff(obj, live)
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
func (c *Cluster) usedOfOthers(ctx context.Context, objects []*unstructured.Unstructured, own ownership.Record) ([]string, error) {
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
