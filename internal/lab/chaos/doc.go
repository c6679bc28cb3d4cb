// Package chaos lets the daemon live through days on which everything goes wrong: in a
// laboratory, faults that are drawn from a seed begin and end while workloads come and go, and an
// observer holds from outside that what must never happen does not.
//
// A run has rounds. In each of them faults are in force for a while; then all end, and calm has to
// come back within a bounded time: all pods run, and nothing is left over. A schedule is the same
// for the same seed. A run that fails is cut down to the shortest schedule that still fails.
//
// Invariants: the observer reads EC2's own list and the API server with the administrator's eyes,
// never what the daemon says of itself, its process excepted (memory, goroutines).
package chaos
