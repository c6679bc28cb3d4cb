package provider

import "errors"

// ErrConfigUnknown says that the provider's configuration holds values that
// are known only after apply, so that no client can be built yet.
var ErrConfigUnknown = errors.New("provider configuration is not known yet")

// ErrNoCluster says that a Kubernetes resource is used while the provider has
// neither an eks nor a kubernetes attribute.
var ErrNoCluster = errors.New("provider has neither an eks nor a kubernetes attribute: set eks = { cluster_name = \"...\" }, or kubernetes = { ... }")

// ErrStillNeeded says that the daemon cannot go while there are objects that
// only it can bring to an end.
var ErrStillNeeded = errors.New("the daemon and its definitions are still needed by")

// ErrOtherCluster says that a subnet or security group carries the discovery tag
// with another cluster's name.
var ErrOtherCluster = errors.New("the discovery tag belongs to another cluster")
