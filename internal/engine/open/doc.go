// Package open opens nodes that are up: it nominates the pods that are planned
// there and then takes the daemon's own taint off.
//
// Nodes whose pods need each other by their rules open together: see together.go. Pods
// that found no room may wait for nodes on their way: see await.go.
//
// Invariants: a node opens once, when the pods planned there exist or are given up; a
// node that lacks nothing but devices opens before, for the pods that report them.
// A pod for which the scheduler preempts others is never nominated.
package open
