package plan

import "strings"

// Hurdle is the refusal without its pool and without what to do about it.
func (r Refusal) Hurdle() string {
	text := r.reason()
	if remedy := r.Cause.remedy(); remedy != "" {
		text = strings.TrimSuffix(text, "; "+remedy)
	}
	return text
}

// Remedy says in one sentence what lets the pool take the pod, or that it is without anybody doing
// anything.
func (r Refusal) Remedy() string {
	if remedy := r.Cause.remedy(); remedy != "" {
		return remedy
	}
	switch r.Cause {
	case NoPool:
		return "create a NodePool"
	case PoolNotReady:
		return "look at the conditions of the NodePool and of its EC2NodeClass"
	case UntoleratedTaint:
		return "let the pod tolerate the taint, or take the taint off the NodePool"
	case Requirements, NoType:
		return "let the NodePool have what the pod asks for by its nodeSelector or affinity, or ask for something that it has"
	case TooLarge:
		return "request less, or let the NodePool have larger instance types"
	case NoCapacity:
		return "wait: EC2 is asked again by itself; more instance types, zones or capacity types in the NodePool make that rarer"
	case InBackoff:
		return "look at the image, the user data and the network of the nodes that did not come up; they are tried again by themselves"
	case LimitReached:
		return "raise the limit of the NodePool, or wait until its nodes need less of it"
	case NotSupported:
		return "create the object that is missing, or drop the constraint"
	case GangIncomplete:
		return "make room for all pods of the gang: look at what holds the others"
	case HostPorts:
		return "let the pod have another host port, or let the NodePool launch another node"
	case PlanUnfinished, LaunchesFirst:
		return "wait: that changes by itself"
	case IsStatic:
		return "create a NodePool without spec.replicas, or raise spec.replicas of this one"
	case Topology, MinValuesUnmet, Volumes: // remedy has said it
	}
	return ""
}
