// Command versus lets Karpenter's own scheduler and the decision core decide on
// the same pods with the same instance types, and prints both results side by
// side:
//
//	versus -peer ./peer [-case w1] [-list]
//
// The peer is the program of tools/peer, in a process of its own with both
// cores; our Step runs on one. Both times are of the decision alone, with
// everything indexed before. A cost is the sum of the cheapest offerings that
// the nodes may still become. `make bench-peer` builds the peer and runs this.
package main
