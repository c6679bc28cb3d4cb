// Package simulate owns what the daemon would make of a cluster that is read once: its objects from
// files or an API server, what stands in for what they do not say, the forecast, and the report of
// it. Every figure comes from the decision core: engine.Step, Audit and Standings.
//
// Invariants: it changes nothing anywhere; the same objects and options give the same bytes. Costs
// are dollars an hour.
package simulate
