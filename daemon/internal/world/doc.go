// Package world keeps what the daemon knows of its cluster, and makes the decision
// core's Snapshot of it. It holds the newest version of every object. A version
// comes from a watch, or from the answer to one of the daemon's own writes. The
// daemon's own writes count at once, so that no decision is made twice.
//
// Invariants: no API calls; an older version never replaces a newer one, and an
// object that is deleted does not come back; one lock serialises every write, and
// objects handed out are never changed. The cost of a Snapshot depends only on what
// changed since the last one. A Snapshot equals one that is made of all objects
// from scratch.
package world
