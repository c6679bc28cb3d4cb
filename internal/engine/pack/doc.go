// Package pack fills new nodes. Given classes of equal pods and the offers that
// could hold them, it chooses offers, contents and copies at a cost close to a
// proven lower bound.
//
// Method: the linear program of package price says what resources are worth and
// how many of which offers would carry the demand. A dealer opens that many bins
// and deals the pods out to all of them at once, the big ones first. Each pod
// is put into the bin where it brings the free resources nearest to the proportions
// of the pods still to come, so that all resources of all bins run out together.
// Bins that are full for their price are kept, shrunk to the cheapest offer that
// holds them. The rest is priced and dealt again. What is left, less than a node
// or so, is filled greedily by worth for price. Large demand is dealt in lots of
// nodes that are filled alike. Where pods that may not share a node decide how many
// nodes there are, one search makes the nodes about equally large and deals to each
// on its own: else the last of them would hold such a pod alone. Where much of the
// demand is pods of which few fit a node, one more search chooses among the contents
// that nodes could have of them, by a linear program that finds contents as it needs
// them and is rounded step by step; small pods fill the room that big ones leave.
// Polish unpacks a few bins and packs their content again.
//
// Search and Polish work in units: a search of the whole demand, and a step of
// polishing. One call with many units and many calls with one unit end with the
// same result. A Result may only be handed back with the problem that it is of.
//
// Where to start reading: core is the problem in the form that searches work on,
// plan is what a search has bought, values are what pods are worth to it, and
// search has the order of the methods: greedy, patterns and dealer.
//
// Invariants: pure and deterministic, in integers outside the linear programs;
// no bin holds more than its offer, or more than a rule allows; every round
// places at least one pod or ends; equal problems give equal results in
// whatever order their classes come, unless limited offers cannot hold all:
// then what comes first among equal pods is placed first. Units: prices in
// nano-dollars an hour, resources in whatever whole units the problem has.
package pack
