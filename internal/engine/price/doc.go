// Package price finds what resources are worth: prices such that no node that
// can be bought holds more worth of pods than it costs, and the worth of the
// whole demand is as high as possible. By linear programming duality, that worth
// is a lower bound of the cost of any fleet. The prices also steer the packing.
//
// Classes of pods that can use the same offers share their prices (a signature).
// A dimension is a resource counted in whole units. Unit 1 is the resource
// itself. With larger units, the bound sees that big pods leave room that they
// cannot use (a Chvatal-Gomory cut: demand and capacity are both rounded down). A
// resource of which every node has one counts nodes. It has a row in the linear
// program only where the program would buy too few nodes without it.
//
// Where few pods fit a node, prices of resources do not see the room that no pod
// fits. Such classes can be counted whole: each has a row of its own in the linear
// program, and offers come with contents, which package knapsack finds as they are
// needed (column generation). The price of the row is a surcharge: what a pod is worth
// beside its resources. What the program would buy says which pods fit together.
//
// Invariants: floating point is used only between the integers that come in and
// the integers that are returned; the prices that are returned are feasible exactly,
// checked in 128 bits. A work limit ends the search early, and the prices are lower then.
// Units: prices are nano-dollars an hour over 2^Scale.
package price
