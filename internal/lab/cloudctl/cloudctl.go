package cloudctl

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// User is the controller's identity at the API server.
const User = "eks:cloud-controller-manager"

// uninitialized is the taint of a node that waits for this controller.
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// shutdown is the taint of a node whose instance was stopped.
const shutdown = "node.cloudprovider.kubernetes.io/shutdown"

// retry is how long after a failure or without any news all nodes are looked
// at again.
const retry = 5 * time.Second

// Instance is what the cloud says of a node's instance.
type Instance struct {
	Type, Zone, ZoneID, Region string
	PrivateIP, PrivateDNSName  string
	Stopped                    bool
}

// Cloud finds an instance by id; false for one that is terminated or unknown.
type Cloud interface {
	Instance(id string) (Instance, bool)
}

// Role is what the controller is allowed.
func Role() *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: User}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch", "update", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"nodes/status"}, Verbs: []string{"update"}},
	}}
}

// Controller is a running cloud controller.
type Controller struct {
	clients kubernetes.Interface
	cloud   Cloud
	logger  hclog.Logger
	nodes   listers.NodeLister
	kick    chan struct{}
	cancel  context.CancelFunc
	work    sync.WaitGroup
}

// Start runs the controller until Close.
func Start(ctx context.Context, clients kubernetes.Interface, cloud Cloud, logger hclog.Logger) (*Controller, error) {
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	factory := informers.NewSharedInformerFactory(clients, 0)
	c := &Controller{
		clients: clients, cloud: cloud, logger: logger, cancel: cancel,
		nodes: factory.Core().V1().Nodes().Lister(), kick: make(chan struct{}, 1),
	}
	_, err := factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { c.Kick() },
		UpdateFunc: func(any, any) { c.Kick() },
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("cloud controller start: %w", err)
	}
	factory.StartWithContext(run)
	c.work.Go(func() {
		defer factory.Shutdown()
		c.loop(run)
	})
	return c, nil
}

// Kick makes the controller look at all nodes soon, e.g. because an instance
// changed.
func (c *Controller) Kick() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// Close stops the controller.
func (c *Controller) Close() {
	c.cancel()
	c.work.Wait()
}

func (c *Controller) loop(ctx context.Context) {
	tick := time.NewTicker(retry)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.kick:
		case <-tick.C:
		}
		nodes, _ := c.nodes.List(k8slabels.Everything()) // the cache does not fail
		for _, n := range nodes {
			err := c.reconcile(ctx, n)
			if err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				c.logger.Warn("node not reconciled", "node", n.Name, "error", err)
			}
		}
	}
}

// reconcile brings one node in line with its instance.
func (c *Controller) reconcile(ctx context.Context, n *corev1.Node) error {
	id, ok := instanceID(n.Spec.ProviderID)
	if !ok {
		return nil
	}
	instance, found := c.cloud.Instance(id)
	if !found {
		if n.DeletionTimestamp != nil {
			return nil
		}
		c.logger.Info("node deleted: its instance is gone", "node", n.Name, "instance", id)
		return c.clients.CoreV1().Nodes().Delete(ctx, n.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(n.UID))})
	}
	switch {
	case slices.ContainsFunc(n.Spec.Taints, isUninitialized):
		return c.initialize(ctx, n, instance)
	case instance.Stopped && !slices.ContainsFunc(n.Spec.Taints, isShutdown):
		node := n.DeepCopy()
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: shutdown, Effect: corev1.TaintEffectNoSchedule})
		_, err := c.clients.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		return err
	}
	return nil
}

// initialize writes the addresses first: with the taint gone the node is used.
func (c *Controller) initialize(ctx context.Context, n *corev1.Node, i Instance) error {
	node := n.DeepCopy()
	node.Status.Addresses = addresses(node.Status.Addresses, i)
	if !equality.Semantic.DeepEqual(node.Status.Addresses, n.Status.Addresses) {
		updated, err := c.clients.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		if err != nil {
			return err
		}
		node = updated
	}
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	for key, value := range labels(i) {
		node.Labels[key] = value
	}
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isUninitialized)
	_, err := c.clients.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
	return err
}

func isShutdown(t corev1.Taint) bool { return t.Key == shutdown }

func isUninitialized(t corev1.Taint) bool { return t.Key == uninitialized }

// labels is what the AWS cloud provider puts on a node, old names included.
func labels(i Instance) map[string]string {
	return map[string]string{
		corev1.LabelInstanceTypeStable:      i.Type,
		corev1.LabelInstanceType:            i.Type,
		corev1.LabelTopologyZone:            i.Zone,
		corev1.LabelTopologyRegion:          i.Region,
		corev1.LabelFailureDomainBetaZone:   i.Zone,
		corev1.LabelFailureDomainBetaRegion: i.Region,
		"topology.k8s.aws/zone-id":          i.ZoneID,
	}
}

// addresses adds what is missing to the addresses that a kubelet reported.
func addresses(have []corev1.NodeAddress, i Instance) []corev1.NodeAddress {
	for _, a := range []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: i.PrivateIP},
		{Type: corev1.NodeInternalDNS, Address: i.PrivateDNSName},
		{Type: corev1.NodeHostName, Address: i.PrivateDNSName},
	} {
		if !slices.ContainsFunc(have, func(h corev1.NodeAddress) bool { return h.Type == a.Type }) {
			have = append(have, a)
		}
	}
	return have
}

// instanceID reads aws:///<zone>/<id>.
func instanceID(providerID string) (string, bool) {
	rest, ok := strings.CutPrefix(providerID, "aws:///")
	if !ok {
		return "", false
	}
	_, id, ok := strings.Cut(rest, "/")
	return id, ok && id != ""
}
