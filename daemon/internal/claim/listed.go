package claim

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// listedFor is how long a listing of the cluster's instances answers others who ask the same: a
// sweep comes every half minute, and may be late by half of that. EC2's own listings may be as
// old (listingLag).
const listedFor = 45 * time.Second

// listing is the last answer of EC2 to a sweep. The zero value is none.
type listing struct {
	mu        sync.Mutex
	at        time.Time
	instances []aws.Instance
}

func (l *listing) put(at time.Time, instances []aws.Instance) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at, l.instances = at, slices.Clone(instances)
}

func (l *listing) lately(now time.Time) ([]aws.Instance, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.instances), !l.at.IsZero() && now.Sub(l.at) < listedFor
}

// fleetTags select the instances of the cluster's NodePools; Karpenter's have them, too.
func (c *Controller) fleetTags() map[string]string {
	return map[string]string{awsspec.TagClusterName: c.Cluster().Name, awsspec.TagNodePool: "*"}
}

// Instances is aws.Clients.Instances, where the last sweep's listing answers whoever asks for the
// same instances soon after. It is safe for concurrent use.
func (c *Collector) Instances(ctx context.Context, tags map[string]string) ([]aws.Instance, error) {
	if found, lately := c.listed.lately(c.Now()); lately && maps.Equal(tags, c.fleetTags()) {
		return found, nil
	}
	return c.Cloud.Instances(ctx, tags)
}
