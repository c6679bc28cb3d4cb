// Package room owns the room that exists or is on its way: nodes, and NodeClaims
// that become nodes. A Host says what a pod may rely on there: labels, taints, and
// what is free beside what runs, what DaemonSets will take and what is for pods that
// others nominated.
//
// Invariants: each node is looked at once in a try; a node that is cordoned, goes,
// is not ready or did not come up in time takes no pods; a Host whose type is not decided promises only what
// every type it may become has. Units are those of package quantity.
package room
