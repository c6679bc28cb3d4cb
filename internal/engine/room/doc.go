// Package room owns the room that exists or is on its way: nodes, and NodeClaims
// that become nodes. A running node takes pods now. A kept node is up, but the
// daemon's own taint keeps pods away until the node opens. A Host says what a pod
// may rely on there: labels, taints and free resources. Free resources leave out
// running pods, DaemonSet pods still to come, and pods that others than the daemon
// nominated for the node.
//
// Invariants: each node is looked at once in a try. A node takes no pods if it is
// cordoned, is leaving, was up and is not Ready, or did not become ready in time. A
// Host whose instance type is not decided promises only what every type that it may
// become has. Units are those of package quantity.
package room
