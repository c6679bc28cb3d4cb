// Package quantity holds the units that the decision core counts in: integer
// resource amounts and integer money.
//
// Invariants: no floating point and no parsing of Kubernetes quantities; that
// is done once, in package translate. Values are immutable: every operation
// returns a new value and never shares a slice that it changed.
//
// Units: CPU in millicores, memory and ephemeral storage in bytes, pods and
// extended resources in counts, money in nano-dollars an hour.
package quantity
