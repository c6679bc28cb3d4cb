package kubeobject

import (
	"context"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/apiserver"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// Cluster is the API server of the provider's cluster, with what the resources in the cluster do
// there.
type Cluster struct{ *apiserver.Client }

// New is the cluster of the client.
func New(client *apiserver.Client) *Cluster { return &Cluster{client} }

// InCluster is a frame for a kind whose object is in the Kubernetes cluster. with gives what its
// life calls.
func InCluster[M managed.Model, C any](b managed.Base, t managed.Times, l managed.Life[M, C], with func(c *Cluster) C) managed.Frame[M, C] {
	open := func(ctx context.Context, b *managed.Base, own ownership.Record) (client C, err error) {
		c, err := Of(ctx, b, own)
		if err != nil {
			return client, err
		}
		return with(c), nil
	}
	return managed.New(b, t, l, open, func(c C) C { return c })
}

// Of gives the cluster if it is the one in own.
func Of(ctx context.Context, b *managed.Base, own ownership.Record) (*Cluster, error) {
	client, err := b.Cluster(ctx, own)
	if err != nil {
		return nil, err
	}
	return New(client), nil
}
