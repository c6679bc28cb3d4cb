// Package static keeps the number of nodes of static pools (spec.replicas). It decides
// which nodes such a pool lacks and which it has too many of. Pods ask for neither: a
// static pool launches no node for them, and its nodes are never deleted to save money.
//
// Invariants: a node counts if it is there or on its way, and neither leaves nor is
// about to be deleted for another to take its place. So the replacement of a deleted node
// counts, and the node does not. Launches keep within limits.nodes, which counts every
// NodeClaim. What is too many is deleted whatever budgets say: the user asked for it. A
// node that is not up is deleted at once. Of the others the pods get places first, on new
// nodes of other pools if need be, as far as there are any.
package static
