// Package pace says how long the provider waits for others.
//
// Invariant: 0 means what a release does, so the zero Pace is that of a release.
package pace
