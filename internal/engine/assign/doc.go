// Package assign puts demand onto room that exists or is on its way. It keeps
// promises first: nominations, and what the last plan put on nodes on their way. Then
// it fills the room that is left, on running nodes before nodes on their way. It packs
// again in two cases: if exchangeable pods found no room, it packs them together with
// what is planned on nodes on their way; if declared pods are late, it gathers real
// pods on few kept nodes, which can then open.
//
// Invariants: no host gets more than is free there. A pod that was promised a place
// keeps it, even if the place does not meet its preferences. A rearranged plan is
// used only if what is left without room costs less. What a finished plan puts on a
// node on its way is promised to the next plan.
package assign
