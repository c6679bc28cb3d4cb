// Package interruptionqueue is the resource karpenter_interruption_queue: the queue by which
// the daemon hears of interruptions, its policy, and the rules that feed it.
//
// Invariants:
//   - The statements that the events need are always in the policy, whatever a user adds.
//   - The queue is deleted only when the cluster's node pools have no instance.
package interruptionqueue
