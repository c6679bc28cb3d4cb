// Package telemetry is what people and monitoring see of the daemon: log lines,
// Kubernetes Events, metrics and health. All of it is derived from what the
// decision core said and from what was done; nothing here decides anything.
//
// Metrics have Karpenter's names where they mean the same.
package telemetry
