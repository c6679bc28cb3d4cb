package provider

import "errors"

// ErrConfigUnknown says that the provider's configuration has values that are
// known only after apply, so no client can be built yet.
var ErrConfigUnknown = errors.New("provider configuration is not known yet")

// ErrNoCluster says that a Kubernetes resource is used while the provider has
// neither an eks nor a kubernetes attribute.
var ErrNoCluster = errors.New("provider has neither an eks nor a kubernetes attribute: set eks = { cluster_name = \"...\" }, or kubernetes = { ... }")

// ErrStillNeeded says that the daemon cannot be removed: there are objects that
// only the daemon can finish and release.
var ErrStillNeeded = errors.New("the daemon or its custom resource definitions are still needed by")

// ErrStoredBeta says that objects may be stored in v1beta1, which the definitions of v1
// do not have.
var ErrStoredBeta = errors.New("the cluster may have objects that are stored in v1beta1, by status.storedVersions of")

// ErrOtherCluster says that a subnet or security group carries the discovery tag
// with another cluster's name.
var ErrOtherCluster = errors.New("the discovery tag belongs to another cluster")

// ErrUnproven says that the private state has no record of what the resource
// made. Without a record, an object of the right name may be somebody else's.
var ErrUnproven = errors.New("the state has no record of what this configuration created")

// ErrOtherAccessEntry says that the role has an access entry that this
// configuration did not make.
var ErrOtherAccessEntry = errors.New("the role has an access entry that this configuration did not create")

// ErrOtherAssociation says that the service account has a Pod Identity association that
// this configuration did not make.
var ErrOtherAssociation = errors.New("the service account has a Pod Identity association that this configuration did not create")

// ErrReferenced says that node pools refer to a node class that is to be deleted. The text
// stands between the two.
var ErrReferenced = errors.New("was not deleted, because it is the node class of")

// ErrRoleInUse says that instances may have a role that is to be deleted.
var ErrRoleInUse = errors.New("nodes may still need the role")

// ErrNoAccessEntries says that the EKS cluster does not use access entries.
var ErrNoAccessEntries = errors.New("the cluster's authentication mode is CONFIG_MAP, which does not use access entries")

// ErrWrongCluster says that the provider reaches another cluster than the one in
// the state.
var ErrWrongCluster = errors.New("the provider points at another cluster than the one in the state")

// ErrProtected says that a rename would delete a pool with deletion_protection.
var ErrProtected = errors.New("deletion_protection is true")

// ErrOtherObject says that the Kubernetes object of that name is not the one
// that this configuration made. The text follows the object's name.
var ErrOtherObject = errors.New("was not created by this configuration")
