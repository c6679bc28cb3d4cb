// Package controllerrole is the resource karpenter_controller_role: the IAM role of the daemon,
// its policies, and how the daemon's service account gets it.
//
// Invariants:
//   - The policies allow the calls that the daemon makes, and no others.
//   - The role is deleted only when the cluster's node pools have no instance, or another role
//     serves the daemon.
package controllerrole
