// Package pack fills new nodes: given classes of equal pods and the offers that
// could hold them, it chooses offers, contents and copies at a cost close to a
// proven lower bound.
//
// Method: the linear program of package price says what resources are worth.
// Then, again and again, every offer worth looking at is filled with what is
// left, keeping the resources in balance; each filling shrinks to the cheapest
// offer that holds it; the one with the lowest price for its worth is applied as
// often as the classes allow. Big pods, which leave room that nothing else may
// fill, are first spread over patterns that a second linear program chooses. The
// better result is kept, and its worst bins are packed again.
//
// Invariants: pure and deterministic, in integers outside the linear programs;
// no bin holds more than its offer, or more than a rule allows; every round
// places at least one pod or ends; equal problems give equal results in
// whatever order their classes come. Units: prices in nano-dollars an hour,
// resources in whatever whole units the problem has.
package pack
