package v1

// Condition types of a NodeClaim that say whether and why its node goes. They are
// True or absent.
const (
	// ConditionConsolidatable says that no pod has come to the node or gone from it for
	// the NodePool's consolidateAfter.
	ConditionConsolidatable = "Consolidatable"
	// ConditionDrifted says that the machine is not what its NodePool and class ask for
	// now. Its reason says in what.
	ConditionDrifted = "Drifted"
	// ConditionDisruptionReason says that the node is about to go. Its reason is
	// Karpenter's: Empty, Underutilized or Drifted; or Expired or Interrupted.
	ConditionDisruptionReason = "DisruptionReason"
)

// AnnotationMove (JSON) on a NodeClaim says which nodes its node replaces. A daemon
// that starts anew goes on with the move.
const AnnotationMove = OwnDomain + "/move"

// Annotations of NodePools and NodeClaims, shared with Karpenter: the hash of the pool's
// template, on a NodeClaim of the template that it was made from, and the version of the
// hash.
const (
	AnnotationNodePoolHash        = Group + "/nodepool-hash"
	AnnotationNodePoolHashVersion = Group + "/nodepool-hash-version"
)

// AnnotationVoluntaryDisruption on a node is "drifted" where a Karpenter older than 0.32
// found drift. Nothing obeys it.
const AnnotationVoluntaryDisruption = Group + "/voluntary-disruption"
