package plan

import (
	"fmt"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Verdict says what becomes of a pod.
type Verdict string

// The verdicts on a pod.
const (
	OnNode      Verdict = "on-node"     // fits a node that is there
	OnClaim     Verdict = "on-claim"    // fits a NodeClaim that is on its way
	OnLaunch    Verdict = "on-launch"   // fits a launch of this plan
	Unplaceable Verdict = "unplaceable" // fits nothing; Reasons say why
)

// Outcome is what becomes of one pod.
type Outcome struct {
	Pod     string // namespace/name
	Verdict Verdict
	On      string // node, claim or launch
	Reasons []Refusal
}

// Refusal says why one pool cannot take a pod, or, with an empty pool, why no
// pool can.
type Refusal struct {
	Pool     string
	Cause    Cause
	Detail   string             // the requirement, taint, limit or constraint
	Types    int                // instance types refused for this cause
	Shortage *quantity.Shortage // with TooLarge: what the largest type lacks
	Taint    *cluster.Taint     // with Taint
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
	LimitReached     Cause = "the pool's limits are reached"
	NotSupported     Cause = "the pod has a constraint that is not carried out yet"
)

// String makes one clause of a sentence.
func (r Refusal) String() string {
	var b strings.Builder
	if r.Pool != "" {
		fmt.Fprintf(&b, "pool %q: ", r.Pool)
	}
	b.WriteString(string(r.Cause))
	if r.Detail != "" {
		fmt.Fprintf(&b, " (%s)", r.Detail)
	}
	if r.Types > 0 {
		fmt.Fprintf(&b, ", %d instance types", r.Types)
	}
	return b.String()
}

// Explain makes one sentence of the outcome.
func (o Outcome) Explain() string {
	switch o.Verdict {
	case OnNode:
		return fmt.Sprintf("pod %s fits on node %s", o.Pod, o.On)
	case OnClaim:
		return fmt.Sprintf("pod %s fits on NodeClaim %s, which is on its way", o.Pod, o.On)
	case OnLaunch:
		return fmt.Sprintf("pod %s gets the new NodeClaim %s", o.Pod, o.On)
	case Unplaceable:
	}
	parts := make([]string, len(o.Reasons))
	for i, r := range o.Reasons {
		parts[i] = r.String()
	}
	return fmt.Sprintf("pod %s cannot be placed: %s", o.Pod, strings.Join(parts, "; "))
}

// Explain makes one clause of why a launch is what it is.
func (r LaunchReason) Explain() string {
	s := fmt.Sprintf("room for %d pods was missing; %s at %s is the cheapest of %d offers that holds them", r.Pods, r.Best.Type, r.Best.Price.Dollars(), r.Considered)
	if r.RunnerUp.Type != "" {
		s += fmt.Sprintf(", before %s at %s", r.RunnerUp.Type, r.RunnerUp.Price.Dollars())
	}
	if r.Unavailable > 0 {
		s += fmt.Sprintf("; %d offerings had no capacity a moment ago", r.Unavailable)
	}
	return s
}
