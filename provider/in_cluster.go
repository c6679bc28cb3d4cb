package provider

import (
	"context"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/apiserver"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// cluster is the API server of the provider's cluster, with what the resources in the cluster do
// there.
type cluster struct{ *apiserver.Client }

// inCluster is a frame for a kind whose object is in the Kubernetes cluster.
func inCluster[M managed.Model](b managed.Base, t managed.Times, l managed.Life[M, *cluster]) managed.Frame[M, *cluster] {
	return managed.New(b, t, l, clusterOf, func(c *cluster) *cluster { return c })
}

// clusterOf gives the cluster if it is the one in own.
func clusterOf(ctx context.Context, b *managed.Base, own ownership.Record) (*cluster, error) {
	client, err := b.Cluster(ctx, own)
	if err != nil {
		return nil, err
	}
	return &cluster{client}, nil
}
