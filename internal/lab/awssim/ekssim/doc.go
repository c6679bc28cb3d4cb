// Package ekssim is the simulated EKS: clusters that the laboratory seeds, and
// the access entries that say which IAM principals come in, as whom and with
// what rights.
//
// Invariants: one entry for each principal of a cluster; an entry of a node
// type has its username and groups fixed by that type and takes no access
// policies. Clusters cannot be created over the wire.
package ekssim
