package catalog

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Offering is one way to buy an instance type: a zone and a capacity type.
type Offering struct {
	Zone, ZoneID string
	CapacityType string         // label.OnDemand, label.Spot or label.Reserved
	Price        quantity.Money // an hour
	// Available is false where no price is known or the node image does not
	// run on the type. What EC2 has run out of is not known here.
	Available bool
	// Reservation and Left are set where the capacity type is reserved: the
	// reservation's id, and how many more instances it has room for. Such an
	// offering is paid for already; its price is what it adds.
	Reservation string
	Left        int64
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
