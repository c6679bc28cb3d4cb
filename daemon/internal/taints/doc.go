// Package taints finds other controllers that act on the taints of nodes, by their pods.
//
// While pods are evicted to save money, the daemon may close the nodes with room by a taint,
// for seconds. A descheduler would evict pods of all these nodes, and another autoscaler
// would launch nodes for the evicted pods. So the daemon must know of them; what follows
// from that, package engine decides.
//
// Invariants: a pod is looked at before the fields are dropped that nothing else reads. A
// controller that runs as a CronJob is known between its runs.
package taints
