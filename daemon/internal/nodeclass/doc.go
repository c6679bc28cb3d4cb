// Package nodeclass keeps the status of EC2NodeClasses: what their selectors
// resolve to in AWS, and conditions that say what is wrong and what to do.
//
// It owns the status and the finalizer of EC2NodeClass, and deletes the launch
// templates of a class that is deleted. It makes the instance profile of spec.role, and
// deletes those that nothing needs any more. It is level-triggered: Reconcile reads a
// class, asks AWS and writes what changed. The decision itself (decide) is pure.
// Invariants: a call that failed for a temporary reason leaves its part of the status
// as it is; a class loses the finalizer only when no NodeClaim refers to it; an instance
// profile is changed or deleted only if its tags say that it was made for a class of the
// cluster, and deleted only if no class and no NodeClaim names it.
// Intervals are time.Duration.
package nodeclass
