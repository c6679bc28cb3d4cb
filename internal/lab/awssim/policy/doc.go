// Package policy reads IAM policy documents and decides by them. It owns the
// grammar (statements, principals, conditions, wildcards, variables) and the
// rule that an explicit deny wins; it knows nothing of users, roles, requests
// over the wire or state.
//
// Invariants: a Document is immutable once parsed; Evaluate is a pure
// function; an operator or element that is not carried out here is refused by
// Parse, never ignored.
//
// Source of the rules: the IAM user guide, "IAM JSON policy reference" and
// "Policy evaluation logic".
package policy
