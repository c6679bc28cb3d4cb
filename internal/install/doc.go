// Package install holds the daemon's manifests and the names of the settings
// that it reads. The provider deploys these objects and the daemon reads these
// environment variables, so that neither can drift from the other.
//
// Invariants: pure; equal options give equal objects in the order in which they
// must be applied. Permissions are what the daemon does and nothing more: no
// wildcard, no secret. Ports are TCP; durations are seconds.
package install
