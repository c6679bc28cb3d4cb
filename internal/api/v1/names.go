package v1

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

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
	// LabelRegistered is "true" once the daemon has found the NodeClaim of the
	// Node.
	LabelRegistered = Group + "/registered"
	// LabelInitialized is "true" once every pod that is planned for the Node can
	// run on it.
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
	// AnnotationDoNotDisrupt is "true" on a pod or node that must not be disrupted
	// voluntarily.
	AnnotationDoNotDisrupt = Group + "/do-not-disrupt"
	// AnnotationDoNotEvict on a pod and AnnotationDoNotConsolidate on a node are of
	// Karpenter's older API. The first is like AnnotationDoNotDisrupt; the second keeps
	// a node from being removed to save money only.
	AnnotationDoNotEvict       = Group + "/do-not-evict"
	AnnotationDoNotConsolidate = Group + "/do-not-consolidate"
	// AnnotationTerminationTimestamp (RFC 3339) is when a draining NodeClaim's terminationGracePeriod ends.
	AnnotationTerminationTimestamp = Group + "/nodeclaim-termination-timestamp"
	// AnnotationMinValuesRelaxed is "true" on a NodeClaim whose instance types have
	// fewer different values than the minValues of its NodePool ask for. Otherwise
	// it is "false".
	AnnotationMinValuesRelaxed = Group + "/nodeclaim-min-values-relaxed"
)

// Names in our own domain, for things that Karpenter has no name for.
const (
	OwnDomain = "karpenterd.sh"
	// AnnotationLaunchAttempt (decimal) counts the launches of a NodeClaim. The
	// daemon writes it before the call.
	AnnotationLaunchAttempt = OwnDomain + "/launch-attempt"
	// AnnotationLaunchRequest (JSON) is the request of that attempt, with the time
	// when it began. It is gone when EC2 has answered that it launched nothing.
	AnnotationLaunchRequest = OwnDomain + "/launch-request"
	// AnnotationInterruption is "<deadline> <reason> <noticed>", times in RFC 3339.
	AnnotationInterruption = OwnDomain + "/interruption"
	// AnnotationPlanned on a NodeClaim says how many pods of each kind it is for,
	// as "<kind>=<count>" separated by spaces. A daemon that starts anew learns
	// from it what the daemon before it has already launched.
	AnnotationPlanned = OwnDomain + "/planned-pods"
	// AnnotationGang on a pod names its gang within the namespace. Either enough
	// pods of a gang get room at the same time, or none does.
	AnnotationGang = OwnDomain + "/gang"
	// AnnotationGangSize (decimal, 1 or more) on a pod of a gang is how many pods
	// are enough. Without it, all existing pods of the gang are needed.
	AnnotationGangSize = OwnDomain + "/gang-size"
	// AnnotationTerminate is "true" on a NodePool that is deleted with all that needs it:
	// once it is being deleted, its nodes drain at once, and none is replaced first.
	AnnotationTerminate = OwnDomain + "/terminate"
	// AnnotationPauseDisruption is "true" on a NodePool of which no node is disrupted
	// voluntarily.
	AnnotationPauseDisruption = OwnDomain + "/pause-disruption"
	// AnnotationRefused says on a NodePool or EC2NodeClass that exists in the daemon's
	// memory only why nothing is launched from it. It means nothing on others.
	AnnotationRefused = OwnDomain + "/refused"
	// LabelRenamedFrom on a NodePool is the UID of the NodePool whose place it takes.
	// The provider sets it, and finds by it the NodePool of a rename that was cut off.
	LabelRenamedFrom = OwnDomain + "/renamed-from"
	// TaintAwaitingPods keeps other pods away until the planned pods are nominated.
	TaintAwaitingPods = OwnDomain + "/awaiting-pods"
)

// LabelPodGroup on a pod names its PodGroup, as the coscheduling plugin of the
// kube-scheduler reads it. The PodGroup is a gang where the pod has neither
// AnnotationGang nor spec.schedulingGroup. See
// https://github.com/kubernetes-sigs/scheduler-plugins/tree/master/pkg/coscheduling.
const LabelPodGroup = "scheduling.x-k8s.io/pod-group"

// FinalizerTermination holds a NodeClaim or a Node until the node is drained and
// the instance is gone.
const FinalizerTermination = Group + "/termination"

// Taint keys shared with Karpenter.
const (
	TaintUnregistered = Group + "/unregistered"
	TaintDisrupted    = Group + "/disrupted"
)

// ResourceNodes is the name under which limits and status count nodes.
const ResourceNodes corev1.ResourceName = "nodes"

// IsOwn says whether the key is in our own domain.
func IsOwn(key string) bool { return strings.HasPrefix(key, OwnDomain+"/") }

// UnregisteredTaint is on every machine when it registers. The daemon removes
// it.
func UnregisteredTaint() corev1.Taint {
	return corev1.Taint{Key: TaintUnregistered, Effect: corev1.TaintEffectNoExecute}
}

// DisruptedTaint marks a node that the daemon is emptying.
func DisruptedTaint() corev1.Taint {
	return corev1.Taint{Key: TaintDisrupted, Effect: corev1.TaintEffectNoSchedule}
}

// AwaitingPodsTaint is the startup taint that the daemon removes after
// nomination.
func AwaitingPodsTaint() corev1.Taint {
	return corev1.Taint{Key: TaintAwaitingPods, Effect: corev1.TaintEffectNoSchedule}
}

// Condition types.
const (
	ConditionReady = "Ready"

	// Condition types of a NodePool. Ready depends on both.
	ConditionValidationSucceeded = "ValidationSucceeded"
	ConditionNodeClassReady      = "NodeClassReady"

	// ConditionNodeRegistrationHealthy of a NodePool says whether its nodes register. Ready
	// does not depend on it.
	ConditionNodeRegistrationHealthy = "NodeRegistrationHealthy"

	// ConditionDisrupting of a NodePool is True while pods move away from nodes that go. It
	// then says since when none do.
	ConditionDisrupting = "Disrupting"

	// ConditionUnsupported of a NodePool or EC2NodeClass names the fields that are not
	// carried out, with the effect and the remedy of each. Ready does not depend on it. It
	// is True or absent.
	ConditionUnsupported = "Unsupported"

	// Condition types of a NodeClaim. Ready depends on the first three.
	ConditionLaunched            = "Launched"
	ConditionRegistered          = "Registered"
	ConditionInitialized         = "Initialized"
	ConditionDrained             = "Drained"
	ConditionVolumesDetached     = "VolumesDetached"
	ConditionInstanceTerminating = "InstanceTerminating"
)

// Condition reasons. A condition that is True has its type as reason unless stated otherwise.
const (
	ReasonAwaitingReconciliation = "AwaitingReconciliation"
	ReasonUnhealthyDependents    = "UnhealthyDependents"
	ReasonReconcilingDependents  = "ReconcilingDependents"

	ReasonUnsupportedField = "UnsupportedField" // the daemon's own
	ReasonUnreadable       = "Unreadable"       // the daemon's own: Ready of a NodeClaim that cannot be read

	ReasonNodePoolValidationFailed  = "NodePoolValidationFailed"
	ReasonNodeClassNotFound         = "NodeClassNotFound"
	ReasonNodeClassTerminating      = "NodeClassTerminating"
	ReasonNodeClassReadinessUnknown = "NodeClassReadinessUnknown"
	ReasonRegistrationFailed        = "RegistrationFailed"

	ReasonLaunchFailed                 = "LaunchFailed"
	ReasonNodeNotFound                 = "NodeNotFound"
	ReasonMultipleNodesFound           = "MultipleNodesFound"
	ReasonNodeNotReady                 = "NodeNotReady"
	ReasonStartupTaintsExist           = "StartupTaintsExist"
	ReasonKnownEphemeralTaintsExist    = "KnownEphemeralTaintsExist"
	ReasonResourceNotRegistered        = "ResourceNotRegistered"
	ReasonDraining                     = "Draining"
	ReasonReplicasNotReady             = "ReplicasNotReady" // the daemon's own: a drain evicts no more replicas of a controller
	ReasonAwaitingVolumeDetachment     = "AwaitingVolumeDetachment"
	ReasonTerminationGracePeriodPassed = "TerminationGracePeriodElapsed"
	ReasonAllStay                      = "AllNodesStay"
)
