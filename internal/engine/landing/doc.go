// Package landing owns how pods that are evicted to save money come to the places that the
// plan has for them. There are two ways behind one interface, a file for each: bind.go closes
// nodes and binds the pods, prefer.go leaves the choice to the scheduler. Which one it is,
// auto.go alone decides.
//
// Invariants: a node is closed only by a plan that evicts pods, and with each other node where
// these pods could land; closed nodes open soon whatever becomes of the pods, and whether the
// way has changed meanwhile or not. Times are those of the view.
package landing
