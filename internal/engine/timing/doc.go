// Package timing owns when to act and when to wait: which bins are launched now and
// which wait for more pods, and how long a node that is up is kept for pods that are
// only declared.
//
// Invariants: pure functions of what is known and of the time that is given; a lone
// pod never waits.
package timing
