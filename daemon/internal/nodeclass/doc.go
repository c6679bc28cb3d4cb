// Package nodeclass keeps the status of EC2NodeClasses: what their selectors
// resolve to in AWS, and conditions that say what is wrong and what to do.
//
// It owns the status and the finalizer of EC2NodeClass, and removes the launch
// templates of a class that is deleted. It is level-triggered: Reconcile looks
// at a class, asks AWS and writes what changed; the decision itself (decide) is
// pure. Invariants: a call that failed for a passing reason leaves what was
// known in place; a class is released only when no NodeClaim refers to it.
// Intervals are time.Duration.
package nodeclass
