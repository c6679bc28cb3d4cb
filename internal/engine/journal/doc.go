// Package journal owns what all stages of a Step write to: what became of which
// pods, when to look again, and how much work it was. It is the only thing that
// stages share.
//
// Invariants: a stage adds outcomes and never reads those of others; of the rest it
// may read counts. Units: the counts of Trace are objects, pods and units of work.
package journal
