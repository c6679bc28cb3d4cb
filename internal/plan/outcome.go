package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Verdict says what becomes of a pod.
type Verdict string

// The verdicts on a pod.
const (
	OnNode      Verdict = "on-node"      // fits on a node that is there
	OnClaim     Verdict = "on-claim"     // fits a NodeClaim that is on its way
	OnLaunch    Verdict = "on-launch"    // fits a launch of this plan
	Waiting     Verdict = "waiting"      // gets a launch in a moment: more pods are arriving, or the plan is still being made
	AwaitsNodes Verdict = "awaits-nodes" // room is on its way in total, and not yet in one piece
	Preempting  Verdict = "preempting"   // gets a node where the scheduler preempts other pods for it
	Unplaceable Verdict = "unplaceable"  // fits nothing; Reasons say why
)

// Outcome is what becomes of pods of one group.
type Outcome struct {
	Group   string   // key of the group
	Pods    []string // namespace/name, oldest first
	Verdict Verdict
	On      string    // node, claim or launch
	Dropped []string  // preferences that the pods gave up for this place, as text
	Reasons []Refusal // why a pool refuses the pods, by pool
}

// Refusal says why one pool cannot take a pod. With an empty Pool it says why no
// pool can.
type Refusal struct {
	Pool     string
	Cause    Cause
	Detail   string             // the requirement, taint, limit or constraint
	Types    int                // instance types refused for this cause
	Shortage *quantity.Shortage // with TooLarge: what Largest lacks; Free is without the DaemonSets' share
	Taint    *cluster.Taint     // with UntoleratedTaint
	Limit    *Limit             // with LimitReached
	Largest  string             // with TooLarge: the type that comes closest in a resource that no type has enough of
	Reported *Reported          `json:",omitempty"` // with TooLarge: Largest would hold the pod if nodes had what the catalogue says
	Ask      *Ask               // with NoType: the label that the pod asks for, and the known values
	Until    time.Time          `json:",omitzero"` // with NoCapacity and InBackoff: when the first of it is tried again; zero where that is not known
}

// Reported says that a node has less of the resource of Shortage for pods than the catalogue
// says.
type Reported struct {
	Node           string
	Amount, Listed int64 // what the node reported, and what the catalogue says
}

// LeftOut is a node that plans leave out for pods of one group, because the scheduler
// has refused a pod of them there again and again.
type LeftOut struct {
	Pod, Node string // the pod as namespace/name
	Times     int    // that its group was refused there
	Until     time.Time
}

// Explain says in one sentence what was refused, and what is done about it.
func (x LeftOut) Explain() string {
	return fmt.Sprintf("The kube-scheduler has refused node %s %s, although the pod was nominated for it; pods of its kind are planned elsewhere until %s",
		x.Node, quantity.Count(int64(x.Times), "time"), x.Until.UTC().Format(time.RFC3339))
}

// Lacking is a static pool that has fewer nodes than spec.replicas asks for, because no
// more can be launched now.
type Lacking struct {
	Pool, PoolUID string
	Replicas      int64 // spec.replicas
	Nodes         int64 // that are there or on their way, those of this plan included
	Why           Refusal
}

// Explain says in one sentence what the pool lacks and why.
func (x Lacking) Explain() string {
	why := x.Why
	why.Pool = ""
	return fmt.Sprintf("spec.replicas of static NodePool %q is %d, and it has %s: %s", x.Pool, x.Replicas, quantity.Count(x.Nodes, "node"), why)
}

// Limit is one of a pool's limits, and how much of it is used.
type Limit struct {
	Name      string // of the resource; "nodes" counts nodes
	Max, Used int64  // Used counts the launches of this plan
	Adds      int64  // what the smallest node that holds the pod adds; 0 where it is not known
}

// Cause is the kind of a Refusal.
type Cause string

// The causes for which a pool refuses a pod.
const (
	NoPool           Cause = "no NodePool exists"
	PoolNotReady     Cause = "the pool is not ready"
	UntoleratedTaint Cause = "the pod does not tolerate a taint"
	Requirements     Cause = "the requirements contradict"
	NoType           Cause = "no instance type meets the requirements"
	TooLarge         Cause = "no instance type is large enough"
	NoCapacity       Cause = "the capacity ran out a moment ago"
	InBackoff        Cause = "the last nodes for such pods did not come up"
	LimitReached     Cause = "the pool's limits are reached"
	NotSupported     Cause = "the pod has a constraint that is not carried out, or needs an object that is missing"
	Topology         Cause = "topology spread or pod affinity rules leave the pod no domain"
	GangIncomplete   Cause = "not all pods of its gang have a place"
	MinValuesUnmet   Cause = "the instance types that hold the pod do not meet the pool's minValues"
	HostPorts        Cause = "its host ports are taken"
	Volumes          Cause = "no new node meets the node affinity of the pod's volumes"
	PlanUnfinished   Cause = "the plan is still being made"
	LaunchesFirst    Cause = "as many nodes of the pool wait for their launch as EC2 is asked for together"
	IsStatic         Cause = "the pool is static: it launches no nodes for pods"
)

// remedy says what people can do about the cause, where it is not plain.
func (c Cause) remedy() string {
	switch c {
	case Topology:
		return "relax a rule or add domains"
	case MinValuesUnmet:
		return "lower minValues, let the NodePool have other instance types, or set the daemon's min-values policy to BestEffort"
	case Volumes:
		return "let the NodePool launch where the volumes are, or make volumes with the binding mode WaitForFirstConsumer"
	case NoPool, PoolNotReady, UntoleratedTaint, Requirements, NoType, TooLarge, NoCapacity, InBackoff, LimitReached, NotSupported, GangIncomplete, HostPorts, PlanUnfinished, LaunchesFirst, IsStatic:
	}
	return ""
}

// Explain makes one sentence of the outcome.
func (o Outcome) Explain() string {
	pods, s, verb, it := "pod "+strings.Join(o.Pods, ""), "s", "is", "it"
	if len(o.Pods) > 1 {
		pods, s, verb, it = fmt.Sprintf("pod %s and %d more of its kind", o.Pods[0], len(o.Pods)-1), "", "are", "them"
	}
	switch o.Verdict {
	case OnNode:
		return fmt.Sprintf("%s fit%s on node %s", pods, s, o.On)
	case OnClaim:
		return fmt.Sprintf("%s fit%s on NodeClaim %s, which is on its way", pods, s, o.On)
	case OnLaunch:
		return fmt.Sprintf("%s get%s the new NodeClaim %s", pods, s, o.On)
	case Preempting:
		return fmt.Sprintf("%s %s to run on node %s, %s", pods, verb, o.On, preemptsFor(it))
	case Waiting:
		return fmt.Sprintf("%s wait%s a moment", pods, s) + waitsFor(o.Reasons)
	case AwaitsNodes:
		return fmt.Sprintf("%s wait%s for room on nodes that are on their way", pods, s)
	case Unplaceable:
	}
	return pods + " cannot be placed: " + ExplainRefusals(o.Reasons)
}

func preemptsFor(it string) string { return "where the kube-scheduler preempts other pods for " + it }

func waitsFor(reasons []Refusal) string {
	if len(reasons) > 0 {
		return ": " + ExplainRefusals(reasons)
	}
	return " for more pods that are still arriving"
}

// Explain says in one clause why the core chose this launch.
func (r LaunchReason) Explain() string {
	missing, holds := "room for "+quantity.Count(r.Pods, "pod")+" was missing", " that holds "
	them := "them"
	if r.Pods == 1 {
		them = "it"
	}
	if r.Static > 0 {
		missing, holds, them = fmt.Sprintf("the static pool keeps %s", quantity.Count(r.Static, "node")), "", ""
	}
	s := fmt.Sprintf("%s; %s at %s is the cheapest of %s%s%s",
		missing, r.Best.Type, r.Best.costs(), quantity.Count(int64(r.Considered), "offer"), holds, them)
	if r.RunnerUp.Type != "" {
		s += fmt.Sprintf("; the best alternative of another family is %s at %s", r.RunnerUp.Type, r.RunnerUp.costs())
	}
	if r.Lacks != nil {
		s += fmt.Sprintf("; %s at %s %s", r.Passed.Type, r.Passed.costs(), lacks(*r.Lacks))
	}
	if r.Unavailable > 0 {
		s += "; " + quantity.Count(int64(r.Unavailable), "offering") + " had no capacity a moment ago"
	}
	return s
}
