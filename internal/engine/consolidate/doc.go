// Package consolidate searches the fleet for nodes that may go to save money: nodes
// whose pods fit on the nodes that stay, and sets of nodes whose pods fit on the nodes
// that stay and on fewer or cheaper new ones.
//
// Invariants: the search changes a copy of the fleet, never the fleet, and carries the
// copy on to the end, so that the moves it returns fit beside each other. A pod moves
// once: no move relies on a node that another move takes away, or on a new node of
// another move. The search is pure, and its work is bounded by Question.Trials. The
// copy knows requests, labels, taints, zones and what excludes pods from sharing a
// node; it does not know all rules between pods. So each move is checked by a whole
// plan before anything is done.
package consolidate
