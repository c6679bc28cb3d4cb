package provider

import (
	"context"
)

// cluster is the API server of the provider's cluster, with what the resources in the cluster do
// there.
type cluster struct{ *clusterClient }

// inCluster is a frame for a kind whose object is in the Kubernetes cluster.
func inCluster[M model](b base, t times, l life[M, *cluster]) frame[M, *cluster] {
	return newFrame(b, t, l, clusterOf, func(c *cluster) *cluster { return c })
}

// clusterOf gives the cluster if it is the one in own.
func clusterOf(ctx context.Context, b *base, own made) (*cluster, error) {
	client, err := b.cluster(ctx, own)
	if err != nil {
		return nil, err
	}
	return &cluster{client}, nil
}
