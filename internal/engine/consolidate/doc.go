// Package consolidate searches the fleet for nodes that may be deleted to save money:
// the target is the cheapest fleet that it finds for the pods that run, of nodes that
// stay and new ones, where each new node must save a share of its price and each pod
// that moves has a price.
//
// Invariants: the search changes a copy of the fleet (the shadow), never the fleet. A pod
// that moves is a guest of one node, and only pods of deleted nodes are guests. The
// search is pure, and its work is bounded by Question.Trials. The shadow knows requests,
// labels, taints, zones and what excludes pods from sharing a node; it does not know all
// rules between pods. So each move is checked by a whole plan before anything is done. An
// Image is what a search begins with; brought up to date, it equals one that is built anew,
// and a Look at it tries single nodes.
package consolidate
