package drifted

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

const (
	// SalesEvery is how often EC2 is asked at most where it sells an instance type.
	SalesEvery = time.Hour
	// salesAge is how long its answer counts while EC2 gives no newer one.
	salesAge = 2 * SalesEvery
)

// sale is EC2's last answer about an instance type.
type sale struct {
	tried, answered time.Time
	zones           []string // that sell it
}

// askSales asks EC2 where it sells the types of which the catalogue does not say so, if it
// is time to. An error counts as a question: EC2 is asked again when it is time.
func (k *Keeper) askSales(ctx context.Context, known knowledge, claims []*v1.NodeClaim, now time.Time) error {
	maps.DeleteFunc(k.sales, func(_ string, s sale) bool { return now.Sub(s.tried) >= salesAge })
	ask := map[string]bool{}
	for _, c := range claims {
		name := c.Labels[label.InstanceType]
		if s, tried := k.sales[name]; known.unsure(c) && (!tried || now.Sub(s.tried) >= SalesEvery) {
			ask[name] = true
		}
	}
	if len(ask) == 0 {
		return nil
	}
	if k.sales == nil {
		k.sales = map[string]sale{}
	}
	types := slices.Sorted(maps.Keys(ask))
	ctx, cancel := context.WithTimeout(ctx, listWait)
	defer cancel()
	zones, err := k.Cloud.InstanceTypeZones(ctx, types)
	for _, name := range types {
		s := k.sales[name]
		if s.tried = now; err == nil {
			s.answered, s.zones = now, zones[name]
		}
		k.sales[name] = s
	}
	if err != nil {
		return fmt.Errorf("instance types %v look up: %w", types, err)
	}
	return nil
}

// unsure says whether the catalogue does not know that EC2 sells the NodeClaim's instance
// type in its zone. The catalogue has what AWS said last, up to half a day ago, and a class
// the zones of its subnets.
func (n knowledge) unsure(c *v1.NodeClaim) bool {
	name, zone := c.Labels[label.InstanceType], c.Labels[label.Zone]
	t, known := n.types[c.Spec.NodeClassRef.Name][name]
	sells := known && (zone == "" || slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool { return o.Zone == zone }))
	return name != "" && !sells
}

// saleOf says whether EC2 sells the NodeClaim's instance type where the node is. An answer
// from before the NodeClaim is no evidence: EC2 has sold it since.
func (n knowledge) saleOf(c *v1.NodeClaim) drift.Sale {
	name, zone := c.Labels[label.InstanceType], c.Labels[label.Zone]
	s := n.sales[name]
	switch {
	case name == "":
		return drift.SaleUnknown
	case !n.unsure(c):
		return drift.Sold
	case s.answered.IsZero() || s.answered.Before(c.CreationTimestamp.Time) || n.now.Sub(s.answered) >= salesAge:
		return drift.SaleUnknown
	case len(s.zones) == 0:
		return drift.NotSold
	case zone != "" && !slices.Contains(s.zones, zone):
		return drift.NotSoldInZone
	}
	return drift.Sold
}
