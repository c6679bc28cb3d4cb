// Package disrupt decides which nodes go, and why: those that are interrupted, empty
// for long enough, or that never came up.
//
// Invariants: a node that runs pods goes for an interruption only; every removal has
// a typed reason.
package disrupt
