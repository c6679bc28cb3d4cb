// Package demand owns what needs room in one try of a Step: pods that wait, pods of
// nodes that go, and replicas that controllers have declared, in classes of equal
// pods, with the preferences that each class still has. It knows which gangs are
// whole, and it counts what found no place.
//
// Invariants: classes are sorted by priority, then key; a class hands out pods that
// exist before those that are only declared, the oldest first; what was drawn is
// never put back, but a try begins with new demand.
package demand
