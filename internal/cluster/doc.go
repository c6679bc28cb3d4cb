// Package cluster holds what the decision core knows of a cluster: pods, nodes,
// NodeClaims, pools, classes, and the demand that controllers have declared but
// not yet created, as one immutable Snapshot.
//
// Invariants: objects are identified by string ids, never by pointers; every
// slice of a Snapshot is sorted by its id; nothing in a Snapshot changes after
// New or Apply returned it, and callers must not change what it hands out.
// Units are those of package quantity. Times come in as data; nothing here
// reads a clock.
package cluster
