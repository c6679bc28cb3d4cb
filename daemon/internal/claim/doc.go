// Package claim carries a NodeClaim through its life: launch, registration,
// initialization, and in the end drain and termination. The decision core says
// that a NodeClaim shall be or shall go; this package sees it through.
//
// It is level-triggered: Reconcile looks at what is, does the next thing, and is
// called again after every change and after the time it returns. Invariants: an
// attempt to launch is on the NodeClaim before the call that carries it out, so
// that whoever comes next repeats the same call or finds its instance by tag;
// the finalizer goes only when the instance is gone.
package claim
