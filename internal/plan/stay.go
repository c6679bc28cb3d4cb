package plan

import (
	"cmp"
	"fmt"
	"time"
)

// Stay says why a node stays.
type Stay struct {
	Reason StayReason
	Detail string // the pod, budgets or pool that are meant; "" for the node itself
	// Until is when that may change by time alone; zero where it does not, or where that is
	// not known.
	Until time.Time
}

// StayReason is the kind of reason for which a node stays.
type StayReason string

// The reasons why a node stays.
const (
	NotInitialized StayReason = "NotInitialized"
	IsLeaving      StayReason = "Leaving"
	PoolUnready    StayReason = "PoolNotReady"
	PoolPaused     StayReason = "PoolPaused"
	DaemonPaused   StayReason = "DaemonPaused"
	CloudAway      StayReason = "CloudAway"
	NodeProtected  StayReason = "NodeDoNotDisrupt"
	PodExpected    StayReason = "PodNominated"
	PodProtected   StayReason = "PodDoNotDisrupt"
	PodOfGang      StayReason = "PodOfGang"
	PodSettles     StayReason = "PodSettles"
	PodBudget      StayReason = "PodDisruptionBudget"
	PodBudgets     StayReason = "SeveralPodDisruptionBudgets"
	ReplicasLate   StayReason = "ReplicasNotReady"
	PolicyForbids  StayReason = "ConsolidationPolicy"
	NotQuiet       StayReason = "ConsolidateAfter"
	NoSaving       StayReason = "NothingCheaper"
	SpotForSpot    StayReason = "SpotToSpot"
	NoPlace        StayReason = "PodWithoutPlace"
	BudgetUsed     StayReason = "DisruptionBudget"
	NoPrice        StayReason = "PriceUnknown"
	NotDrifted     StayReason = "NotDrifted"
	Declined       StayReason = "DeletionDeclined"
	OutOfTime      StayReason = "MoveOutOfTime"
	NodeStays      StayReason = "NodeDoNotConsolidate"
	Replaces       StayReason = "Replacement"
	NextToGo       StayReason = "NextToGo"
	NotSearched    StayReason = "NotLookedAtYet"
	StaticPool     StayReason = "StaticPool"
	LimitFull      StayReason = "LimitReached"
	NoReplacement  StayReason = "NothingToLaunch"
	TriedLately    StayReason = "TriedLately"
	MovesHeld      StayReason = "MovesHeld"
	NotTried       StayReason = "NotTried"
)

// OfStatic is why a node of a static pool stays.
func OfStatic(pool string, replicas int64) Stay {
	return Stay{Reason: StaticPool, Detail: fmt.Sprintf("%s (spec.replicas: %d)", pool, replicas)}
}

// Paused says whether a user has paused disruption.
func (s Stay) Paused() bool { return s.Reason == PoolPaused || s.Reason == DaemonPaused }

// Explain says in one sentence why the node stays, and until when where that is known.
func (s Stay) Explain() string { return s.explain() + until(s.Until) }

// until names the time; "" for none.
func until(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return ", until " + at.UTC().Format(time.RFC3339)
}

func (s Stay) explain() string {
	switch s.Reason {
	case NotInitialized:
		return "the node is not initialized"
	case IsLeaving:
		return "the node is leaving already"
	case PoolUnready:
		return fmt.Sprintf("NodePool %q is not there, not ready or being deleted", s.Detail)
	case PoolPaused:
		return fmt.Sprintf("NodePool %q pauses disruption by its annotation karpenterd.sh/pause-disruption: remove the annotation to end the pause", s.Detail)
	case DaemonPaused:
		return "disruption is paused: by the daemon's setting PAUSE_DISRUPTION (pause_disruption of karpenter_daemon), or for minutes because the clock of the daemon's machine has jumped, which its log says"
	case CloudAway:
		return "EC2 does not answer"
	case NodeProtected:
		return "the node has the annotation karpenter.sh/do-not-disrupt"
	case PodExpected, PodProtected, PodOfGang, PodSettles, PodBudgets, ReplicasLate:
		return s.explainPod()
	case PodBudget:
		return fmt.Sprintf("PodDisruptionBudget %s allows no eviction now", s.Detail)
	case PolicyForbids:
		return "the NodePool's consolidationPolicy or consolidateAfter keeps the node"
	case NotQuiet:
		return cmp.Or(s.Detail, "pods came to the node or left it within consolidateAfter")
	case NoSaving:
		return "moving its pods would not pay" + s.in(": %s")
	case SpotForSpot:
		return "moving its pods to nodes that run would not pay, and no other spot node replaces a spot node: a cheaper one may be interrupted sooner" + s.in(": %s")
	case NoPlace:
		return cmp.Or(s.in("pod %s has no other place"), "a pod of the node has no other place")
	case BudgetUsed:
		return fmt.Sprintf("a disruption budget of NodePool %s allows no more nodes now", s.Detail)
	case NodeStays:
		return "the node has the annotation karpenter.sh/do-not-consolidate"
	case Replaces:
		return fmt.Sprintf("the node replaces others in move %s, and those are not deleted yet", s.Detail)
	case NextToGo:
		return "the node is to be deleted as soon as its turn comes" + s.in(": %s")
	case NotSearched:
		return s.notSearched()
	case NotTried:
		return "whether its pods may move depends on rules about other pods, which only a plan for the node alone can check; such plans were made for nodes that waste more"
	case NotDrifted:
		return "the node matches its NodePool and EC2NodeClass again"
	case Declined:
		return "for five minutes, the last check before the deletion found something on the API server that blocks it and that the daemon's watch has not delivered; the line \"nodeclaim stays for now\" of the daemon's log names it"
	case OutOfTime:
		return "the node was not deleted before the deadline of its move"
	case StaticPool, LimitFull, NoReplacement:
		return s.explainPool()
	case NoPrice:
		return "the price of the node is not known"
	case TriedLately:
		return "the node was to be deleted a short time ago and had to stay, for example because one of its pods had no other place; the daemon does not try again at once"
	case MovesHeld:
		if s.Detail != "" {
			return fmt.Sprintf("the drain of node %s waits for replicas that do not get ready, as the condition Drained of its NodeClaim says: until these replicas are ready, no pods of the NodePool's other nodes are evicted for savings, drift or expiry", s.Detail)
		}
		return "a replacement of the NodePool did not come up, or nodes were launched for pods that had just been evicted to save money: for now the NodePool launches no replacements and saves no money"
	}
	return string(s.Reason)
}

// explainPool is explain for reasons that need only what the static pool of the node says.
func (s Stay) explainPool() string {
	return fmt.Sprintf(map[StayReason]string{
		StaticPool:    "static NodePool %s has no node to spare",
		LimitFull:     "limits.nodes of static NodePool %q leaves no room for a replacement of the node: raise limits.nodes above spec.replicas",
		NoReplacement: "no replacement of the node can be launched: %s",
	}[s.Reason], s.Detail)
}

// explainPod is explain for reasons that need only the name of the pod that keeps the node.
func (s Stay) explainPod() string {
	return fmt.Sprintf(map[StayReason]string{
		PodExpected:  "pod %s is nominated for the node",
		PodProtected: "pod %s has the annotation karpenter.sh/do-not-disrupt",
		PodOfGang:    "pod %s is of a gang",
		PodSettles:   "pod %s came in place of an evicted one a short time ago",
		PodBudgets:   "more than one PodDisruptionBudget selects pod %s; the API evicts no such pod: change the selector of one, or delete one",
		ReplicasLate: "pod %s is ready, a quarter or more of the replicas of its controller have not got ready within five minutes, and no PodDisruptionBudget selects it",
	}[s.Reason], s.Detail)
}

// in returns the detail in the text; "" where there is none.
func (s Stay) in(text string) string {
	if s.Detail == "" {
		return ""
	}
	return fmt.Sprintf(text, s.Detail)
}

func (s Stay) notSearched() string {
	if s.Until.IsZero() {
		return "the fleet has changed and has not been searched for savings since"
	}
	return s.Detail + ", and the next search of the fleet waits"
}
