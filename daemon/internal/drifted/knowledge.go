package drifted

import (
	"context"
	"fmt"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
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
	pools     map[string]*drift.Pool // without those of which nothing is known
	classes   map[string]*drift.Class
	types     map[string]map[string]*catalog.InstanceType // by class and name
	instances map[string]aws.Instance
	sales     map[string]sale // by instance type
	now       time.Time
}

func newKnowledge() knowledge {
	return knowledge{pools: map[string]*drift.Pool{}, classes: map[string]*drift.Class{}, types: map[string]map[string]*catalog.InstanceType{}}
}

// readPool reads the NodePool, and returns the stamp that it should have. A NodePool of which a
// part cannot be read has none: its hash would be that of the rest.
func (n knowledge) readPool(p *v1.NodePool) map[string]string {
	if p.Unread != "" {
		return nil
	}
	read := drift.ReadPool(p)
	if read == nil {
		return drift.PoolStamp(p)
	}
	n.pools[p.Name] = read
	return read.Stamp()
}

// readClass does the same with the EC2NodeClass. One that is refused has no stamp, either.
func (n knowledge) readClass(c *awsv1.EC2NodeClass) map[string]string {
	if c.Unread != "" || len(translate.RefusedOfClass(c)) > 0 {
		return nil
	}
	read := drift.ReadClass(c)
	if read == nil {
		return drift.ClassStamp(c)
	}
	n.classes[c.Name] = read
	return read.Stamp()
}

// readTypes reads the instance types of all classes.
func (n knowledge) readTypes(w Objects) {
	for _, c := range w.EC2NodeClasses() {
		view, _ := w.TypesOf(c.Name)
		byName := make(map[string]*catalog.InstanceType, len(view.Types))
		for i := range view.Types {
			byName[view.Types[i].Name] = &view.Types[i]
		}
		n.types[c.Name] = byName
	}
}

// complete adds what only NodeClaims are compared with.
func (k *Keeper) complete(known *knowledge, now time.Time) {
	known.now = now
	known.readTypes(k.World)
	if now.Sub(k.listing.answered) < evidenceAge {
		known.instances = k.listing.instances
	}
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
