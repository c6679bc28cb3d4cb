package awsv1

// Kind and resource name.
const (
	Group                = "karpenter.k8s.aws"
	Version              = "v1"
	EC2NodeClassKind     = "EC2NodeClass"
	EC2NodeClassResource = "ec2nodeclasses"
)

// Labels that the daemon gives to nodes and NodeClaims. The daemon also puts the
// first of them, as a tag, on what it creates in EC2.
const (
	LabelNodeClass = Group + "/ec2nodeclass"
	LabelZoneID    = "topology.k8s.aws/zone-id"

	LabelInstanceCategory               = Group + "/instance-category"
	LabelInstanceGeneration             = Group + "/instance-generation"
	LabelInstanceFamily                 = Group + "/instance-family"
	LabelInstanceSize                   = Group + "/instance-size"
	LabelInstanceCapabilityFlex         = Group + "/instance-capability-flex"
	LabelInstanceCPU                    = Group + "/instance-cpu"
	LabelInstanceCPUManufacturer        = Group + "/instance-cpu-manufacturer"
	LabelInstanceCPUSustainedClockSpeed = Group + "/instance-cpu-sustained-clock-speed-mhz"
	LabelInstanceMemory                 = Group + "/instance-memory" // MiB
	LabelInstanceEBSBandwidth           = Group + "/instance-ebs-bandwidth"
	LabelInstanceNetworkBandwidth       = Group + "/instance-network-bandwidth"
	LabelInstanceLocalNVMe              = Group + "/instance-local-nvme" // GB
	LabelInstanceGPUName                = Group + "/instance-gpu-name"
	LabelInstanceGPUManufacturer        = Group + "/instance-gpu-manufacturer"
	LabelInstanceGPUCount               = Group + "/instance-gpu-count"
	LabelInstanceGPUMemory              = Group + "/instance-gpu-memory" // MiB of one GPU
	LabelInstanceAcceleratorName        = Group + "/instance-accelerator-name"
	LabelInstanceAcceleratorMaker       = Group + "/instance-accelerator-manufacturer"
	LabelInstanceAcceleratorCount       = Group + "/instance-accelerator-count"
	LabelInstanceHypervisor             = Group + "/instance-hypervisor"
	LabelInstanceEncryptionInTransit    = Group + "/instance-encryption-in-transit-supported"
	LabelInstanceTenancy                = Group + "/instance-tenancy"
)

// Annotations of EC2NodeClasses and NodeClaims, shared with Karpenter: the hash of the
// class's spec, on a NodeClaim of the spec that its instance was launched with, and the
// version of the hash.
const (
	AnnotationNodeClassHash        = Group + "/ec2nodeclass-hash"
	AnnotationNodeClassHashVersion = Group + "/ec2nodeclass-hash-version"
)

// AnnotationInstanceProfile of a NodeClaim, shared with Karpenter, names the instance
// profile of its instance, which is not deleted as long as the NodeClaim exists.
const AnnotationInstanceProfile = Group + "/instance-profile-name"

// Annotations of NodeClaims, shared with Karpenter: "true" once the instance has the tags with
// the names of its node and its NodeClaim, and that with the name of the cluster.
const (
	AnnotationTagged            = Group + "/tagged"
	AnnotationClusterNameTagged = "compatibility." + Group + "/cluster-name-tagged"
)

// FinalizerTermination holds an EC2NodeClass until its launch templates and the instance
// profiles that were made for it are deleted.
const FinalizerTermination = Group + "/termination"

// Condition types. Ready of package v1 depends on those of ReadyConditions.
const (
	ConditionSubnetsReady              = "SubnetsReady"
	ConditionSecurityGroupsReady       = "SecurityGroupsReady"
	ConditionAMIsReady                 = "AMIsReady"
	ConditionCapacityReservationsReady = "CapacityReservationsReady" // True also where no reservation is selected
	ConditionInstanceProfileReady      = "InstanceProfileReady"
	ConditionValidationSucceeded       = "ValidationSucceeded"
	// ConditionPlacementGroupReady is always True: the selector of a placement group keeps no
	// node from being launched, as v1.ConditionUnsupported says of a class that has one.
	// Programs with Karpenter's types take a class without the condition for one that is not
	// ready.
	ConditionPlacementGroupReady = "PlacementGroupReady"
	// ConditionLaunchPermitted is the product's own: whether AWS would allow a launch. Ready
	// does not depend on it.
	ConditionLaunchPermitted = "LaunchPermitted"
	// ConditionCatalogueCurrent is the product's own: whether the daemon works with what AWS
	// says now about instance types and prices. Ready does not depend on it.
	ConditionCatalogueCurrent = "CatalogueCurrent"
)

// Condition reasons. A condition that is True has its type as reason.
const (
	ReasonSubnetsNotFound           = "SubnetsNotFound"
	ReasonSecurityGroupsNotFound    = "SecurityGroupsNotFound"
	ReasonAMINotFound               = "AMINotFound"
	ReasonUnsupportedAlias          = "UnsupportedAlias"
	ReasonInstanceProfileNotFound   = "InstanceProfileNotFound"
	ReasonDependenciesNotReady      = "DependenciesNotReady"
	ReasonClusterCIDRFailed         = "ClusterCIDRResolutionFailed"
	ReasonTagValidationFailed       = "TagValidationFailed"
	ReasonUserDataSizeLimitExceeded = "UserDataSizeLimitExceeded"
	// ReasonUnauthorized is our own reason: AWS refused a call to the daemon's
	// role.
	ReasonUnauthorized = "Unauthorized"
	// Reasons of CatalogueCurrent: the daemon works with its own table, with an answer of
	// AWS that is not renewed, or with what stands in for prices that nobody knows.
	ReasonEmbedded = "Embedded"
	ReasonOutdated = "Outdated"
	ReasonStandIn  = "StandInPrices"
)
