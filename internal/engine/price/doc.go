// Package price finds what resources are worth: prices such that no node that
// can be bought holds more worth of pods than it costs, and the worth of the
// whole demand is as high as possible. That worth is a lower bound of the cost
// of any fleet (linear programming duality), and the prices steer the packing.
//
// Classes of pods that can use the same offers share their prices (a signature).
// A dimension is a resource counted in whole units: unit 1 is the resource
// itself, larger units make the bound see that big pods leave room they cannot
// use (a Chvatal-Gomory cut: demand and capacity are both rounded down). A
// resource of which every node has one counts nodes; it is looked at only where
// they would be too few.
//
// Cover is another program, for pods so big that every content of a node can be
// listed: it chooses among those, and says nothing of what resources are worth.
//
// Invariants: floating point is used only between the integers that come in and
// the integers that go out; the prices that go out are feasible exactly, checked
// in 128 bits. A work limit ends the search early, with lower prices.
// Units: prices are nano-dollars an hour over 2^Scale.
package price
