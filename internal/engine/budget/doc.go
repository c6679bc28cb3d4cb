// Package budget owns how many nodes of each pool may be disrupted now: the budgets
// of NodePools, and what of them is used.
//
// Invariants: what is used follows from the cluster's objects alone, so that a daemon
// that starts anew counts the same. The semantics are Karpenter's (budgets of
// NodePool.spec.disruption): every budget that is active and names the reason bounds
// the number; percentages are of the pool's initialized nodes, rounded up; a schedule
// is active for its duration after each of its times, in UTC unless it names a zone.
// A budget that cannot be read allows nothing. Interruptions, failed launches and what
// users delete are not asked, but they use up the budget.
package budget
