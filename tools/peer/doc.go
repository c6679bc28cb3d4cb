// Command peer has Karpenter's own scheduler, as released, decide on one batch
// of pending pods, or its disruption methods on a fleet that runs: a question on
// standard input, its answer on standard output, both JSON. It is how `make bench-peer` gets the other column of its table.
//
// It imports nothing of ours: this module pins what Karpenter is released with,
// and its dependencies must not move with the product's. The question is made of
// Kubernetes' own types for that reason.
package main
