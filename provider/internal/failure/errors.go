package failure

import "errors"

// ErrConfigUnknown says that the provider's configuration has values that are
// known only after apply, so no client can be built yet.
var ErrConfigUnknown = errors.New("provider configuration is not known yet")

// ErrNoCluster says that a Kubernetes resource is used while the provider has
// neither an eks nor a kubernetes attribute, and the environment names no cluster.
var ErrNoCluster = errors.New("provider has neither an eks nor a kubernetes attribute, and KUBE_HOST and KUBE_CONFIG_PATH are not set in the environment: set eks = { cluster_name = \"...\" }, or kubernetes = { ... }")

// ErrAccount says that the configuration does not allow the AWS account of the
// credentials.
var ErrAccount = errors.New("the AWS account is not allowed")

// ErrStillNeeded says that the daemon cannot be removed: there are objects that
// only the daemon can finish and release.
var ErrStillNeeded = errors.New("the daemon or its custom resource definitions are still needed by")

// ErrNotHandedBack says that a daemon cannot become a shadow: it still holds objects, and nobody
// would release them.
var ErrNotHandedBack = errors.New("the daemon still holds, by its finalizer,")

// ErrEnding says that all objects that an ErrStillNeeded names are being deleted.
var ErrEnding = errors.New("all of them are being deleted")

// ErrStoredOtherwise says that objects may be stored in versions, such as v1beta1, that our
// definitions do not have.
var ErrStoredOtherwise = errors.New("the cluster may have objects that are stored in versions which the daemon's definitions lack, by status.storedVersions of")

// ErrUnfit says that a definition of somebody else lacks what the daemon needs. The text
// stands between the two.
var ErrUnfit = errors.New("differs from what the daemon needs")

// ErrShrinks says that a definition cannot be adopted, because objects may have fields or
// values that our definition does not have. The text follows the definition's name.
var ErrShrinks = errors.New("was not adopted, because it has what the daemon's own definition lacks, and objects would lose it")

// ErrOtherCluster says that a subnet or security group carries the discovery tag
// with another cluster's name.
var ErrOtherCluster = errors.New("the discovery tag belongs to another cluster")

// ErrUnproven says that the private state has no record of what the resource
// made. Without a record, an object of the right name may be somebody else's.
var ErrUnproven = errors.New("the state has no record of what this configuration created")

// ErrOtherAccessEntry says that the role has an access entry that this
// configuration did not make.
var ErrOtherAccessEntry = errors.New("the role has an access entry that this configuration did not create")

// ErrOtherController says that another controller launches nodes in the cluster.
var ErrOtherController = errors.New("another controller runs in the cluster")

// ErrLeftovers says that something is left in AWS that was launched or made for nodes.
var ErrLeftovers = errors.New("something is left in AWS of the nodes")

// ErrOtherAssociation says that the service account has a Pod Identity association that
// this configuration did not make.
var ErrOtherAssociation = errors.New("the service account has a Pod Identity association that this configuration did not create")

// ErrAnotherName says that the cluster of the provider's configuration does not exist, while
// that of the object does.
var ErrAnotherName = errors.New("the provider's configuration names another cluster, which does not exist")

// ErrOutlived says that the cluster no longer exists, and that something is left of it.
var ErrOutlived = errors.New("the cluster no longer exists, and something is left in AWS of the nodes")

// ErrReferenced says that node pools refer to a node class that is to be deleted. The text
// stands between the two.
var ErrReferenced = errors.New("was not deleted, because it is the node class of")

// ErrRoleInUse says that instances may have a role that is to be deleted.
var ErrRoleInUse = errors.New("nodes may still need the role")

// ErrProfileInUse says that instances have an instance profile that is to be deleted.
var ErrProfileInUse = errors.New("instances have the instance profile")

// ErrDaemonRoleInUse says that the daemon needs its role, because instances of node pools run.
var ErrDaemonRoleInUse = errors.New("the daemon still needs the role")

// ErrQueueInUse says that the daemon needs the queue, because instances of node pools run.
var ErrQueueInUse = errors.New("the daemon still needs the queue")

// ErrNoAccessEntries says that the EKS cluster does not use access entries.
var ErrNoAccessEntries = errors.New("the cluster's authentication mode is CONFIG_MAP, which does not use access entries")

// ErrWrongCluster says that the provider reaches another cluster than the one in
// the state.
var ErrWrongCluster = errors.New("the provider points at another cluster than the one in the state")

// ErrOldCluster says that the object was in a cluster that was deleted and created again,
// as accept_new_cluster says.
var ErrOldCluster = errors.New("the object was in the old cluster")

// ErrGoing says that somebody is deleting the object. The text follows the object's name.
var ErrGoing = errors.New("is being deleted")

// ErrStaysNotReady says that an object was not ready for so long that waiting on is useless.
var ErrStaysNotReady = errors.New("the object stays not ready")

// ErrClusterGone says that the cluster of an object in the state does not exist.
var ErrClusterGone = errors.New("the cluster of the state does not exist")

// ErrProtected says that a rename would delete a pool with deletion_protection.
var ErrProtected = errors.New("deletion_protection is true")

// ErrTwice says that two resources of one configuration manage the same object. The text
// follows the object.
var ErrTwice = errors.New("another resource of this configuration manages it")

// ErrOtherObject says that the Kubernetes object of that name is not the one
// that this configuration made. The text follows the object's name.
var ErrOtherObject = errors.New("was not created by this configuration")
