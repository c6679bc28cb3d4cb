// Package cluster holds what the decision core knows of a cluster: pods, nodes,
// NodeClaims, pools, classes, and the demand that controllers have declared but
// not yet created, as one immutable Snapshot.
//
// Invariants: objects are identified by string ids, never by pointers; every
// slice of a Snapshot is sorted by its id; nothing in a Snapshot changes after
// New or Apply returned it, and callers must not change what it hands out.
//
// A Snapshot is a persistent index: Apply shares with the previous Snapshot
// everything that the delta does not touch. Pods are indexed by group (Group:
// pods that are interchangeable to the packer), nodes with their pods (Load) and
// by their free room, and NodeClaims by whether they still need attention
// (InTransition). NodeClaims that may become the same use the same memory for what
// says so, and Kinds tells which nodes differ by more than their name. Supply is
// what new nodes can be made of. A Group, a Load or a Supply keeps its pointer as
// long as nothing about it changes, so that callers can cache results by the
// pointer. The order of events does not matter: the
// index says the same as one that is built from all objects at once.
//
// Units are those of package quantity. Times come in as data; nothing here
// reads a clock.
package cluster
