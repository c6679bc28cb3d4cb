// Package legacyapi serves the kinds that Karpenter had before v1. Each Provisioner becomes
// a NodePool and an EC2NodeClass of its name, which exist in the daemon's memory only: all
// other packages see ordinary objects of v1. What is written to them is written to the
// Provisioner, as far as it has a place for them, and AWSNodeTemplates get the status that
// they had.
//
// A NodePool or EC2NodeClass of the same name in the cluster wins: it takes over the nodes,
// and the Provisioner says so. A Provisioner that cannot be served keeps its nodes, and
// nothing is launched from it.
//
// Invariants: what is in memory follows from the objects in the cluster, the settings and
// the version of Kubernetes alone, status included, so that a daemon that starts anew finds
// what the one before had. A version is as new as the newest object that it is made of. The
// daemon never changes a spec.
package legacyapi
