package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// feed keeps the world up to date by watches and returns when it has seen
// everything once.
func feed(ctx context.Context, clients *kube.Clients, w *world.World) error {
	factory := informers.NewSharedInformerFactory(clients.Core, 0)
	watches := []cache.SharedIndexInformer{
		factory.Core().V1().Pods().Informer(),
		factory.Core().V1().Nodes().Informer(),
		factory.Apps().V1().DaemonSets().Informer(),
		factory.Apps().V1().ReplicaSets().Informer(),
		clients.NodePoolInformer(0),
		clients.NodeClaimInformer(0),
		clients.EC2NodeClassInformer(0),
	}
	var synced []cache.InformerSynced
	for _, informer := range watches {
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
			return fmt.Errorf("watch start: %w", err)
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
func preflight(ctx context.Context, clients *kube.Clients, namespace string) (string, error) {
	v, err := clients.Core.Discovery().ServerVersion()
	if err != nil {
		return "", fmt.Errorf("kubernetes api reach: %w", err)
	}
	if err := install.CheckKubernetesVersion(v.GitVersion); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := readable(ctx, clients); err != nil {
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
func readable(ctx context.Context, clients *kube.Clients) error {
	one := metav1.ListOptions{Limit: 1}
	checks := []struct {
		what string
		list func() error
	}{
		{"nodepools.karpenter.sh", func() error { _, err := clients.NodePools.List(ctx, one); return err }},
		{"nodeclaims.karpenter.sh", func() error { _, err := clients.NodeClaims.List(ctx, one); return err }},
		{"ec2nodeclasses.karpenter.k8s.aws", func() error { _, err := clients.EC2NodeClasses.List(ctx, one); return err }},
		{"pods", func() error { _, err := clients.Core.CoreV1().Pods(corev1.NamespaceAll).List(ctx, one); return err }},
		{"nodes", func() error { _, err := clients.Core.CoreV1().Nodes().List(ctx, one); return err }},
		{"daemonsets.apps", func() error {
			_, err := clients.Core.AppsV1().DaemonSets(metav1.NamespaceAll).List(ctx, one)
			return err
		}},
		{"replicasets.apps", func() error {
			_, err := clients.Core.AppsV1().ReplicaSets(metav1.NamespaceAll).List(ctx, one)
			return err
		}},
	}
	var missing, forbidden []string
	var refusal error
	for _, c := range checks {
		switch err := c.list(); {
		case apierrors.IsNotFound(err):
			missing = append(missing, c.what)
		case apierrors.IsForbidden(err):
			forbidden, refusal = append(forbidden, c.what), err
		case err != nil:
			return fmt.Errorf("%s list: %w", c.what, err)
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
