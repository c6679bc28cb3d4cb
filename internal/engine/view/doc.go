// Package view owns what every stage of a Step looks at and none changes: the
// cluster at one moment, the settings, and what follows from the two alone.
//
// Invariants: a View is a value; nothing in it is written after a Step has begun.
package view
