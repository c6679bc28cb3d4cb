// Package bound proves what a demand costs at least. It turns the prices that
// package price found into a certificate in integers, and checks such a
// certificate against the problem: no offer may hold more worth than it costs,
// however it is filled, and what is there in limited number counts against the
// bound with the worth that its room has beyond its price.
//
// Nodes are whole. A demand that needs a part of a node costs at least as much as a
// node that holds any of the pods. A demand that needs more than one node costs at
// least as much as two.
//
// Pods of which few fit a node may have a surcharge beside the prices of their
// resources. Then no offer may hold a content whose surcharges are worth more than its
// price less the worth of its room.
//
// Rules say which pods may share a node. The bound leaves them out, which only
// lowers it. A problem may also state a rule as a resource: pods of which no two may
// share a node need one each of a resource that every node has one of.
//
// Invariants: exact, in 128 bits; the bound is rounded down and never negative;
// it is never above the cost of any set of bins that holds the classes.
// Units: nano-dollars an hour; prices are those over 2^Scale, for each unit.
package bound
