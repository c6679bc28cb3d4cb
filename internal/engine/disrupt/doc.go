// Package disrupt decides which nodes go, and why: those that are interrupted, empty
// for long enough, or that never came up.
//
// Invariants: a node that runs pods goes for an interruption only; no node goes that
// gets a pod in the same plan, or has one to come that others nominated; every removal
// has a typed reason.
package disrupt
