// Package view owns what every stage of a Step looks at and no stage changes: the
// cluster at one moment, the settings, and what follows from these two alone.
//
// Invariants: a View is a value, and nothing in it is written after a Step has
// begun.
package view
