// Package timing decides when to act and when to wait: which bins are launched now,
// which wait for more pods, and how long a node that is up is kept for declared
// pods.
//
// Invariants: all functions are pure; the caller gives the time. A lone pod never
// waits.
package timing
