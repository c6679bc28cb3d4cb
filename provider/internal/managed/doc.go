// Package managed has what all managed resources share: the operations around the life of an
// object, and the attributes, tags, waits and diagnostics that many resources have.
//
// Invariants:
//   - A kind of resource says only what it does with its object: its Life. The Frame reads plan
//     and state, bounds the operation, keeps the record of what was made, undoes a creation that
//     has failed, saves and reports, in one way for all kinds.
//   - A creation that fails leaves no state, unless the undo fails. A creation whose wait runs
//     out is a warning, and the next apply continues to wait.
//   - An error names the operation, the object, what is wrong and the remedy.
//   - A plan works while AWS does not answer: it asks for a short time, and only warns.
package managed
