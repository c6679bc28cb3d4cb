package provider

import (
	"cmp"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// cluster is the Kubernetes API of the one cluster that the provider points at.
type cluster struct {
	*kube.Applier
	dynamic   dynamic.Interface
	discovery discovery.DiscoveryInterface
	identity  memo[string]
}

// clusterQPS bounds the requests per second. A destroy looks at every kind in the
// namespace: with client-go's default of 5, it would take minutes.
const clusterQPS = 50

// madeCluster is the key of the cluster in made. The value is the UID of the
// namespace kube-system, which differs from cluster to cluster.
const madeCluster = "cluster"

// uid is the UID of kube-system.
func (c *cluster) uid(ctx context.Context) (string, error) {
	return c.identity.get(func() (string, error) {
		namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
		found, err := c.dynamic.Resource(namespaces).Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		if err != nil {
			return "", fmt.Errorf("namespace %q read: %w", metav1.NamespaceSystem, err)
		}
		return string(found.GetUID()), nil
	})
}

// clusterOf gives the cluster's API if the cluster is the one in own. If own has
// no cluster yet, clusterOf notes this one. ErrWrongCluster.
func (b *base) clusterOf(ctx context.Context, own made) (*cluster, error) {
	c, err := b.session.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	uid, err := c.uid(ctx)
	if err != nil {
		return nil, err
	}
	if known, has := own[madeCluster]; has && known != uid {
		return nil, fmt.Errorf("%w: the UID of namespace kube-system is %s in this cluster and %s in the state", ErrWrongCluster, uid, known)
	}
	own[madeCluster] = uid
	return c, nil
}

// Cluster gives the cluster's API. ErrNoCluster if none is configured,
// ErrConfigUnknown while the configuration has unknown values. Only with eks does
// it dial: it asks EKS for the cluster's endpoint.
func (s *session) Cluster(ctx context.Context) (*cluster, error) {
	if s.unknownCluster != "" {
		return nil, fmt.Errorf("%w: %s", ErrConfigUnknown, s.unknownCluster)
	}
	if s.eks == nil && s.kubernetes == nil {
		return nil, ErrNoCluster
	}
	return s.cluster.get(func() (*cluster, error) {
		config, err := s.clusterConfig(ctx)
		if err != nil {
			return nil, err
		}
		config.UserAgent = "terraform-provider-karpenter/" + s.version
		config.QPS = cmp.Or(s.pace.qps, clusterQPS)
		config.Burst = 2 * int(config.QPS)
		return newCluster(config)
	})
}

func (s *session) clusterConfig(ctx context.Context) (*rest.Config, error) {
	if k := s.kubernetes; k != nil {
		access := kube.Access{
			Host: k.host, Token: k.token, ClusterCACertificate: k.caCertificate, ClientCertificate: k.clientCertificate,
			ClientKey: k.clientKey, TLSServerName: k.tlsServerName, Insecure: k.insecure, ConfigContext: k.configContext,
		}
		if k.configPath != "" {
			access.ConfigPaths = []string{k.configPath}
		}
		return kube.ConfigFromKubeconfig(access)
	}
	clients, err := s.AWS(ctx)
	if err != nil {
		return nil, err
	}
	found, err := clients.Cluster(ctx, s.eks.clusterName)
	if err != nil {
		return nil, err
	}
	return kube.ConfigFromEKS(found.Endpoint, found.CertificateAuthority, clients.EKSTokenSource(s.eks.clusterName)), nil
}

func newCluster(config *rest.Config) (*cluster, error) {
	applier, err := kube.NewApplier(config)
	if err != nil {
		return nil, err
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubernetes client create: %w", err)
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubernetes client create: %w", err)
	}
	return &cluster{Applier: applier, dynamic: dynamicClient, discovery: discoveryClient}, nil
}

// checkVersion refuses a Kubernetes version that the daemon does not support.
func (c *cluster) checkVersion() error {
	version, err := c.discovery.ServerVersion()
	if err != nil {
		return fmt.Errorf("kubernetes version read: %w", err)
	}
	return install.CheckKubernetesVersion(version.GitVersion)
}

// merge patches a cluster-scoped object. A patch also removes fields that others own:
// an apply removes only fields that we own. The patch has the object's UID, so the
// API server refuses it for another object of that name.
func (c *cluster) merge(ctx context.Context, resource schema.GroupVersionResource, name string, mergePatch []byte) error {
	_, err := c.dynamic.Resource(resource).Patch(ctx, name, apitypes.MergePatchType, mergePatch, metav1.PatchOptions{FieldManager: kube.FieldManager})
	if err != nil {
		return fmt.Errorf("%s %q patch: %w", resource.Resource, name, err)
	}
	return nil
}
