// Package kube is the adapter to Kubernetes: how to reach an API server, typed
// clients for our own kinds, informers that hold what is kept of objects and never
// all of them whole, server-side apply with waiting for the provider, leader
// election and the bridge from klog to hclog.
//
// It owns client configuration, field management and the reading of conditions;
// it knows nothing of nodes, prices or plans. Invariants: making a configuration
// or a client never dials; every wait ends with its context and then says what
// was last seen. Durations are time.Duration.
package kube
