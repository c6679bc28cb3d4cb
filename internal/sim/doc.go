// Package sim plays the life of a cluster around the decision core on a virtual
// clock: controllers create and delete pods, roll them out anew and start Jobs, the
// cloud boots nodes, a model of the kube-scheduler binds, and every plan of
// engine.Step is carried out, drains included. It reports what the fleet costs and
// how long pods wait, against a lower bound, and which rules of disruption were
// broken: a checker reads every plan before it is carried out, and the cluster after
// every event.
//
// Invariants: the same Config gives the same Report, byte for byte; nothing
// reads the clock of the machine or an unseeded source of chance; no node ever
// holds more than its allocatable (Run panics if the model breaks that). Times
// are durations since the start of the run, prices nano-dollars an hour.
//
// The model of the scheduler follows the default profile of kube-scheduler
// v1.36: its queues with back-off, the events that wake waiting pods, the core's
// own filters, nominations, and the default scoring. Image locality is left out,
// since no node has any image. Preemption is left out, since a run has no pods to
// preempt.
package sim
