package ownership

// The keys in a Record that more than one package knows. Those of one kind of thing alone are with the
// resource that makes it.
const (
	// KeyRole is the key of a role. The identity of a role is its RoleId.
	KeyRole = "role"
	// KeyCluster is the key of the cluster. The value is the UID of the namespace kube-system,
	// which differs from cluster to cluster.
	KeyCluster = "cluster"
	// KeyPrincipal is the key of the ARN of the role that an access entry is for.
	KeyPrincipal = "principal"
	// KeyFoundEntry is set if a refresh found the access entry: an import does not say whose it is.
	KeyFoundEntry = "found entry"
	// KeyKept is the key of the kept fields of an imported object. The value is the part of the
	// spec that they are, in JSON.
	KeyKept = "kept fields"
	// KeyAttaching begins the keys of additional policies that an update is about to attach. Such
	// a key stays until the update has succeeded: what an update that fails has attached is
	// neither in the state nor in the configuration before it.
	KeyAttaching = "attaching "
	// KeyAdopted begins the keys of adopted definitions. What follows is the key of the
	// object, and the value its UID. Such a key is none of an object: see kube.ParseKey.
	KeyAdopted = "adopted/"
	// KeyReplaced is the key of the plan of a replacement. Terraform plans the new object with
	// the private state of the old one. If the old object goes first, it is deleted with the
	// private state of that plan; after create_before_destroy, with its own.
	KeyReplaced = "replaced"
	// KeyHalfMade is the key of what a failed creation has left.
	KeyHalfMade = "half made"
)
