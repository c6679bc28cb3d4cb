// Package disrupt decides which nodes go, and why: interrupted nodes, nodes that
// have been empty for long enough, and nodes that never came up.
//
// Invariants: a node that runs pods goes for an interruption only. No node goes that
// gets a pod in the same plan, or for which others nominated a pod. Every removal
// has a typed reason.
package disrupt
