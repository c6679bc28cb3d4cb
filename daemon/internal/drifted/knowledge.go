package drifted

import (
	"context"
	"fmt"
	"time"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

const (
	// ListEvery is how often EC2 is asked for the instances.
	ListEvery = time.Minute
	// listWait is how long EC2 may take to answer.
	listWait = 25 * time.Second
	// evidenceAge is how long an answer counts while EC2 gives no newer one.
	evidenceAge = 5 * time.Minute
)

// listing is EC2's last answer, by provider id.
type listing struct {
	tried, answered time.Time
	instances       map[string]aws.Instance
}

// list asks EC2 for the instances of the cluster's pools, if it is time to. Instances
// that Karpenter launched have the same two tags.
func (k *Keeper) list(ctx context.Context, now time.Time) error {
	if !k.listing.tried.IsZero() && now.Sub(k.listing.tried) < ListEvery {
		return nil
	}
	k.listing.tried = now
	ctx, cancel := context.WithTimeout(ctx, listWait)
	defer cancel()
	found, err := k.Cloud.Instances(ctx, map[string]string{awsspec.TagClusterName: k.Cluster, awsspec.TagNodePool: "*"})
	if err != nil {
		return fmt.Errorf("instances list: %w", err)
	}
	k.listing.answered, k.listing.instances = now, make(map[string]aws.Instance, len(found))
	for _, i := range found {
		k.listing.instances[awsspec.ProviderID(i.Zone, i.ID)] = i
	}
	return nil
}

// knowledge is what one sweep knows. It is not changed after compare has begun.
type knowledge struct {
	pools     map[string]*drift.Pool
	classes   map[string]*drift.Class
	types     map[string]map[string]*catalog.InstanceType // by class and name
	instances map[string]aws.Instance
	sales     map[string]sale // by instance type
	now       time.Time
}

func (k *Keeper) collect(now time.Time) knowledge {
	out := knowledge{pools: map[string]*drift.Pool{}, classes: map[string]*drift.Class{}, types: map[string]map[string]*catalog.InstanceType{}, now: now}
	for _, p := range k.World.NodePools() {
		out.pools[p.Name] = drift.ReadPool(p)
	}
	for _, c := range k.World.EC2NodeClasses() {
		out.classes[c.Name] = drift.ReadClass(c)
		view, _ := k.World.TypesOf(c.Name)
		byName := make(map[string]*catalog.InstanceType, len(view.Types))
		for i := range view.Types {
			byName[view.Types[i].Name] = &view.Types[i]
		}
		out.types[c.Name] = byName
	}
	if now.Sub(k.listing.answered) < evidenceAge {
		out.instances = k.listing.instances
	}
	return out
}

// evidence is what is known about the NodeClaim.
func (n knowledge) evidence(c *v1.NodeClaim) drift.Evidence {
	class := c.Spec.NodeClassRef.Name
	e := drift.Evidence{Claim: c, Pool: n.pools[c.Labels[v1.LabelNodePool]], Class: n.classes[class], Sale: n.saleOf(c)}
	if t, known := n.types[class][c.Labels[label.InstanceType]]; known {
		e.TypeLabels = t.Labels
	}
	if i, there := n.instances[c.Status.ProviderID]; there && !i.Gone() {
		e.Instance = &drift.Instance{Image: i.ImageID, Subnet: i.SubnetID, SecurityGroups: i.SecurityGroupIDs, Reservation: i.Reservation}
	}
	return e
}
