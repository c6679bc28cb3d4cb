package reach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

var (
	// ErrNoDaemon says that the cluster has no Lease of the daemon.
	ErrNoDaemon = errors.New("no daemon was found")
	// ErrNoLeader says that no replica is elected.
	ErrNoLeader = errors.New("no replica of the daemon is elected")
)

// answerWithin bounds the wait for the API server and for the replica.
const answerWithin = 30 * time.Second

// Target is the cluster, and where in it the daemon is. The zero value is the current context
// of the user's kubeconfig.
type Target struct {
	Kubeconfig, Context string // "" as for kubectl
	// Namespace is that of the daemon's Lease; "" searches in all namespaces.
	Namespace string
}

// Chosen says whether the user has named a cluster.
func (t Target) Chosen() bool { return t.Kubeconfig != "" || t.Context != "" }

// Given says whether there is a kubeconfig.
func (t Target) Given() bool {
	if t.Chosen() {
		return true
	}
	loaded, err := t.loader().RawConfig()
	return err != nil || len(loaded.Contexts) > 0 || len(loaded.Clusters) > 0
}

// PodNamespace is the namespace of the kubeconfig's context, which names without one mean.
func (t Target) PodNamespace() (string, error) {
	namespace, _, err := t.loader().Namespace()
	if err != nil {
		return "", fmt.Errorf("kubeconfig read: %w", err)
	}
	return namespace, nil
}

func (t Target) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = t.Kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: t.Context})
}

// Config is the access to the API server of the kubeconfig.
func (t Target) Config() (*rest.Config, error) {
	config, err := t.loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig read: %w; give --kubeconfig or --context", err)
	}
	return config, nil
}

// Leader forwards a free port of this machine to the port on the leader's own address, calls
// do with the address of it, and ends.
func (t Target) Leader(ctx context.Context, port int, do func(ctx context.Context, address string) error) error {
	config, err := t.Config()
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("kubernetes access: %w", err)
	}
	lookup, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	lease, err := t.lease(lookup, clients)
	if err != nil {
		return err
	}
	holder, err := holderOf(lease, time.Now())
	if err != nil {
		return err
	}
	return forward(ctx, config, clients, lease.Namespace, holder, port, do)
}

// lease finds the daemon's Lease. Several are an error: each is of a daemon.
func (t Target) lease(ctx context.Context, clients kubernetes.Interface) (*coordinationv1.Lease, error) {
	if t.Namespace != "" {
		return t.leaseIn(ctx, clients, t.Namespace)
	}
	list, err := clients.CoordinationV1().Leases(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: labels.Set(install.LeaseLabels()).String()})
	if apierrors.IsForbidden(err) {
		return t.leaseIn(ctx, clients, install.DefaultNamespace)
	}
	if err != nil {
		return nil, fmt.Errorf("daemon's Lease find: %w", err)
	}
	var found []*coordinationv1.Lease
	var namespaces []string
	for _, name := range []string{install.LeaseName, install.ShadowName} { // a shadow answers where there is no daemon
		for i := range list.Items {
			if list.Items[i].Name == name {
				found, namespaces = append(found, &list.Items[i]), append(namespaces, list.Items[i].Namespace)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%w: no namespace has a Lease %s of karpenterd: check --context, and that the daemon is installed", ErrNoDaemon, install.LeaseName)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("the daemon has Leases in the namespaces %s: give one of them as --daemon-namespace", strings.Join(namespaces, ", "))
}

func (t Target) leaseIn(ctx context.Context, clients kubernetes.Interface, namespace string) (*coordinationv1.Lease, error) {
	leases := clients.CoordinationV1().Leases(namespace)
	lease, err := leases.Get(ctx, install.LeaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && !ofDaemon(lease) { // Karpenter's has the same name
		if shadow, missing := leases.Get(ctx, install.ShadowName, metav1.GetOptions{}); missing == nil {
			return shadow, nil
		}
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%w: namespace %s has no Lease %s: check --context, or give the daemon's namespace as --daemon-namespace", ErrNoDaemon, namespace, install.LeaseName)
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("daemon's Lease read: %w: you need the right to get leases of coordination.k8s.io in namespace %s", err, namespace)
	case err != nil:
		return nil, fmt.Errorf("daemon's Lease read: %w", err)
	}
	return lease, nil
}

// ofDaemon says whether the daemon has ever held the Lease.
func ofDaemon(lease *coordinationv1.Lease) bool {
	for key, value := range install.LeaseLabels() {
		if lease.Labels[key] != value {
			return false
		}
	}
	return true
}

// holderOf returns the name of the pod that holds the Lease.
func holderOf(lease *coordinationv1.Lease, now time.Time) (string, error) {
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" {
		return "", fmt.Errorf("%w: nobody holds the Lease %s/%s: look at the daemon's pods and their logs", ErrNoLeader, lease.Namespace, lease.Name)
	}
	if spec.RenewTime != nil && spec.LeaseDurationSeconds != nil {
		// Twice the term, as the clocks of two machines may differ.
		if since := now.Sub(spec.RenewTime.Time); since > 2*time.Duration(*spec.LeaseDurationSeconds)*time.Second {
			return "", fmt.Errorf("%w: %s has not renewed the Lease %s/%s for %s: look at the daemon's pods and their logs",
				ErrNoLeader, *spec.HolderIdentity, lease.Namespace, lease.Name, since.Round(time.Second))
		}
	}
	return *spec.HolderIdentity, nil
}

// forward forwards a port to the pod for as long as do runs.
func forward(ctx context.Context, config *rest.Config, clients kubernetes.Interface, namespace, pod string, port int, do func(context.Context, string) error) error {
	target := clients.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return fmt.Errorf("port forward to pod %s/%s: %w", namespace, pod, err)
	}
	overSPDY := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, target)
	overWebSocket, err := portforward.NewSPDYOverWebsocketDialer(target, config)
	if err != nil {
		return fmt.Errorf("port forward to pod %s/%s: %w", namespace, pod, err)
	}
	dialer := portforward.NewFallbackDialer(overWebSocket, overSPDY, func(error) bool { return true })
	stop, ready := make(chan struct{}), make(chan struct{})
	forwarder, err := portforward.NewOnAddresses(dialer, []string{install.Loopback}, []string{fmt.Sprintf("0:%d", port)}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		return fmt.Errorf("port forward to pod %s/%s: %w", namespace, pod, err)
	}
	var refused error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		refused = forwarder.ForwardPorts()
	}()
	defer func() {
		close(stop)
		<-ended
	}()
	select {
	case <-ready:
	case <-ended:
		return refusal(refused, namespace, pod)
	case <-ctx.Done():
		return fmt.Errorf("port forward to pod %s/%s: %w", namespace, pod, ctx.Err())
	case <-time.After(answerWithin):
		return fmt.Errorf("port forward to pod %s/%s: no answer in %s", namespace, pod, answerWithin)
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return fmt.Errorf("port forward to pod %s/%s: %w", namespace, pod, err)
	}
	return do(ctx, fmt.Sprintf("%s:%d", install.Loopback, ports[0].Local))
}

// refusal adds the remedy. The dialers give texts alone, and no kind of error.
func refusal(err error, namespace, pod string) error {
	if err == nil {
		err = errors.New("the connection was closed")
	}
	if strings.Contains(err.Error(), "forbidden") || strings.Contains(err.Error(), "Forbidden") {
		return fmt.Errorf("port forward to pod %s/%s: %w: you need the right to create pods/portforward in namespace %s", namespace, pod, err, namespace)
	}
	return fmt.Errorf("port forward to pod %s/%s: %w", namespace, pod, err)
}
