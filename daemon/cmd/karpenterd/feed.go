package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// watched is a kind of object that the world needs.
type watched struct {
	what     string // the resource and its group, as in RBAC rules
	informer func(keep func(metav1.Object) metav1.Object) cache.SharedIndexInformer
	list     func(context.Context, metav1.ListOptions) error
	read     func(ctx context.Context, do func(metav1.Object)) (revision string, err error)
	example  runtime.Object
}

// watching makes a watched kind; example is an object of it.
func watching[L runtime.Object](what string, from kube.Lister[L], example runtime.Object) watched {
	return watched{
		what: what,
		informer: func(keep func(metav1.Object) metav1.Object) cache.SharedIndexInformer {
			if _, pods := example.(*corev1.Pod); pods {
				return kube.NewInformer(from, &translate.CompactPod{}, keep)
			}
			return kube.NewInformer(from, example, keep)
		},
		list: func(ctx context.Context, o metav1.ListOptions) error {
			_, err := from.List(ctx, o)
			return err
		},
		read: func(ctx context.Context, do func(metav1.Object)) (string, error) {
			return kube.Read(ctx, from, do)
		},
		example: example,
	}
}

// decisive lists the kinds whose objects say what runs and what is on its way.
func decisive(c *kube.Clients) []watched {
	return []watched{
		watching("nodeclaims.karpenter.sh", c.NodeClaims, &v1.NodeClaim{}),
		watching("nodes", c.Core.CoreV1().Nodes(), &corev1.Node{}),
		watching("pods", kube.Early(c.Core.CoreV1().RESTClient(), "pods", kube.Lister[*corev1.PodList](c.Core.CoreV1().Pods(metav1.NamespaceAll))), &corev1.Pod{}),
	}
}

// watches lists the kinds to watch, the product's own first. The kinds that matter
// only for their selectors are in the list if selectors is true.
func watches(c *kube.Clients, selectors bool) []watched {
	core, apps, storage := c.Core.CoreV1(), c.Core.AppsV1(), c.Core.StorageV1()
	const all = metav1.NamespaceAll
	out := []watched{
		watching("nodepools.karpenter.sh", c.NodePools, &v1.NodePool{}),
		watching("ec2nodeclasses.karpenter.k8s.aws", c.EC2NodeClasses, &awsv1.EC2NodeClass{}),
		watching("namespaces", core.Namespaces(), &corev1.Namespace{}),
		watching("limitranges", core.LimitRanges(all), &corev1.LimitRange{}),
		watching("persistentvolumeclaims", core.PersistentVolumeClaims(all), &corev1.PersistentVolumeClaim{}),
		watching("persistentvolumes", core.PersistentVolumes(), &corev1.PersistentVolume{}),
		watching("storageclasses.storage.k8s.io", storage.StorageClasses(), &storagev1.StorageClass{}),
		watching("csinodes.storage.k8s.io", storage.CSINodes(), &storagev1.CSINode{}),
		watching("volumeattachments.storage.k8s.io", storage.VolumeAttachments(), &storagev1.VolumeAttachment{}),
		watching("priorityclasses.scheduling.k8s.io", c.Core.SchedulingV1().PriorityClasses(), &schedulingv1.PriorityClass{}),
		watching("poddisruptionbudgets.policy", c.Core.PolicyV1().PodDisruptionBudgets(all), &policyv1.PodDisruptionBudget{}),
		watching("runtimeclasses.node.k8s.io", c.Core.NodeV1().RuntimeClasses(), &nodev1.RuntimeClass{}),
		watching("daemonsets.apps", apps.DaemonSets(all), &appsv1.DaemonSet{}),
		watching("replicasets.apps", apps.ReplicaSets(all), &appsv1.ReplicaSet{}),
		watching("statefulsets.apps", apps.StatefulSets(all), &appsv1.StatefulSet{}),
		watching("jobs.batch", c.Core.BatchV1().Jobs(all), &batchv1.Job{}),
	}
	out = append(out, decisive(c)...)
	if selectors {
		out = append(out,
			watching("services", core.Services(all), &corev1.Service{}),
			watching("replicationcontrollers", core.ReplicationControllers(all), &corev1.ReplicationController{}),
		)
	}
	return out
}

// feed starts the watches that keep the world up to date. It returns when the world
// has every object. keep drops the fields of an object that nothing reads, and returns what is kept in its place; forget is told
// of what is deleted.
func feed(ctx context.Context, clients *kube.Clients, w *world.World, older older, keep func(metav1.Object) metav1.Object, forget func(metav1.Object), selectors bool) error {
	return startAll(ctx, watches(clients, selectors), keep,
		func(o metav1.Object) { older.Observe(o); w.Observe(o) },
		func(o metav1.Object) { w.Forget(o); older.Forget(o); forget(o) })
}

// startAll starts the watches of the kinds, and returns when all objects are known; see start.
func startAll(ctx context.Context, kinds []watched, keep func(metav1.Object) metav1.Object, observe, forget func(metav1.Object)) error {
	var synced []cache.InformerSynced
	for _, x := range kinds {
		started, err := x.start(ctx, keep, observe, forget)
		if err != nil {
			return err
		}
		synced = append(synced, started)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return ctx.Err()
	}
	return nil
}

// older is told of objects that may stand in place of those that are made of older APIs.
type older interface {
	Observe(object metav1.Object)
	Forget(object metav1.Object)
}

// start starts the watch of the kind. keep reduces each object; what is returned says
// whether all objects are known.
func (x watched) start(ctx context.Context, keep func(metav1.Object) metav1.Object, observe, forget func(metav1.Object)) (cache.InformerSynced, error) {
	informer := x.informer(keep)
	with := func(do func(metav1.Object), o any) {
		if object, ok := o.(metav1.Object); ok {
			do(object)
		}
	}
	handle, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { with(observe, o) },
		UpdateFunc: func(_, o any) { with(observe, o) },
		DeleteFunc: func(o any) {
			if last, missed := o.(cache.DeletedFinalStateUnknown); missed {
				o = last.Obj
			}
			with(forget, o)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watch of %s start: %w", x.what, err)
	}
	go informer.RunWithContext(ctx)
	return handle.HasSynced, nil
}

// preflight checks what the daemon needs of the cluster: a supported Kubernetes
// version, the product's own kinds, and the rights to list every watched kind, to
// nominate pods and to get the Lease. Without this check a watch would wait for ever,
// without a message, and plans would count on places that no pod is told of.
// It returns the minor version, such as 1.36, by which node images are chosen.
func preflight(ctx context.Context, clients *kube.Clients, namespace string, selectors bool) (string, error) {
	minor, err := minorVersion(clients.Core.Discovery())
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := readable(ctx, clients, selectors); err != nil {
		return "", err
	}
	if err := nominates(ctx, clients.Core); err != nil {
		return "", err
	}
	_, err = clients.Core.CoordinationV1().Leases(namespace).Get(ctx, install.LeaseName, metav1.GetOptions{})
	if apierrors.IsForbidden(err) {
		return "", fmt.Errorf("not allowed to get lease %s/%s: give the daemon's service account its Role in that namespace (the karpenter_daemon resource does): %w",
			namespace, install.LeaseName, err)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("lease %s/%s get: %w", namespace, install.LeaseName, err)
	}
	return minor, nil
}

// nominates checks that the daemon may nominate pods. Only a clear no keeps it from starting:
// where nobody answers, as where a cluster lets nobody ask for their own rights, the leader
// keeps asking.
func nominates(ctx context.Context, core kubernetes.Interface) error {
	if may, err := kube.MayNominate(ctx, core); err == nil && !may {
		return kube.ErrMayNotNominate
	}
	return nil
}

// readable checks that every watched kind exists and may be listed.
func readable(ctx context.Context, clients *kube.Clients, selectors bool) error {
	missing, forbidden, refusal, err := listable(ctx, watches(clients, selectors))
	switch {
	case err != nil:
		return err
	case len(missing) > 0:
		return fmt.Errorf("the cluster has no %s: install their CustomResourceDefinitions (the karpenter_daemon resource does)", strings.Join(missing, ", "))
	case len(forbidden) > 0:
		return fmt.Errorf("not allowed to list %s: give the daemon's service account its ClusterRole (the karpenter_daemon resource does): %w",
			strings.Join(forbidden, ", "), refusal)
	}
	return nil
}

// listable names the kinds that the cluster does not serve, and those that may not be listed, with
// the last refusal of these.
func listable(ctx context.Context, kinds []watched) (missing, forbidden []string, refusal, err error) {
	errs := make([]error, len(kinds))
	var asked sync.WaitGroup
	for i, x := range kinds {
		asked.Go(func() { errs[i] = x.list(ctx, metav1.ListOptions{Limit: 1}) })
	}
	asked.Wait()
	for i, x := range kinds {
		switch err := errs[i]; {
		case apierrors.IsNotFound(err):
			missing = append(missing, x.what)
		case apierrors.IsForbidden(err):
			forbidden, refusal = append(forbidden, x.what), err
		case err != nil:
			return nil, nil, nil, fmt.Errorf("%s list: %w", x.what, err)
		}
	}
	return missing, forbidden, refusal, nil
}
