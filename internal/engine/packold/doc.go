// Package packold fills new nodes: given classes of equal pods and the instance
// types that could hold them, it chooses types, contents and copies at a low
// price.
//
// Method: again and again it fills every type with what is left, shrinks each
// filling to the cheapest type that still holds it, takes the filling with the
// lowest price for its work, and applies it as often as the classes allow.
// Work is weighed with fixed prices of CPU and memory that are typical of EC2.
//
// Invariants: pure and deterministic; never more content than a type holds;
// every round places at least one pod or ends.
package packold
