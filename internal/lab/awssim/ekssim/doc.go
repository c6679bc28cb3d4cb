// Package ekssim is the simulated EKS: clusters that the laboratory seeds, and
// the access entries that say which IAM principals come in, as whom and with
// what rights, and the Pod Identity associations that say which IAM role the
// pods of a service account have.
//
// Invariants: one entry for each principal of a cluster; an entry of a node
// type has its username and groups fixed by that type and takes no access
// policies; one association for each service account of a cluster. Clusters cannot be created over the wire.
package ekssim
