package session

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/apiserver"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
)

// Cluster gives the cluster's API. ErrNoCluster if none is configured,
// ErrConfigUnknown while the configuration has unknown values. Only with eks does
// it dial: it asks EKS for the cluster's endpoint.
func (s *Session) Cluster(ctx context.Context) (*apiserver.Client, error) {
	if s.UnknownCluster != "" {
		return nil, fmt.Errorf("%w: %s", failure.ErrConfigUnknown, s.UnknownCluster)
	}
	if s.EKS == nil && s.Kubernetes == nil {
		return nil, failure.ErrNoCluster
	}
	return s.cluster.Get(func() (*apiserver.Client, error) {
		config, err := s.clusterConfig(ctx)
		if err != nil {
			return nil, err
		}
		config.UserAgent = "terraform-provider-karpenter/" + s.Version
		config.QPS = cmp.Or(s.pace.QPS, config.QPS)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return requests{next} })
		return apiserver.New(config, s.pace)
	})
}

func (s *Session) clusterConfig(ctx context.Context) (*rest.Config, error) {
	if s.Kubernetes != nil {
		return kube.ConfigFromKubeconfig(*s.Kubernetes)
	}
	clients, err := s.AWS(ctx)
	if err != nil {
		return nil, err
	}
	found, err := clients.Cluster(ctx, s.EKS.ClusterName)
	if err != nil {
		return nil, err
	}
	return kube.ConfigFromEKS(found.Endpoint, found.CertificateAuthority, clients.EKSTokenSource(s.EKS.ClusterName)), nil
}
