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

// ErrUnproven says that the private state does not tell what the resource made,
// so that nothing proves that what has its name is its own.
var ErrUnproven = errors.New("the state does not say which one this configuration made")

// ErrOtherAccessEntry says that the role has an access entry that this
// configuration did not make.
var ErrOtherAccessEntry = errors.New("somebody else made the role's access entry")

// ErrNoAccessEntries says that the EKS cluster knows no access entries.
var ErrNoAccessEntries = errors.New("the cluster's authentication mode is CONFIG_MAP: it has no access entries")

// ErrWrongCluster says that the cluster which the provider reaches is not the
// one that the state is about.
var ErrWrongCluster = errors.New("this is another cluster than the one in the state")

// ErrOtherObject says that the Kubernetes object of that name is not the one
// that this configuration made.
var ErrOtherObject = errors.New("was made by somebody else")
