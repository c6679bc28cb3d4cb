// Package engine is the decision core: Step turns what is known of a cluster
// into what should be done about it.
//
// Step reads as its numbered stages. Each stage is a package, and hands a value to
// the next:
//
//  1. demand, room   what needs room, in classes of equal pods; which room exists or
//     is on its way
//  2. assign         demand goes where it was promised room
//  3. offer          what can be bought now, and what limits have left
//  4. assign, launch demand goes to any room, and what finds none to new nodes; what
//     finds no place at all gives up a preference and tries again
//  5. explain        why the rest has no place
//  6. certify        how much less the launches could cost at best
//  7. open           nodes that are up open for their pods
//  8. disrupt        nodes that are interrupted, empty or never came up go
//
// The stages share the view (what is known), the memory (what is remembered from Step
// to Step) and the journal (outcomes, when to look again, counts of work). A package
// imports only packages of stages before it; below all are the solver (price, pack,
// bound) and the rules of the scheduler (fit, topology).
//
// One loop tries again: a plan in which a gang found room for some of its pods only
// is made anew without the gang, and one that limits cut short is made anew to spare
// what is limited; the better of these two is carried out.
//
// A Step may be given a limit of work, and may be asked to improve what it packs
// (Input.WorkLimit and Input.Polish). Where the limit stops it, it returns what is
// certain, and the next Step goes on: whatever the limit, all Steps of a plan
// together return what one long Step does, and each makes progress. So a better
// plan that takes longer is no function of its own, but a Step with Polish.
//
// Invariants: total and deterministic (same input, same output, whatever the
// order of the objects); no I/O, clock, goroutine, logger, package-level
// mutable state or unseeded randomness; an unplaceable pod is a reason, never
// an error. Memory is handed in and back, and is safe to lose.
package engine
