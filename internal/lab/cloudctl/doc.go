// Package cloudctl does what EKS's cloud controller does for nodes: it
// completes a node that registered with the uninitialized taint (topology and
// instance-type labels, addresses) and takes the taint away, and it deletes
// nodes whose instance is gone.
//
// It looks only at nodes with an AWS provider id; every write is a
// consequence of what node and instance look like now, so repeating is safe.
package cloudctl
