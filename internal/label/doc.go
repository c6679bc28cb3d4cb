// Package label holds node labels and the algebra of requirements on them.
//
// A Requirement is the set of values that one label may have, together with
// whether the label may be absent; a Requirements is a conjunction, one
// Requirement per key. Both are immutable and kept in a canonical form, so
// that equal sets compare equal.
//
// Sources of the rules: node affinity of the Kubernetes API (a label that is
// absent satisfies NotIn and DoesNotExist and nothing else; Gt and Lt compare
// base-10 integers), and Karpenter's Gte and Lte.
package label
