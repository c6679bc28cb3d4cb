// Package static keeps the number of nodes of static pools (spec.replicas). It decides
// which nodes such a pool lacks and which it has too many of. Pods ask for neither: a
// static pool launches no node for them, and its nodes never go to save money.
//
// Invariants: a node counts if it is there or on its way, and neither leaves nor is
// going for another to take its place. So the replacement of a node that goes counts,
// and the node does not. Launches keep within limits.nodes, which counts every
// NodeClaim. What is too many goes at once, whatever budgets say: the user asked for it.
package static
