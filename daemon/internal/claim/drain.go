package claim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

const (
	// drainPoll is how often a drain that waits tries again without a change. There is
	// no event when a PodDisruptionBudget allows evictions again.
	drainPoll = time.Second
	// stuck is how long a drain waits for a pod after the pod's grace period. After that
	// time its kubelet does not work any more.
	stuck = time.Minute
	// perMille is the precision of the sizes of pods.
	perMille = 1000
)

// drain evicts the pods of the node through the eviction API, which respects
// PodDisruptionBudgets. The order is Karpenter's: pods, pods of DaemonSets, critical
// pods, critical pods of DaemonSets; each group when the one before has left. The largest
// pod of a group is first: small ones find room beside it wherever it lands. After the
// deadline pods are deleted in spite of their budgets.
func (c *Controller) drain(ctx context.Context, claim *v1.NodeClaim, node *corev1.Node, deadline time.Time) (again time.Duration, done bool, err error) {
	if err := c.markDisrupted(ctx, node); err != nil {
		return 0, false, err
	}
	now := c.Now()
	pods := slices.DeleteFunc(c.World.PodsOn(node.Name), func(p *corev1.Pod) bool { return !evictable(p, now) })
	if len(pods) == 0 {
		c.blocks.Delete(claim.Name)
		want := claim.DeepCopy()
		if want.Conditions().SetTrue(v1.ConditionDrained, now) {
			return 0, false, c.writeStatus(ctx, claim, want)
		}
		return 0, true, nil
	}
	largestFirst(pods, node)
	first := slices.MinFunc(pods, func(a, b *corev1.Pod) int { return tier(a) - tier(b) })
	stops, before, pace := map[types.UID]block{}, c.blocked(claim), c.paceOf(claim)
	var faults []error
	for _, p := range pods {
		if tier(p) != tier(first) && (deadline.IsZero() || now.Before(deadline)) {
			continue
		}
		stop, err := c.evict(ctx, p, drainOf{deadline, pace}, before[p.UID])
		if err != nil {
			faults = append(faults, err) // the other pods are evicted nevertheless
		}
		if stop.kind == accepted && before[p.UID].kind != accepted {
			c.Recorder.Evicted(p, evictedFor(claim))
		}
		if stop.kind != "" {
			stops[p.UID] = stop
		}
	}
	c.blocks.Store(claim.Name, stops)
	if err := errors.Join(faults...); err != nil {
		return 0, false, err
	}
	key, message, again := tell(stops, now)
	if message == "" {
		message = "still on node " + node.Name + ": " + quantity.Count(int64(len(pods)), "pod")
	}
	if key != "" {
		c.Recorder.Draining(claim, node.Name, key, message)
	}
	reason := v1.ReasonDraining
	for _, b := range stops {
		if b.kind == replicasNotReady {
			reason = replicasNotReady
		}
	}
	want := claim.DeepCopy()
	if want.Conditions().Set(v1.ConditionDrained, metav1.ConditionUnknown, reason, message, now) {
		return again, false, c.writeStatus(ctx, claim, want)
	}
	return again, false, nil
}

// evictedFor says why the pods of the node are evicted: the reason of the NodeClaim's
// disruption, or that somebody deleted the NodeClaim or its node.
func evictedFor(claim *v1.NodeClaim) string {
	if x := claim.Conditions().Get(v1.ConditionDisruptionReason); x.IsTrue() {
		return x.Reason
	}
	return string(plan.DeletedAlready)
}

// markDisrupted keeps new pods off the node, and removes it from load balancers.
func (c *Controller) markDisrupted(ctx context.Context, node *corev1.Node) error {
	body := translate.CordonToDrain(node)
	if body == nil {
		return nil
	}
	return c.patchNode(ctx, node, body)
}

// evictable reports whether the drain has to evict the pod and wait for it: the pod is
// not finished, not a static pod, does not tolerate the disruption taint, and is not
// stuck in termination.
func evictable(p *corev1.Pod, now time.Time) bool {
	if translate.Finished(p) {
		return false
	}
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return false
	}
	if _, kept := cluster.Untolerated(translate.Taints([]corev1.Taint{v1.DisruptedTaint()}), translate.Tolerations(p.Spec.Tolerations)); !kept {
		return false
	}
	return p.DeletionTimestamp == nil || now.Before(p.DeletionTimestamp.Add(stuck))
}

// tier is the pod's place in the order of a drain.
func tier(p *corev1.Pod) int {
	n := 0
	if ref := metav1.GetControllerOf(p); ref != nil && ref.Kind == "DaemonSet" {
		n = 1
	}
	if p.Spec.PriorityClassName == "system-cluster-critical" || p.Spec.PriorityClassName == "system-node-critical" {
		n += 2
	}
	return n
}

// largestFirst sorts the pods by the part of the node's CPU or memory that they request,
// whichever is more.
func largestFirst(pods []*corev1.Pod, node *corev1.Node) {
	all := translate.Resources(node.Status.Allocatable)
	size := make(map[*corev1.Pod]int64, len(pods))
	for _, p := range pods {
		r := translate.PodRequests(p)
		size[p] = max(quantity.MulDiv(r.MilliCPU, perMille, max(1, all.MilliCPU)), quantity.MulDiv(r.MemoryBytes, perMille, max(1, all.MemoryBytes)))
	}
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(size[b], size[a]) })
}

// drainOf is what all pods of a drain have in common.
type drainOf struct {
	deadline time.Time // zero for none
	pace     plan.Pace
}

// evict evicts the pod, or deletes it after the deadline. The block says why the pod
// cannot be evicted yet, or that its eviction is accepted; it is zero if the pod is
// terminating.
func (c *Controller) evict(ctx context.Context, p *corev1.Pod, of drainOf, last block) (block, error) {
	now, deadline := c.Now(), of.deadline
	grace := int64(30)
	if p.Spec.TerminationGracePeriodSeconds != nil {
		grace = *p.Spec.TerminationGracePeriodSeconds
	}
	if !deadline.IsZero() && !now.Before(deadline.Add(-time.Duration(grace)*time.Second)) {
		left := max(1, int64(deadline.Sub(now)/time.Second))
		if err := c.forceDelete(ctx, p, left); err != nil {
			return block{}, err
		}
		c.Recorder.ForceDeleted(p, deadline, left)
		return block{}, nil
	}
	if p.DeletionTimestamp != nil {
		return block{}, nil
	}
	if asks := translate.PodProtection(p); asks.Holds(now) {
		return block{kind: "DoNotDisrupt", pod: p.Namespace + "/" + p.Name, why: "annotation " + asks.By + " blocks the eviction", next: now.Add(drainPoll)}, nil
	}
	if now.Before(last.next) {
		return last, nil
	}
	budgets := c.World.BudgetsOf(p)
	slow := of.pace != plan.AllAtOnce && paced(p) && len(budgets) == 0 // a budget bounds evictions itself
	var siblings replicas
	if slow {
		siblings.of, siblings.declared, siblings.pods = c.World.Replicas(p)
		if kind, why := c.pace.take(p, siblings, of.pace, now); kind != "" {
			return block{kind: kind, pod: p.Namespace + "/" + p.Name, why: why, next: now.Add(drainPoll)}, nil
		}
	}
	err := c.requestEviction(ctx, p)
	if err == nil {
		return block{kind: accepted, pod: p.Namespace + "/" + p.Name, next: now.Add(stuck)}, nil
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return block{}, nil
	}
	if slow {
		c.pace.giveBack(p, siblings.of)
	}
	stop := blockOf(p, budgets, err)
	stop.wait = min(max(2*last.wait, backoffFirst), backoffMost)
	stop.next = now.Add(stop.wait)
	if stop.kind == evictionFailed {
		return stop, fmt.Errorf("pod %s/%s evict: %w", p.Namespace, p.Name, err)
	}
	return stop, nil
}

// requestEviction is one request. EvictV1 of client-go would sleep for as long as the
// server asks for, and try again ten times.
func (c *Controller) requestEviction(ctx context.Context, p *corev1.Pod) error {
	uid := p.UID
	return c.Core.CoreV1().RESTClient().Post().Namespace(p.Namespace).Resource("pods").Name(p.Name).SubResource("eviction").Body(&policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}},
	}).MaxRetries(0).Do(ctx).Error()
}

func (c *Controller) forceDelete(ctx context.Context, p *corev1.Pod, grace int64) error {
	uid := p.UID
	err := c.Core.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &grace, Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("pod %s/%s delete: %w", p.Namespace, p.Name, err)
	}
	return nil
}
