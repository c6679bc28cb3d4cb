package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// cluster is the Kubernetes API of the one cluster that the provider declares.
type cluster struct {
	*kube.Applier
	dynamic   dynamic.Interface
	discovery discovery.DiscoveryInterface
	identity  memo[string]
}

// clusterQPS bounds the requests a second. client-go's 5 would make a destroy,
// which looks at every kind in the namespace, a matter of minutes.
const clusterQPS = 50

// madeCluster is the name of the cluster among what was made: the UID of its
// namespace kube-system, which tells it from every other cluster.
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

// clusterOf gives the cluster's API where it is the cluster that own is about;
// where own does not tell yet, it does from now on. ErrWrongCluster.
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

// myCluster is mine for what is in a cluster. ErrUnproven, ErrWrongCluster.
func (b *base) myCluster(ctx context.Context, private privateReader, diags *diag.Diagnostics) (*cluster, made, error) {
	own, recorded := readMade(ctx, private, diags)
	if !recorded {
		return nil, nil, ErrUnproven
	}
	c, err := b.clusterOf(ctx, own)
	return c, own, err
}

// Cluster gives the cluster's API. ErrNoCluster where none is configured,
// ErrConfigUnknown while the configuration has unknown values. Only an eks
// configuration dials: it asks for the cluster's endpoint.
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
		config.QPS, config.Burst = clusterQPS, 2*clusterQPS
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

// unset removes fields of a cluster-scoped object whoever owns them: apply
// removes only what we own. The patch names the object's UID, and the API server
// refuses it for another one.
func (c *cluster) unset(ctx context.Context, resource schema.GroupVersionResource, name string, mergePatch []byte) error {
	_, err := c.dynamic.Resource(resource).Patch(ctx, name, apitypes.MergePatchType, mergePatch, metav1.PatchOptions{FieldManager: kube.FieldManager})
	if err != nil {
		return fmt.Errorf("%s %q patch: %w", resource.Resource, name, err)
	}
	return nil
}
