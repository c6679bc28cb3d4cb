// Package scalein measures what the daemon makes of a fleet that has become too
// large: it lets the daemon launch nodes for a thousand pods in a laboratory, scales
// their Deployments down, and observes what the fleet costs from then on. Before the
// scale-down it asks karpenterd simulate what is to come, and holds it to that.
//
// The daemon runs as it is deployed, on a real control plane. What is observed comes
// from the API server (pods) and from the simulated EC2 (instances), never from the
// daemon, but for the lower bound, which only the daemon proves.
//
// Invariants: the pods are the same in every run with one seed; times count from the end of the
// last pod that the scale-down ends; nothing outlives Run. Prices are dollars an hour,
// by the embedded catalogue.
package scalein
