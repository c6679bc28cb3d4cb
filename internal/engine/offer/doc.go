// Package offer owns what can be bought. A Fleet lists what the NodePools can
// launch. It has one row for each instance type, capacity type or reservation, and
// variant of a pool. A row has the price of a whole node in every zone (the instance,
// and what its class and the policy add), and the room that the DaemonSets leave. A
// Market is the part of a Fleet that can be bought now; its ledger counts what limits
// and reservations have left.
//
// Invariants: a Fleet is immutable, so one Fleet serves for as long as the
// snapshot's Supply, the variants and the node cost stay the same. Its rows are sorted by price,
// then name, and are known by their index. Units are those of package quantity;
// prices are nano-dollars an hour.
package offer
