// Package memo keeps values that are made on first use.
//
// Invariant: a value is made once, also where several ask for it at a time. A failure is not kept.
package memo
