package catalog

import (
	"cmp"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Offering is one way to buy an instance type: a zone and a capacity type.
type Offering struct {
	Zone, ZoneID string
	CapacityType string         // label.OnDemand, label.Spot or label.Reserved
	Price        quantity.Money // an hour
	// Available is false where no price is known, or where the node image does not
	// run on the type. It does not say whether EC2 has run out of capacity.
	Available bool
	// StandIn says that the price stands in for one that nobody knows; see
	// Market.WithStandIns. It is good enough to choose by, and no proof that a node costs
	// less than another.
	StandIn bool
	// Reservation, Left and Counted are set where the capacity type is reserved.
	// Reservation is the reservation's id. Left is how many more instances it had
	// room for at the time Counted; an instance that is launched later takes from
	// Left. The reservation is paid for already, so that Price is almost zero; see
	// Build.
	Reservation string
	Left        int64
	Counted     time.Time
}

// Labels are the node labels that the offering decides, sorted.
func (o Offering) Labels() label.Labels {
	l := make(label.Labels, 0, 6)
	if o.Reservation != "" {
		l = append(l,
			label.Label{Key: label.Reservation, Value: o.Reservation},
			label.Label{Key: label.ReservationInterruptible, Value: "false"},
			label.Label{Key: label.ReservationType, Value: DefaultReservation},
		)
	}
	l = append(l, label.Label{Key: label.CapacityType, Value: o.CapacityType})
	if o.ZoneID != "" {
		l = append(l, label.Label{Key: label.ZoneID, Value: o.ZoneID})
	}
	return append(l, label.Label{Key: label.Zone, Value: o.Zone})
}

// OfferingKey names one offering. Reservation is set with capacity type
// reserved, since another reservation of the same type may still have room.
type OfferingKey struct{ CapacityType, InstanceType, Zone, Reservation string }

// Compare orders keys by their fields.
func (k OfferingKey) Compare(o OfferingKey) int {
	return cmp.Or(strings.Compare(k.CapacityType, o.CapacityType), strings.Compare(k.InstanceType, o.InstanceType),
		strings.Compare(k.Zone, o.Zone), strings.Compare(k.Reservation, o.Reservation))
}

// DefaultReservation is the type of an on-demand capacity reservation.
// Reservations of other types have no offering.
const DefaultReservation = "default"

// InstanceType is an instance type as one node class sees it: what a node of it
// offers to pods, the labels that it will carry, and where it can be bought.
type InstanceType struct {
	Name        string
	Labels      label.Labels // every well-known label but zone and capacity type
	Capacity    quantity.Resources
	Allocatable quantity.Resources
	Smaller     []Smaller  // where Allocatable is less than the catalogue says; see AsReported
	EBSVolumes  int64      // that pods can have attached; 0 where that is not known
	MaxPods     int64      // that the kubelet has to be told; 0 where the image's own number is right
	Offerings   []Offering // sorted by zone; reserved ones first
	// Kubelet has the settings of the kubelet as JSON, where expressions of the node class
	// make them others for each type; empty where there are none.
	Kubelet string
}
