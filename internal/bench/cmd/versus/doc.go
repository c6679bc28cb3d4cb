// Command versus lets Karpenter's own scheduler and the decision core decide on
// the same pods with the same instance types, prints both results side by side,
// and keeps them in a file for the table of `make bench`:
//
//	versus -peer ./peer [-case w1] [-list] [-out file] [-version ours]
//
// Both sides are measured in the same way: each case in a fresh process of its own,
// once cold, and a few times more on input prepared anew, of which the median is
// called warm. The times are of the decision alone, with everything indexed before.
// The peer uses all cores, our Step one. Each bound of ours is checked with
// internal/proof before it is printed. A cost is the sum of the cheapest offerings
// that the nodes may still become. `make bench-peer` builds the peer (tools/peer)
// and runs this.
//
// Of fleets that were scaled in, Karpenter's disruption methods (emptiness, multi and
// single node) say which nodes are to go, until they find none: each command is carried
// out at once and in full, so that no boot, drain or wait is in the figures. What ours
// makes of the same fleets is what `make bench` plays.
package main
