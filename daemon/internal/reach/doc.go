// Package reach finds the replica of the daemon that decides, from a user's machine, and
// forwards a port of it. It takes the cluster from a kubeconfig as kubectl does.
//
// Invariant: it reads Leases and forwards a port, and changes nothing in the cluster.
package reach
