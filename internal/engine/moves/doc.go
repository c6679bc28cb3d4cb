// Package moves takes nodes away that nothing forces away: those that are due, as they
// drifted, expired or are of a pool that is deleted, and those that cost more than they are
// worth.
//
// Next is called with the plan of each Step. The gates (gates.go) are one ordered list: they
// say which nodes may be deleted, and Standings explains by the same list why the others
// stay. Nodes that are due come first (renew.go). Else the fleet is searched (search.go,
// changed.go) by package consolidate; what the search chooses is the target, which the
// following Steps carry out (begin.go). A node is deleted by a Supposition (suppose.go): a
// second plan in which it is deleted, which the Planner makes.
//
// Invariants: nothing begins in a Step that launches for pods that wait, or whose plan is
// not finished. A node goes only if no gate holds and the second plan has a place for
// each pod that has one now. Two kinds of nodes are deleted without places for their pods: those
// that have a terminationGracePeriod and are at the end of their life, of which only pauses are
// asked (mover.forced), and those of which a user asked for the end and a pod has no place even
// on new nodes (forgo). All that is remembered is the State; losing it breaks nothing.
package moves
