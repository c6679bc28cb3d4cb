// Package nodepool is the resource karpenter_node_pool: a NodePool.
//
// Invariants:
//   - A new name is one update: the old pool is deleted only when the new one is ready.
//   - A deletion drains the nodes within their budgets. What then stays is said, or ended by
//     force where that is asked for.
//   - A pool with deletion_protection is never deleted.
package nodepool
