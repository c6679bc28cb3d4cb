// Package failure owns the errors that resources share, and says what to do about each.
//
// Invariants:
//   - An error says what is wrong, and its remedy says what to do. Neither is in the other.
//   - The remedy of an error is the same for all resources. What differs is the import block.
package failure
