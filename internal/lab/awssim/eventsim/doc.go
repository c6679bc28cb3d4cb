// Package eventsim is the simulated EventBridge: the rules of the default
// event bus, their targets, and the delivery of events to them.
//
// Invariants: an event reaches a target only through an enabled rule whose
// pattern matches, and only if the target's own policy lets events.amazonaws.com
// in: no rule, no message. Targets are SQS queues; other kinds, schedules and
// input transformers are refused.
package eventsim
