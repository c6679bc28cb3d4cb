// Package demand owns what needs room in one try of a Step: pending pods, displaced
// pods (on nodes that are leaving), and declared pods (replicas that a controller
// has declared but not created). The real pods are the pending and the displaced
// ones. A Class holds the demand of equal pods, and the preferences that they still
// have. The package knows which gangs are complete, and counts the demand that
// found no place.
//
// Invariants: classes are sorted by priority, highest first, then by size. A class
// hands out real pods before declared ones, and pending pods oldest first. Drawn
// demand is never put back; each try gathers new demand.
package demand
