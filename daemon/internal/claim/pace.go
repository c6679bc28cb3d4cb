package claim

import (
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

const (
	// patience is how long an evicted pod counts while its controller lacks a ready pod. It
	// bounds the wait for a controller whose new pods never get ready, where a user asked
	// for the end of the node.
	patience = 5 * time.Minute
	// replicasStart is the kind of a block that ends by itself: pods that came in place of
	// evicted ones are not ready yet.
	replicasStart = "ReplicasStart"
	// replicasNotReady is the kind of a block that may need somebody: replicas are not
	// ready for another reason, or do not get ready.
	replicasNotReady = v1.ReasonReplicasNotReady
)

// pace bounds how many replicas of a controller the drains of all nodes evict at a time. It
// is safe for use by many workers. A restart forgets it, which lets one round more be
// evicted by patient drains.
type pace struct {
	mu      sync.Mutex
	evicted map[types.UID]map[types.UID]time.Time // by controller: pods, and when
}

// mayEvict says whether a patient drain may evict one more ready replica. Of the replicas,
// some are ready; recent is how many were evicted a short time ago. Replicas that are not
// ready for another reason than our evictions do not hold it up.
func mayEvict(replicas, ready, recent int64) bool {
	return min(max(0, replicas-ready), recent) < plan.AtOnce(replicas)
}

// maySpare says whether a careful drain may evict one more ready replica: so many of the
// replicas are ready. The only replica of a controller may be evicted, else no node with
// one would.
func maySpare(replicas, ready int64) bool { return replicas-ready < plan.AtOnce(replicas) }

// replicas are the pods of a controller.
type replicas struct {
	of       *metav1.OwnerReference
	declared int64
	pods     []*corev1.Pod
}

// take notes the eviction of the pod, or says why it has to wait. The replicas are those of
// the pod's controller.
func (p *pace) take(pod *corev1.Pod, x replicas, by plan.Pace, now time.Time) (kind, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(now)
	recent := p.evicted[x.of.UID]
	if _, already := recent[pod.UID]; already {
		return "", "" // the watch is behind
	}
	var ready int64
	for _, x := range x.pods {
		if _, evicted := recent[x.UID]; !evicted && x.DeletionTimestamp == nil && translate.PodReady(x) {
			ready++
		}
	}
	all := x.declared + x.toCome(recent)
	may := maySpare(all, ready)
	if by == plan.Patient {
		may = mayEvict(all, ready, int64(len(recent)))
	}
	name := x.of.Kind + " " + pod.Namespace + "/" + x.of.Name
	switch {
	case may:
	case all-ready <= int64(len(recent)) || by == plan.Patient:
		return replicasStart, fmt.Sprintf("at most %d of the %d replicas of %s are evicted at a time, and those that came in their place are not ready; a PodDisruptionBudget can say otherwise",
			plan.AtOnce(all), all, name)
	default:
		return replicasNotReady, fmt.Sprintf("only %d of the %d replicas of %s are ready, and nothing forces the eviction of this one: see why the others are not ready, scale the controller down, or delete the pod; a PodDisruptionBudget can say otherwise",
			ready, all, name)
	}
	if p.evicted == nil {
		p.evicted = map[types.UID]map[types.UID]time.Time{}
	}
	if recent == nil {
		recent = map[types.UID]time.Time{}
		p.evicted[x.of.UID] = recent
	}
	recent[pod.UID] = now
	return "", ""
}

// toCome is how many pods a controller that declares no replicas to the daemon has to
// create in place of evicted ones: it counts as if it declared the pods that it has.
func (x replicas) toCome(evicted map[types.UID]time.Time) int64 {
	if slices.Contains([]string{"Deployment", "ReplicaSet", "StatefulSet"}, x.of.Kind) || len(evicted) == 0 {
		return 0
	}
	gone, first := int64(len(evicted)), time.Time{}
	for _, at := range evicted {
		if first.IsZero() || at.Before(first) {
			first = at.Truncate(time.Second) // as creation times are
		}
	}
	for _, p := range x.pods {
		if _, there := evicted[p.UID]; there || !p.CreationTimestamp.Time.Before(first) {
			gone--
		}
	}
	return max(0, gone)
}

// giveBack says that the pod of the controller was not evicted after all.
func (p *pace) giveBack(pod *corev1.Pod, of *metav1.OwnerReference) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.evicted[of.UID], pod.UID)
}

// forget drops evictions that count no more.
func (p *pace) forget(now time.Time) {
	for owner, pods := range p.evicted {
		for pod, at := range pods {
			if now.Sub(at) >= patience {
				delete(pods, pod)
			}
		}
		if len(pods) == 0 {
			delete(p.evicted, owner)
		}
	}
}

// paced says whether the pod's eviction counts against the replicas of its controller. Pods
// that are not ready serve nobody, Jobs have no replicas that serve, and pods of DaemonSets
// get no successor elsewhere.
func paced(p *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(p)
	return owner != nil && !slices.Contains([]string{"Job", "DaemonSet", "Node"}, owner.Kind) && translate.PodReady(p)
}

// paceOf says how the replicas on the node are treated. Before an interruption, at the end
// of the node's life, and when a user deleted it, they are evicted at once.
func (c *Controller) paceOf(claim *v1.NodeClaim) plan.Pace {
	why := claim.DeepCopy().Conditions().Get(v1.ConditionDisruptionReason)
	if _, interrupted := claim.Annotations[v1.AnnotationInterruption]; interrupted {
		return plan.AllAtOnce
	}
	if why.IsTrue() {
		return paceFor(claim, plan.DeleteReason(why.Reason))
	}
	if pool, there := c.World.NodePool(claim.Labels[v1.LabelNodePool]); there && cascades(pool) {
		return plan.Patient
	}
	return plan.AllAtOnce
}

// cascades says whether the garbage collector deletes the NodeClaims of the pool, because
// somebody deleted the pool in the foreground. It deletes them all at once, and knows no
// budgets. That is no wish to evict all pods at once, unless the pool says so.
func cascades(p *v1.NodePool) bool {
	return p.DeletionTimestamp != nil && slices.Contains(p.Finalizers, metav1.FinalizerDeleteDependents) && p.Annotations[v1.AnnotationTerminate] != v1.LabelTrue
}

// paceFor is how the replicas on the node of the NodeClaim are treated, which the daemon takes
// away for the reason. At the end of its life, nothing holds a node with a
// terminationGracePeriod.
func paceFor(claim *v1.NodeClaim, why plan.DeleteReason) plan.Pace {
	traits, life := why.Traits(), claim.Spec.ExpireAfter
	if traits.Expires && claim.Spec.TerminationGracePeriod != nil && life != nil && !life.Never &&
		claim.DeletionTimestamp != nil && !claim.DeletionTimestamp.Time.Before(claim.CreationTimestamp.Add(life.Duration)) {
		return plan.AllAtOnce
	}
	return traits.Pace
}
