// Package policydoc has policy documents of AWS in plans and states.
//
// Invariant: a document that means the same to AWS as the one before it keeps the spelling of
// that one, so that a plan shows only what changes.
package policydoc
