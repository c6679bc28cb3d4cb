// Package dump owns reading the objects of a cluster from files: what "kubectl get -o yaml" and
// "-o json" write, manifests, Lists and several documents in one file, packed by gzip or not.
//
// Invariants: a large List is read object by object, and not as a whole; an object that cannot be
// read is named with its file and is left out, and a file that breaks off is an error.
package dump
