package plan

import (
	"strconv"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Certificate proves that every choice of new nodes that carries the demand costs
// at least Bound. Package proof checks a certificate from the raw objects. The price
// of a node is that of its instance, and what a node of its class costs beside it:
// volumes, a public address, and NodeCost. Nodes that exist cost nothing.
//
// The argument is linear programming duality. A certificate gives every group of
// pods a price for each resource. With these prices, the pods on a node that can be
// launched are never worth more than the node costs, however it is filled. So every
// fleet that carries all pods costs at least what the pods are worth. Nodes are
// whole, which raises the bound: pods that need a part of a node cost as much as the
// cheapest node that holds any of them, and pods that need more than one node cost as
// much as two.
//
// Prices of resources do not see that a node may have room that no pod fits. So a
// group may have a surcharge: what each of its pods is worth beside its resources. A
// node that can be launched then costs at least its room at the prices, and the
// surcharges of any pods that fit on it together.
//
// Pods that need a node each are counted by a resource of their own, see Exclusive: each
// of these pods takes one unit, and each node has one unit. There are two kinds of
// such sets. In the first, no two pods may share a node, because of a host port, or
// because of anti-affinity between them over hostnames or zones. The second comes
// from pods that are spread over zones: each zone that must get some of them needs a
// new node. Only zones where a pool sells a place for the pods count, since the
// scheduler does not count a zone before a node is there. Pods that must share one
// node count as one big pod. Room that exists already (on nodes, in reservations)
// lowers the bound by what the room is worth. Other rules between pods, and
// minValues, are left out. That makes the bound lower and keeps it valid.
//
// There are two bounds. The bound of an increment is on the new nodes only: bound
// pods stay, and the free room of nodes, present or on the way, costs nothing. The
// bound from scratch is on the whole fleet: all pods need a place, and none of our
// nodes exists. Nodes that are not ours stay in both bounds, with their pods. The
// bound from scratch keeps pods apart by the rules that they have now. So a fleet may
// cost less than this bound while two pods share a node that they came to before they
// had the rule.
type Certificate struct {
	Scratch bool // the bound is on the whole fleet
	// Going names the NodeClaims that are about to be deleted although nothing forces
	// that, sorted. To the bound of an increment they are like those that are being
	// deleted.
	Going []string `json:",omitempty"`
	// NodeCost is what the policy adds to the price of each new node, an hour. The
	// bound assumes it; no object says it.
	NodeCost   quantity.Money `json:",omitempty"`
	Bound      quantity.Money // nano-dollars an hour, rounded down
	Scale      uint           // Prices are nano-dollars an hour times 2^Scale, for each unit
	Dimensions []Dimension
	Demand     []DemandPrice // sorted by group
	// Unpriced lists the offerings left out because their price is not known, by
	// OfferingName, sorted.
	Unpriced []string
}

// OfferingName names one way to buy an instance type: type/capacity type/zone.
func OfferingName(instanceType, capacityType, zone string) string {
	return instanceType + "/" + capacityType + "/" + zone
}

// Exclusive names the n-th set of pods that need a node each. The name stands where
// otherwise a resource is named. A group of pods is in the set if it has a price for
// the name. No resource has this name, since resource names have no space.
func Exclusive(n int) string { return exclusive + strconv.Itoa(n) }

// IsExclusive says whether Exclusive made the name.
func IsExclusive(name string) bool { return strings.HasPrefix(name, exclusive) }

const exclusive = "exclusive set "

// Dimension is one resource, counted in whole units. A demand and a capacity both
// count as the largest number of units that fit into them. With a Unit of 1 the
// dimension is the resource itself. Rounding both down is sound: pods that fit on a
// node still fit, since their whole units add up to no more than the node's.
type Dimension struct {
	Resource string // or Exclusive
	Unit     int64
}

// DemandPrice is one group of pods of the demand, and its prices.
type DemandPrice struct {
	Group string // key of the group
	Count int64  // pods, declared ones included
	// Together says that all pods of the group must share one node, so that they
	// count as one big pod: they have affinity to each other over hostnames, and no
	// other pod meets that affinity.
	Together  bool
	Prices    []int64 // for each dimension; not negative
	Surcharge int64   // nano-dollars an hour times 2^Scale for each pod; not negative
}
