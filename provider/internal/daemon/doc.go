// Package daemon is the resource karpenter_daemon: the daemon's objects in the cluster, and the
// definitions of Karpenter's kinds.
//
// Invariants:
//   - The daemon is not installed beside another controller that launches nodes.
//   - Objects of others are used as they are, and never deleted. A definition that is adopted
//     gets the daemon's content and outlives it.
//   - The daemon is removed only when nothing is left that it alone can finish: objects in the
//     cluster, then instances and what was made for them in AWS.
package daemon
