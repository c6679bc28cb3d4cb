// Package open opens nodes that are up: it nominates the pods that are planned there
// and takes the daemon's own taint off, in this order. Where the daemon may not
// nominate, it keeps small what that costs; see unnominated.go.
//
// Invariants: a node opens once, when the pods planned there exist or are given up;
// a pod that the scheduler makes room for by preemption is never nominated.
package open
