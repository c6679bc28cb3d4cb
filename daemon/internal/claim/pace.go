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
	// bounds the wait for a controller whose new pods never get ready.
	patience = 5 * time.Minute
	// replicasNotReady is the kind of a block that ends by itself.
	replicasNotReady = "ReplicasNotReady"
)

// pace bounds how many replicas of a controller voluntary drains of all nodes evict at a
// time, where no PodDisruptionBudget does: a user who wrote none did not ask for all of
// them to go at once. It is safe for use by many workers. A restart forgets it, which lets
// one round more go.
type pace struct {
	mu      sync.Mutex
	evicted map[types.UID]map[types.UID]time.Time // by controller: pods, and when
}

// atOnce is how many of the replicas may be evicted while their successors are not ready.
func atOnce(replicas int64) int64 { return max(1, replicas/4) }

// mayEvict says whether one more ready replica may be evicted. Of the replicas, some are
// ready; recent is how many were evicted a short time ago. Replicas that are not ready for
// another reason than our evictions do not hold a drain up.
func mayEvict(replicas, ready, recent int64) bool {
	return min(max(0, replicas-ready), recent) < atOnce(replicas)
}

// take notes the eviction of the pod, or says why it has to wait. The pods are those of
// the pod's controller, which declares so many replicas.
func (p *pace) take(pod *corev1.Pod, replicas int64, pods []*corev1.Pod, now time.Time) (why string) {
	owner := metav1.GetControllerOfNoCopy(pod)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(now)
	recent := p.evicted[owner.UID]
	if _, already := recent[pod.UID]; already {
		return "" // the watch is behind
	}
	var ready int64
	for _, x := range pods {
		if _, evicted := recent[x.UID]; !evicted && x.DeletionTimestamp == nil && translate.PodReady(x) {
			ready++
		}
	}
	if !mayEvict(replicas, ready, int64(len(recent))) {
		return fmt.Sprintf("at most %d of the %d replicas of %s %s/%s are evicted at a time, and those that came in their place are not ready; a PodDisruptionBudget can say otherwise",
			atOnce(replicas), replicas, owner.Kind, pod.Namespace, owner.Name)
	}
	if p.evicted == nil {
		p.evicted = map[types.UID]map[types.UID]time.Time{}
	}
	if recent == nil {
		recent = map[types.UID]time.Time{}
		p.evicted[owner.UID] = recent
	}
	recent[pod.UID] = now
	return ""
}

// giveBack says that the pod was not evicted after all.
func (p *pace) giveBack(pod *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.evicted[metav1.GetControllerOfNoCopy(pod).UID], pod.UID)
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

// gentle says whether the replicas on the node are evicted a few at a time: the daemon
// takes the node away although nothing forces it to. Before an interruption, at the end of
// the node's life, and when a user deleted it, they are not.
func (c *Controller) gentle(claim *v1.NodeClaim) bool {
	why := claim.DeepCopy().Conditions().Get(v1.ConditionDisruptionReason)
	if _, interrupted := claim.Annotations[v1.AnnotationInterruption]; interrupted {
		return false
	}
	if !why.IsTrue() {
		pool, there := c.World.NodePool(claim.Labels[v1.LabelNodePool])
		return there && cascades(pool)
	}
	return voluntary(claim, why)
}

// cascades says whether the garbage collector deletes the NodeClaims of the pool, because
// somebody deleted the pool in the foreground. It deletes them all at once, and knows no
// budgets. That is no wish to evict all pods at once, unless the pool says so.
func cascades(p *v1.NodePool) bool {
	return p.DeletionTimestamp != nil && slices.Contains(p.Finalizers, metav1.FinalizerDeleteDependents) && p.Annotations[v1.AnnotationTerminate] != v1.LabelTrue
}

// voluntary says whether nothing forces the daemon to take the node away for this reason.
func voluntary(claim *v1.NodeClaim, why v1.Condition) bool {
	switch plan.DeleteReason(why.Reason) {
	case plan.Empty, plan.Underutilized, plan.Drifted, plan.PoolDeleted, plan.Surplus: // a pool that is terminated announces nothing
		return true
	case plan.Expired:
		life := claim.Spec.ExpireAfter
		ends := claim.Spec.TerminationGracePeriod != nil && life != nil && !life.Never
		return !ends || claim.DeletionTimestamp == nil || claim.DeletionTimestamp.Time.Before(claim.CreationTimestamp.Add(life.Duration))
	case plan.Interrupted, plan.LaunchTimeout, plan.RegistrationTimeout, plan.InitializationTimeout, plan.DeletedAlready:
	}
	return false
}
