package plan

// Remedy says in one sentence what lets the node be deleted, or that it is without anybody
// doing anything. The guide to disruption has the same, at greater length.
func (s Stay) Remedy() string {
	switch s.Reason {
	case NotInitialized, IsLeaving, Replaces, NextToGo, NotSearched, NotQuiet, PodSettles, TriedLately, NotTried, CloudAway:
		return "wait: that changes by itself"
	case MovesHeld:
		if s.Detail != "" {
			return "see why the replicas do not get ready, or scale their controller down"
		}
		return "if new nodes of the NodePool do not come up, look at its image, user data and capacity; else wait: the pause ends by itself"
	case PoolUnready:
		return "look at the conditions of the NodePool"
	case PoolPaused:
		return "remove the annotation karpenterd.sh/pause-disruption from the NodePool"
	case DaemonPaused:
		return "set pause_disruption of karpenter_daemon, or PAUSE_DISRUPTION of the Deployment, to false; after a jump of the clock, wait"
	case NodeProtected, NodeStays:
		return "remove the annotation from the node"
	case PodExpected:
		return "wait until the pod runs, or look why its nomination stands"
	case PodProtected:
		return "remove the annotation from the pod; for drift and expiry, terminationGracePeriod of the NodePool bounds the wait on nodes that are launched with it"
	case PodOfGang:
		return "wait until the gang ends"
	case PodBudget:
		return "add replicas, wait until the pods of the PodDisruptionBudget are ready, or let the PodDisruptionBudget allow more"
	case PodBudgets:
		return "change the selector of one PodDisruptionBudget, or delete one"
	case PolicyForbids:
		return "set consolidationPolicy of the NodePool to WhenEmptyOrUnderutilized, and consolidateAfter to a time"
	case NoSaving:
		return "nothing is wrong: the node is worth its price"
	case SpotForSpot:
		return "nothing is wrong: a different spot instance may be interrupted sooner, so it is not worth a move"
	case NoPlace:
		return "raise the limits of the NodePools, or relax what the pods ask for"
	case BudgetUsed:
		return "wait until the nodes that use the budget up are terminated or ready again, or raise the budget of the NodePool"
	case NoPrice:
		return "look whether the NodeClass is ready, and whether EC2 sells the instance type in the zone of the node"
	case ReplicasLate:
		return "see why the other replicas are not ready, scale the controller down, or write a PodDisruptionBudget, which decides then"
	case Declined:
		return "look for the line \"nodeclaim stays for now\" in the daemon's log, and whether the daemon's watch is behind"
	case OutOfTime:
		return "wait: the daemon tries again; if that fails again, look why the node's pods or its replacements were late"
	case NotDrifted:
		return "nothing is wrong: the node no longer differs"
	case StaticPool:
		return "lower spec.replicas of the NodePool to have fewer nodes"
	case LimitFull:
		return "raise limits.nodes of the NodePool above spec.replicas"
	case NoReplacement:
		return "let the NodePool require something that can be launched, and its EC2NodeClass select an image for it"
	}
	return ""
}
