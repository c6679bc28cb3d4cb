package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// watched is a kind of object that the world is made of.
type watched struct {
	what     string // as permissions name it
	informer cache.SharedIndexInformer
	list     func(context.Context, metav1.ListOptions) error
	whole    bool // who wrote which field matters; else that is left out, for it is the larger part of many objects
}

func listing[L any](list func(context.Context, metav1.ListOptions) (L, error)) func(context.Context, metav1.ListOptions) error {
	return func(ctx context.Context, o metav1.ListOptions) error {
		_, err := list(ctx, o)
		return err
	}
}

// watches lists what is watched: the product's own kinds first, and what only
// matters by its selectors where those do.
func watches(c *kube.Clients, selectors bool) []watched {
	factory := informers.NewSharedInformerFactory(c.Core, 0)
	core, apps, storage := factory.Core().V1(), factory.Apps().V1(), factory.Storage().V1()
	coreAPI, appsAPI, storageAPI := c.Core.CoreV1(), c.Core.AppsV1(), c.Core.StorageV1()
	const all = metav1.NamespaceAll
	out := []watched{
		{"nodepools.karpenter.sh", c.NodePoolInformer(0), listing(c.NodePools.List), true},
		{"nodeclaims.karpenter.sh", c.NodeClaimInformer(0), listing(c.NodeClaims.List), true},
		{"ec2nodeclasses.karpenter.k8s.aws", c.EC2NodeClassInformer(0), listing(c.EC2NodeClasses.List), true},
		{"pods", core.Pods().Informer(), listing(coreAPI.Pods(all).List), true},
		{"nodes", core.Nodes().Informer(), listing(coreAPI.Nodes().List), true},
		{"namespaces", core.Namespaces().Informer(), listing(coreAPI.Namespaces().List), false},
		{"limitranges", core.LimitRanges().Informer(), listing(coreAPI.LimitRanges(all).List), false},
		{"persistentvolumeclaims", core.PersistentVolumeClaims().Informer(), listing(coreAPI.PersistentVolumeClaims(all).List), false},
		{"persistentvolumes", core.PersistentVolumes().Informer(), listing(coreAPI.PersistentVolumes().List), false},
		{"storageclasses.storage.k8s.io", storage.StorageClasses().Informer(), listing(storageAPI.StorageClasses().List), false},
		{"csinodes.storage.k8s.io", storage.CSINodes().Informer(), listing(storageAPI.CSINodes().List), false},
		{"priorityclasses.scheduling.k8s.io", factory.Scheduling().V1().PriorityClasses().Informer(), listing(c.Core.SchedulingV1().PriorityClasses().List), false},
		{"runtimeclasses.node.k8s.io", factory.Node().V1().RuntimeClasses().Informer(), listing(c.Core.NodeV1().RuntimeClasses().List), false},
		{"daemonsets.apps", apps.DaemonSets().Informer(), listing(appsAPI.DaemonSets(all).List), false},
		{"replicasets.apps", apps.ReplicaSets().Informer(), listing(appsAPI.ReplicaSets(all).List), false},
		{"statefulsets.apps", apps.StatefulSets().Informer(), listing(appsAPI.StatefulSets(all).List), false},
		{"jobs.batch", factory.Batch().V1().Jobs().Informer(), listing(c.Core.BatchV1().Jobs(all).List), false},
	}
	if selectors {
		out = append(out,
			watched{"services", core.Services().Informer(), listing(coreAPI.Services(all).List), false},
			watched{"replicationcontrollers", core.ReplicationControllers().Informer(), listing(coreAPI.ReplicationControllers(all).List), false},
		)
	}
	return out
}

// slim leaves out who wrote which field.
func slim(o any) (any, error) {
	if object, ok := o.(metav1.Object); ok {
		object.SetManagedFields(nil)
	}
	return o, nil
}

// feed keeps the world up to date by watches and returns when it has seen
// everything once.
func feed(ctx context.Context, clients *kube.Clients, w *world.World, selectors bool) error {
	var synced []cache.InformerSynced
	for _, x := range watches(clients, selectors) {
		informer := x.informer
		if !x.whole {
			if err := informer.SetTransform(slim); err != nil {
				return fmt.Errorf("watch of %s start: %w", x.what, err)
			}
		}
		handle, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { observe(w, o) },
			UpdateFunc: func(_, o any) { observe(w, o) },
			DeleteFunc: func(o any) {
				if last, missed := o.(cache.DeletedFinalStateUnknown); missed {
					o = last.Obj
				}
				if object, ok := o.(metav1.Object); ok {
					w.Forget(object)
				}
			},
		})
		if err != nil {
			return fmt.Errorf("watch of %s start: %w", x.what, err)
		}
		synced = append(synced, handle.HasSynced)
		go informer.RunWithContext(ctx)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return ctx.Err()
	}
	return nil
}

func observe(w *world.World, o any) {
	if object, ok := o.(metav1.Object); ok {
		w.Observe(object)
	}
}

// preflight finds out, before anything waits for it, whether the cluster has
// what the daemon needs: a Kubernetes version that it knows, its own kinds, and
// the right to read all that it watches and the Lease in its own namespace.
// It returns the version as images are made for it, such as 1.36.
func preflight(ctx context.Context, clients *kube.Clients, namespace string, selectors bool) (string, error) {
	v, err := clients.Core.Discovery().ServerVersion()
	if err != nil {
		return "", fmt.Errorf("kubernetes api reach: %w", err)
	}
	if err := install.CheckKubernetesVersion(v.GitVersion); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := readable(ctx, clients, selectors); err != nil {
		return "", err
	}
	_, err = clients.Core.CoordinationV1().Leases(namespace).Get(ctx, install.LeaseName, metav1.GetOptions{})
	if apierrors.IsForbidden(err) {
		return "", fmt.Errorf("not allowed to get lease %s/%s: give the daemon's service account its Role there (the karpenter_daemon resource does): %w",
			namespace, install.LeaseName, err)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("lease %s/%s get: %w", namespace, install.LeaseName, err)
	}
	return v.Major + "." + strings.TrimRight(v.Minor, "+"), nil
}

// readable finds out whether everything that is watched is there and may be read.
func readable(ctx context.Context, clients *kube.Clients, selectors bool) error {
	var missing, forbidden []string
	var refusal error
	for _, x := range watches(clients, selectors) {
		switch err := x.list(ctx, metav1.ListOptions{Limit: 1}); {
		case apierrors.IsNotFound(err):
			missing = append(missing, x.what)
		case apierrors.IsForbidden(err):
			forbidden, refusal = append(forbidden, x.what), err
		case err != nil:
			return fmt.Errorf("%s list: %w", x.what, err)
		}
	}
	switch {
	case len(missing) > 0:
		return fmt.Errorf("the cluster has no %s: install their definitions (the karpenter_daemon resource does)", strings.Join(missing, ", "))
	case len(forbidden) > 0:
		return fmt.Errorf("not allowed to list %s: give the daemon's service account its ClusterRole (the karpenter_daemon resource does): %w",
			strings.Join(forbidden, ", "), refusal)
	}
	return nil
}
