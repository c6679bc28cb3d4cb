package catalog

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Offering is one way to buy an instance type: a zone and a capacity type.
type Offering struct {
	Zone, ZoneID string
	CapacityType string         // label.OnDemand or label.Spot
	Price        quantity.Money // an hour
	Available    bool           // false: offered, but not to be had (no price, or no subnet)
}

// InstanceType is an instance type as one node class sees it: what a node of it
// offers to pods, the labels that it will carry, and where it can be bought.
type InstanceType struct {
	Name        string
	Labels      label.Labels // every well-known label but zone and capacity type
	Capacity    quantity.Resources
	Allocatable quantity.Resources
	Offerings   []Offering // sorted by zone, then capacity type
}
