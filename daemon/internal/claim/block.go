package claim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

const (
	// backoffFirst and backoffMost bound how long a pod is left alone after an eviction
	// that was refused. Each pod has a back-off of its own.
	backoffFirst = 100 * time.Millisecond
	backoffMost  = 10 * time.Second
	// evictionFailed is the kind of a block that is an error.
	evictionFailed = "EvictionFailed"
	// accepted is the kind of a block that is none: the API server has accepted the
	// eviction, and the watch has not brought the pod's termination yet.
	accepted = "Accepted"
)

// block says why a pod cannot be evicted yet. The zero block is none.
type block struct {
	kind string // a word for programs
	pod  string // namespace/name
	why  string
	wait time.Duration // the last back-off
	next time.Time     // when to try again
}

// blocked returns what stopped the pods of the NodeClaim's node at the last look.
func (c *Controller) blocked(claim *v1.NodeClaim) map[types.UID]block {
	last, _ := c.blocks.Load(claim.Name)
	stops, _ := last.(map[types.UID]block)
	return stops
}

// blockOf reads the refusal of an eviction. The status cause tells a refusal for a
// PodDisruptionBudget from one for too many requests. That two budgets select the pod
// is only in the message; other failures of the server have the same code.
func blockOf(p *corev1.Pod, budgets []cluster.PodBudget, err error) block {
	out := block{pod: p.Namespace + "/" + p.Name}
	cause, budget := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause)
	switch {
	case budget:
		name, named := strings.CutPrefix(cause.Message, "The disruption budget ")
		name, _, _ = strings.Cut(name, " ")
		out.kind, out.why = "PodDisruptionBudget", "a PodDisruptionBudget allows no eviction now: "+cause.Message
		if named {
			out.why = "PodDisruptionBudget " + p.Namespace + "/" + name + " allows no eviction now"
		}
	case apierrors.IsTooManyRequests(err):
		out.kind, out.why = "TooManyRequests", "the API server has too many requests"
	case strings.Contains(err.Error(), "more than one PodDisruptionBudget"):
		out.kind, out.why = "SeveralPodDisruptionBudgets", "more than one PodDisruptionBudget selects the pod"+names(budgets)+", which the eviction API refuses: change the selector of one, or delete one"
	default:
		out.kind, out.why = evictionFailed, "the eviction failed: "+err.Error()
	}
	return out
}

// names lists the budgets in brackets.
func names(budgets []cluster.PodBudget) string {
	if len(budgets) == 0 {
		return "" // the watch is behind
	}
	list := make([]string, len(budgets))
	for i, b := range budgets {
		list[i] = b.ID()
	}
	slices.Sort(list)
	return " (" + strings.Join(list, ", ") + ")"
}

// tell says what the blocks are, for people and as a key that stays the same while the
// kinds of blocks and the number of pods do, and how long to wait for the next try. The key
// is empty where all that blocks ends by itself, the message where nothing blocks.
func tell(stops map[types.UID]block, now time.Time) (key, message string, again time.Duration) {
	again = drainPoll
	kinds := map[string]bool{}
	var lines []string
	news := 0
	for _, b := range stops {
		if b.kind == accepted {
			continue
		}
		if b.kind != replicasStart {
			kinds[b.kind] = true
			news++
		}
		lines = append(lines, b.pod+": "+b.why)
		again = min(again, max(b.next.Sub(now), time.Millisecond))
	}
	slices.Sort(lines)
	if news > 0 {
		key = fmt.Sprint(news, " ", strings.Join(slices.Sorted(maps.Keys(kinds)), " "))
	}
	return key, strings.Join(lines[:min(3, len(lines))], "; "), again
}
