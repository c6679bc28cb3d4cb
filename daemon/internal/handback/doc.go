// Package handback gives a cluster back to Karpenter: it takes out of the objects what only
// the daemon would ever remove. Nodes, instances and pods stay.
//
// Invariants: it reads everything from the API server, and writes only to the version that
// it has read; it changes nothing while a pod of the daemon exists, because the daemon would
// write everything again; it is safe to repeat, and a second run finishes what could not be
// done in the first. It waits for nodes last, when all else is done.
package handback
