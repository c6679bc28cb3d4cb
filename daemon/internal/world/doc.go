// Package world keeps what the daemon knows of its cluster: the newest version
// of every object, whether a watch told it or the answer to one of the daemon's
// own writes, and makes the decision core's Snapshot of it.
//
// Invariants: no API calls; an older version never replaces a newer one, and an
// object that is gone does not come back; every write is serialised by one lock
// and objects handed out are never changed. That the daemon's own writes count
// at once is what keeps a decision from being made twice. A Snapshot costs what
// changed since the last and equals one made of all objects afresh.
package world
