// Package install has the daemon's manifests, and the names of its settings. The
// provider deploys the manifests and the daemon reads the settings, so each name exists
// once.
//
// Invariants: pure; equal options give equal objects, in the order in which they must be
// applied. The daemon gets the permissions that it uses and no others: no wildcard, no
// secret. Ports are TCP; durations are seconds.
package install
