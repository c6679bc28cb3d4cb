// Package noderole is the resource karpenter_node_role: the IAM role of instances and its
// access entry in the cluster.
//
// Invariants:
//   - A role that exists without this configuration is never changed or deleted.
//   - Role and access entry are deleted only when no instance needs them.
package noderole
