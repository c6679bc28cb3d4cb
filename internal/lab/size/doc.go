// Package size measures how much room the daemon takes in a large cluster: it
// fills a laboratory that has an API server and no controllers, runs the daemon
// there as it is deployed, and reads its memory, its CPU time and how soon it
// has decided. Then pods change, some of them can never run and others need a
// node; and the leader is killed, and the next one told to end.
//
// What is written is as large as in clusters of people: pods of some 11 KB of
// JSON with the statuses that a kubelet writes, ReplicaSets of earlier revisions,
// nodes that list their images. Half of the nodes belong to NodeClaims with
// instances in the simulated EC2, and no node is worth replacing, so that the
// daemon has nothing to do and keeps still.
//
// Invariants: the objects are the same in every run; nothing outlives Run. Sizes
// are bytes, of memory resident ones as the kernel counts them.
package size
