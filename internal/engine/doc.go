// Package engine is the decision core. Step takes what is known of a cluster and
// returns what to do about it.
//
// Step first launches the nodes that static pools lack (package static). Else it resumes or
// begins a plan, and function planned makes the plan in eight numbered stages. Each stage is
// one or two packages:
//
//  1. demand, room    what needs room, in classes of equal pods; which room exists or
//     is on its way
//  2. assign          promised room is given to the demand that it was promised to
//  3. offer           what can be bought now, and what the limits have left
//  4. assign, launch  demand is put on any room, and the rest on new nodes; demand that
//     finds no place gives up a preference and tries again
//  5. explain         why the rest has no place
//  6. certify         a lower bound on the cost of the launches
//  7. open            nodes that are up open for their pods; open.Await, which lets
//     demand wait for nodes on their way, already runs in stage 4
//  8. disrupt         interrupted nodes, empty nodes and nodes that never came up are
//     deleted, and nodes that are announced take their next step
//
// When planned has returned, Step hands the plan to package moves. If the plan is finished and
// launches nothing, moves begins to delete nodes that are due or cost more than they are
// worth. It has planned make a second plan, as if they were deleted.
//
// ARCHITECTURE.md follows a pod and an underutilized node through these functions: Three paths
// through the code.
//
// The stages share five values: the view (what is known), the memory (what Steps
// remember), the journal (outcomes, the next wake-up, counts of work), the demand and
// the room. Stages 1 to 4 build up one assign.Assigner, which holds these five. Stage 3
// makes the offer.Market, and stage 4 adds the launches to one launch.Launcher. Stages
// 5 to 8 read these, and none hands a value to the next: explain writes outcomes and
// counts the refused pods in the demand, certify returns proofs, and open and disrupt
// return actions.
//
// The imports have an order of their own, stages() in internal/archtest/stages.go: a
// package of the engine imports only packages further down that list. So assign may
// import offer, and launch comes before assign. The stages ask package timing when
// to act and when to wait. Below all stages are the solver (bound, pack, price,
// knapsack) and the rules of the scheduler (topology, fit).
//
// Function planned is a loop, and each pass of it is one try. A plan is tried again in
// two cases. First, a gang found room for only some of its pods: the next try
// leaves the gang out. Second, limits left pods without a place: the next try
// spares what is limited, and the better of the two plans is returned.
//
// A Step may have a limit of work (Input.WorkLimit), and may be asked to improve
// its packing (Input.Polish). A Step that reaches its limit returns what is
// certain, and the next Step continues from there. All Steps of one plan together
// return what one Step without a limit returns, and each of them makes progress. So
// a better plan that takes longer needs no function of its own: it is a Step with
// Polish.
//
// Invariants: Step is total and deterministic: the same input gives the same
// output, whatever the order of the objects. Step does no I/O, reads no clock,
// starts no goroutine, writes no log, and has no package-level mutable state and no
// unseeded randomness. A pod that has no place is an outcome with reasons, never an
// error. The caller keeps the Memory between Steps and may lose it without harm.
package engine
