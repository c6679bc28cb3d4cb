package provider

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// Cluster gives the cluster's API. ErrNoCluster if none is configured,
// ErrConfigUnknown while the configuration has unknown values. Only with eks does
// it dial: it asks EKS for the cluster's endpoint.
func (s *session) Cluster(ctx context.Context) (*clusterClient, error) {
	if s.unknownCluster != "" {
		return nil, fmt.Errorf("%w: %s", ErrConfigUnknown, s.unknownCluster)
	}
	if s.eks == nil && s.kubernetes == nil {
		return nil, ErrNoCluster
	}
	return s.cluster.get(func() (*clusterClient, error) {
		config, err := s.clusterConfig(ctx)
		if err != nil {
			return nil, err
		}
		config.UserAgent = "terraform-provider-karpenter/" + s.version
		config.QPS = cmp.Or(s.pace.qps, config.QPS)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return requests{next} })
		return newCluster(config, s.pace)
	})
}

func (s *session) clusterConfig(ctx context.Context) (*rest.Config, error) {
	if s.kubernetes != nil {
		return kube.ConfigFromKubeconfig(*s.kubernetes)
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
