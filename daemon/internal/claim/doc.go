// Package claim carries a NodeClaim through its life: launch, registration,
// initialization, and in the end drain and termination. The decision core creates and
// deletes NodeClaims; this package does everything in between.
//
// It is level-triggered: Reconcile reads the current state and does the next step. It
// is called again after every change, and after the time that it returns. Invariants:
// a launch attempt is written on the NodeClaim with its whole request before the call to
// EC2, so that another replica repeats the same call, or finds the instance by its tag;
// nothing is deleted because a watch or one answer of EC2 lacks it; the finalizer is
// removed only when the instance no longer exists.
package claim
