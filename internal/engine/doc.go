// Package engine is the decision core: Step turns what is known of a cluster
// into what should be done about it.
//
// Step reads as numbered stages, each in a file of its own:
//
//  1. demand   pods that need room, by group: pending ones, those on nodes that
//     go, and replicas that a controller has declared and not yet created
//  2. hosts    room that exists or is on its way: nodes and NodeClaims
//  3. assign   demand onto hosts, promises first
//     rearrange: what is planned on nodes on their way is packed anew with what
//     found no room
//  4. provision what found no host onto new NodeClaims: divide (among topology
//     domains), bundle (what must share a node), pack, launch; limits
//  5. relax    what found no place gives up a preference, and 3 and 4 again;
//     gang: a gang that is not whole is taken out, and all again;
//     scarce: where limits leave pods out, all again to spare them
//  6. certify  how much less the launches could cost at best
//  7. release  nodes that are ready: nominate their pods, take their taint off
//     unnominated: what is done where pods cannot be nominated
//  8. retire   nodes that are interrupted, empty or never came up
//
// The stages share the step, and in it four parts that have owners: journal (what
// became of whom, when to look again, how much work it was), offer (what is on
// sale), rulebook (what pods say about each other) and packer (answers within the
// units of work).
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
