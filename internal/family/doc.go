// Package family has one type for each family of images: how its images are found, what
// an instance must be told to join the cluster, which volumes it boots with, and how much
// its kubelet keeps from pods. A new family is a new file here, and a line in families.
//
// Invariants: pure: it never calls AWS, and never reads a clock or the environment; equal
// input gives byte-identical text. Sizes are GiB and bytes as the names say. Errors name
// the field, the value and the remedy.
package family
