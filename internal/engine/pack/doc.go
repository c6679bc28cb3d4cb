// Package pack fills new nodes: given classes of equal pods and the offers that
// could hold them, it chooses offers, contents and copies at a cost close to a
// proven lower bound.
//
// Method: the linear program of package price says what resources are worth and
// how many of which offers would carry the demand. That many bins are opened and
// the pods dealt out to all of them at once, the big ones first: each goes to the
// bin where it brings what is free nearest to the proportions of what is still to
// come, so that all resources of all bins run out together. Bins that are full
// for their price are kept, shrunk to the cheapest offer that holds them; the
// rest is priced and dealt again. What is left, less than a node or so, is filled
// greedily by worth for price. Large demand is dealt in lots of nodes that are
// filled alike. Where most pods are so big that a few fill a node, another search
// chooses among all contents that a node could have of them, by a linear program
// that is rounded step by step, and the others fill what those leave. Polish takes
// a few bins apart and packs them again.
//
// Search and Polish work in units, a search of the whole demand and a step of
// polishing: whatever is done at once or in pieces, the result is the same. A
// Result may only be handed back with the problem that it is of.
//
// Invariants: pure and deterministic, in integers outside the linear programs;
// no bin holds more than its offer, or more than a rule allows; every round
// places at least one pod or ends; equal problems give equal results in
// whatever order their classes come, unless limited offers cannot hold all:
// then what comes first among equal pods is placed first. Units: prices in
// nano-dollars an hour, resources in whatever whole units the problem has.
package pack
