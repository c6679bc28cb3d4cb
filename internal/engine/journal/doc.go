// Package journal owns what all stages of a Step write: what became of which pods,
// when to look again, and how much work it was.
//
// Invariants: a stage adds outcomes and never reads the outcomes of other stages;
// it may read counts. Units: Trace counts objects, pods and units of work.
package journal
