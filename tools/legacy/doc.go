// Package legacy holds the types and definitions that Karpenter had before v1 against what
// the daemon serves of them: fields, names, what the types serialise, what is refused, and
// the user data of instances. Its module is apart from tools/upstream, as libraries of 2023
// do not build beside those of v1.
//
// Invariants: tests only. Nothing here reaches the product.
package legacy
