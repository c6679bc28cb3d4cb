// Package telemetry is what people and monitoring see of the daemon: log lines,
// Kubernetes Events, metrics and health. It reports what the decision core decided
// and what the daemon did; it decides nothing itself.
//
// A metric has Karpenter's name if it means the same.
package telemetry
