// Package dump owns reading the objects of a cluster from files: what "kubectl get -o yaml" and
// "-o json" write, manifests, Lists and several documents in one file, packed by gzip or not.
//
// Invariants: a large List is read object by object, and not as a whole; an object that cannot be
// read is named with its file and is left out. A file that breaks off is an error, as far as that
// shows: JSON, gzip and the Lists that kubectl writes as YAML have an end, other YAML has none. A
// List of nothing is read, a file of nothing is an error.
package dump
