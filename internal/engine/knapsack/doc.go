// Package knapsack finds the content of one node that is worth most: how many pods
// of each kind, where a kind has a worth and the node has room in several resources.
//
// It is a depth-first search with a bound. The bound adds all resources up to one, in
// several proportions: a content that fits the node also fits that sum, and there the
// worth for a unit of size decides. The search makes a limited number of steps. Where
// these do not suffice, the answer is what the bound says of the whole node, which no
// content exceeds.
//
// Invariants: pure, in integers; kinds of equal worth and need are taken in their
// order. Units: whatever the caller counts in; a worth is below 2^61.
package knapsack
