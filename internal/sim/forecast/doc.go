// Package forecast owns what would become of a cluster: it plays plans of engine.Step on a
// Snapshot, with a clock that only waits move. Whatever a plan says is done at once: instances
// boot, pods land where the plan has places for them, drained pods are back in the same moment,
// and PodDisruptionBudgets allow as much as before.
//
// Invariants: pure; the same Question gives the same Answer; the Snapshot that is asked about
// stays as it is. Durations are since the start, prices nano-dollars an hour.
package forecast
