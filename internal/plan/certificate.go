package plan

import (
	"strconv"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Certificate proves that no choice of new nodes carries the demand for less
// than Bound. Package proof checks it from the raw objects. It gives every
// group of pods prices for resources, such that no node that can be launched
// holds more worth of pods than it costs, however it is filled; then the worth of
// all pods is a lower bound of the cost of any fleet that carries them (linear
// programming duality). Nodes are whole: what needs a part of one costs as much as
// one that holds any of the pods, and what needs more than one as much as two.
//
// A set of pods that need a node each is a resource, too: each of them takes one
// of it, and a node has one. They are those of which no two may share a node (host
// ports, and anti-affinity over hostnames or zones that they have against each
// other); and, where new nodes are for pods spread over zones, one in each zone that
// must get some, of the zones where a pool sells a place for them (to the scheduler
// a zone does not count before a node is there). Pods that must share one node are
// one big pod. What exists already (free room on nodes, reservations) counts
// against the bound at the worth of the room it has. Other rules between pods and
// minValues are left out, which keeps the bound valid and makes it lower.
//
// There are two bounds. One is on what is added to what runs: pods that are
// bound stay, and the free room of nodes, there or on their way, is given. The
// other, from scratch, is on the whole fleet: all pods need a place and none of
// our nodes is there. Nodes that are not ours stay in both, with their pods.
// From scratch the pods keep apart as pods do that come now, so that a fleet may
// cost less than its bound while pods share a node that came there before they
// had the rule.
type Certificate struct {
	Scratch    bool           // the bound is on the whole fleet
	Bound      quantity.Money // nano-dollars an hour, rounded down
	Scale      uint           // prices are nano-dollars an hour over 2^Scale, for each unit
	Dimensions []Dimension
	Demand     []DemandPrice // sorted by group
	// Unpriced names the offerings left out because their price is not known, as
	// OfferingName does, sorted.
	Unpriced []string
}

// OfferingName names one way to buy an instance type: type/capacity type/zone.
func OfferingName(instanceType, capacityType, zone string) string {
	return instanceType + "/" + capacityType + "/" + zone
}

// Apart names the n-th set of pods that need a node each, where otherwise a
// resource is named: those groups of pods are in it that have a price for it. It
// is no resource's name since it has a space.
func Apart(n int) string { return apart + strconv.Itoa(n) }

// IsApart says whether a name is one of Apart.
func IsApart(name string) bool { return strings.HasPrefix(name, apart) }

const apart = "apart "

// Dimension is one resource, counted in whole units: a demand and a capacity
// both as the largest number of units that fit into them. With a unit of 1 it is
// the resource itself. Rounding down both sides keeps every valid content of a
// node valid, since whole units add up to no more than the whole.
type Dimension struct {
	Resource string // or Apart
	Unit     int64
}

// DemandPrice is the part of the demand that is one group of pods.
type DemandPrice struct {
	Group string // key of the group
	Count int64  // pods, declared ones included
	// Together says that all of them must share one node, so that they count as
	// one big pod: they have affinity to each other over hostnames, and to no
	// other pod that is there.
	Together bool
	Prices   []int64 // for each dimension; not negative
}
