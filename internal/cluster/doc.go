// Package cluster holds what the decision core knows of a cluster: pods, nodes,
// NodeClaims, pools, classes, and the demand that controllers have declared but
// not yet created, as one immutable Snapshot.
//
// Invariants: objects are identified by string ids, never by pointers; every
// slice of a Snapshot is sorted by its id; nothing in a Snapshot changes after
// New or Apply returned it, and callers must not change what it hands out.
//
// A Snapshot is a persistent index: Apply shares with the previous one all that
// a delta does not touch. Pods are kept by group (Group: those that are
// interchangeable to the packer), nodes with what they carry (Load) and by their
// free room, NodeClaims by whether anything is still to be done about them
// (Unsettled), and what new nodes can be made of is one Supply. Each of these is
// the same pointer for as long as nothing about it changes, so that what is
// computed of it can be kept by the pointer. Whatever the order of events, the
// index says what one says that is built of the same objects at once.
//
// Units are those of package quantity. Times come in as data; nothing here
// reads a clock.
package cluster
