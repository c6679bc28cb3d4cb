// Package offer owns what can be bought. A Fleet lists what the NodePools can
// launch: one row for each instance type, capacity type and variant of a pool, with
// its price in every zone and the room that the DaemonSets leave on it. A Market is
// what of it can be bought now; its Ledger counts what limits and reservations have
// left.
//
// Invariants: a Fleet is immutable, so it can be kept for as long as the snapshot's
// Supply stays the same; its rows are sorted by price, then name, and known by their
// number. Units are those of package quantity; prices are nano-dollars an hour.
package offer
