package v1

import corev1 "k8s.io/api/core/v1"

// Kinds and resource names of the group.
const (
	Group             = "karpenter.sh"
	Version           = "v1"
	NodePoolKind      = "NodePool"
	NodePoolResource  = "nodepools"
	NodeClaimKind     = "NodeClaim"
	NodeClaimResource = "nodeclaims"
)

// Labels of nodes and NodeClaims.
const (
	LabelNodePool     = Group + "/nodepool"
	LabelCapacityType = Group + "/capacity-type"
	// LabelRegistered is "true" once the daemon has matched the Node with its NodeClaim.
	LabelRegistered = Group + "/registered"
	// LabelInitialized is "true" once the Node can take every pod planned for it.
	LabelInitialized = Group + "/initialized"
	// LabelDoNotSyncTaints is "true" on nodes whose user data registers the taints itself.
	LabelDoNotSyncTaints = Group + "/do-not-sync-taints"
	LabelTrue            = "true"
)

// Values of LabelCapacityType.
const (
	CapacityTypeOnDemand = "on-demand"
	CapacityTypeSpot     = "spot"
	CapacityTypeReserved = "reserved"
)

// Annotations shared with Karpenter.
const (
	// AnnotationDoNotDisrupt is "true" on a pod or node that must not be disrupted voluntarily.
	AnnotationDoNotDisrupt = Group + "/do-not-disrupt"
	// AnnotationTerminationTimestamp (RFC 3339) is when a draining NodeClaim's terminationGracePeriod ends.
	AnnotationTerminationTimestamp = Group + "/nodeclaim-termination-timestamp"
	// AnnotationMinValuesRelaxed is "true" on a NodeClaim whose instance types have
	// fewer different values than its NodePool's minValues ask for, else "false".
	AnnotationMinValuesRelaxed = Group + "/nodeclaim-min-values-relaxed"
)

// Names of the product's own domain, for what Karpenter has no name for.
const (
	OwnDomain = "karpenterd.sh"
	// AnnotationLaunchAttempt (decimal) counts launches of a NodeClaim; written before the call.
	AnnotationLaunchAttempt = OwnDomain + "/launch-attempt"
	// AnnotationLaunchDigest (lower hex) identifies the request of that attempt.
	AnnotationLaunchDigest = OwnDomain + "/launch-digest"
	// AnnotationInterruption is "<deadline> <reason> <noticed>", times in RFC 3339.
	AnnotationInterruption = OwnDomain + "/interruption"
	// AnnotationPlanned on a NodeClaim is how many pods of which kinds it is for, as
	// "<kind>=<count>" separated by spaces. By it a daemon that starts anew knows
	// what its predecessor has launched already.
	AnnotationPlanned = OwnDomain + "/planned-pods"
	// AnnotationGang on a pod names its gang within the namespace: room is made for
	// enough of a gang's pods at the same time, or for none.
	AnnotationGang = OwnDomain + "/gang"
	// AnnotationGangSize (decimal, 1 or more) on a pod of a gang is how many are
	// enough. Absent means all that exist.
	AnnotationGangSize = OwnDomain + "/gang-size"
	// TaintAwaitingPods keeps other pods away until the planned ones are nominated.
	TaintAwaitingPods = OwnDomain + "/awaiting-pods"
)

// LabelPodGroup on a pod names its PodGroup, as the kube-scheduler's coscheduling
// plugin reads it. It makes a gang where neither AnnotationGang nor
// spec.schedulingGroup does.
// See https://github.com/kubernetes-sigs/scheduler-plugins/tree/master/pkg/coscheduling.
const LabelPodGroup = "scheduling.x-k8s.io/pod-group"

// FinalizerTermination holds NodeClaims and Nodes until they are drained and the instance is gone.
const FinalizerTermination = Group + "/termination"

// Taint keys shared with Karpenter.
const (
	TaintUnregistered = Group + "/unregistered"
	TaintDisrupted    = Group + "/disrupted"
)

// ResourceNodes is the name under which limits and status count nodes.
const ResourceNodes corev1.ResourceName = "nodes"

// UnregisteredTaint is what every machine registers with; the daemon removes it.
func UnregisteredTaint() corev1.Taint {
	return corev1.Taint{Key: TaintUnregistered, Effect: corev1.TaintEffectNoExecute}
}

// DisruptedTaint marks a node that is being emptied.
func DisruptedTaint() corev1.Taint {
	return corev1.Taint{Key: TaintDisrupted, Effect: corev1.TaintEffectNoSchedule}
}

// AwaitingPodsTaint is the startup taint that the daemon releases after nomination.
func AwaitingPodsTaint() corev1.Taint {
	return corev1.Taint{Key: TaintAwaitingPods, Effect: corev1.TaintEffectNoSchedule}
}

// Condition types.
const (
	ConditionReady = "Ready"

	// Of a NodePool; both are dependents of Ready.
	ConditionValidationSucceeded = "ValidationSucceeded"
	ConditionNodeClassReady      = "NodeClassReady"

	// Of a NodeClaim; the first three are dependents of Ready.
	ConditionLaunched            = "Launched"
	ConditionRegistered          = "Registered"
	ConditionInitialized         = "Initialized"
	ConditionDrained             = "Drained"
	ConditionVolumesDetached     = "VolumesDetached"
	ConditionInstanceTerminating = "InstanceTerminating"
	ConditionDisruptionReason    = "DisruptionReason"
)

// Condition reasons. A condition that is True has its type as reason unless stated otherwise.
const (
	ReasonAwaitingReconciliation = "AwaitingReconciliation"
	ReasonUnhealthyDependents    = "UnhealthyDependents"
	ReasonReconcilingDependents  = "ReconcilingDependents"

	ReasonNodePoolValidationFailed  = "NodePoolValidationFailed"
	ReasonNodeClassNotFound         = "NodeClassNotFound"
	ReasonNodeClassTerminating      = "NodeClassTerminating"
	ReasonNodeClassReadinessUnknown = "NodeClassReadinessUnknown"

	ReasonLaunchFailed                 = "LaunchFailed"
	ReasonNodeNotFound                 = "NodeNotFound"
	ReasonMultipleNodesFound           = "MultipleNodesFound"
	ReasonNodeNotReady                 = "NodeNotReady"
	ReasonStartupTaintsExist           = "StartupTaintsExist"
	ReasonKnownEphemeralTaintsExist    = "KnownEphemeralTaintsExist"
	ReasonResourceNotRegistered        = "ResourceNotRegistered"
	ReasonDraining                     = "Draining"
	ReasonAwaitingVolumeDetachment     = "AwaitingVolumeDetachment"
	ReasonTerminationGracePeriodPassed = "TerminationGracePeriodElapsed"
	ReasonEmpty                        = "Empty"
)
