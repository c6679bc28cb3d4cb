// Package kube is the adapter to Kubernetes: client configuration, typed clients for
// the product's own kinds, informers that hold reduced objects, server-side apply and
// waiting for the provider, leader election, and the bridge from klog to hclog.
//
// It owns client configuration, field management and the reading of conditions. It
// knows nothing of nodes, prices or plans. Invariants: making a configuration or a
// client never connects; an informer never holds all objects whole; an object of the
// product's own kinds that cannot be read holds up no other; every wait ends
// with its context, and its error then says what was last seen. Durations are
// time.Duration.
package kube
