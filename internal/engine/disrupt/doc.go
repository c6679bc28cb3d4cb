// Package disrupt decides which nodes are deleted, and why: interrupted nodes, nodes that
// never came up, nodes that have been empty for long enough, nodes that expire or have
// drifted, and the next step of nodes that are deleted to save money.
//
// Invariants: a node whose deletion nothing forces is deleted only after its pods have
// places that are ready, after the taint, and after a last look at its pods; until then it
// may be restored. No node is deleted that gets a pod in the same plan, or for which
// others nominated a pod. Every removal has a typed reason, and every node that stays, too.
package disrupt
