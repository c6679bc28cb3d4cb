// Package offer owns what can be bought. A Fleet lists what the NodePools can
// launch. It has one row for each instance type, capacity type or reservation, and
// variant of a pool. A row has its price in every zone, and the room that the
// DaemonSets leave. A Market is the part of a Fleet that can be bought now; its
// ledger counts what limits and reservations have left.
//
// Invariants: a Fleet is immutable, so one Fleet serves for as long as the
// snapshot's Supply and the variants stay the same. Its rows are sorted by price,
// then name, and are known by their index. Units are those of package quantity;
// prices are nano-dollars an hour.
package offer
