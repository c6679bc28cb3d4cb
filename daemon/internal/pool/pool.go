// Package pool keeps the status of NodePools: whether a pool is valid, whether its
// class is ready, and the resources of its nodes. Conditions and reasons are
// Karpenter's. It also owns the finalizer that holds a deleted pool as long as it has
// NodeClaims, so that the core can take them away one after the other.
//
// Invariants: status is a pure function of the pool, its class and its
// NodeClaims, but for NodeRegistrationHealthy, which follows from what became of the
// last ones; a pool is written only when its status changes. The finalizer only delays
// the garbage collector: whoever removes it by hand lets all NodeClaims be deleted at once,
// and loses none.
package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// World has the objects.
type World interface {
	Observe(object metav1.Object)
	Forget(object metav1.Object)
	NodePools() []*v1.NodePool
	NodeClaims() []*v1.NodeClaim
	EC2NodeClass(name string) (*awsv1.EC2NodeClass, bool)
}

// Writer writes NodePools.
type Writer interface {
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*v1.NodePool, error)
	UpdateStatus(ctx context.Context, pool *v1.NodePool, o metav1.UpdateOptions) (*v1.NodePool, error)
}

const (
	// writeWithin is how long the writes of one pool may take, as where a webhook hangs.
	writeWithin = 5 * time.Second
	// firstPause and longestPause bound how long a pool waits that could not be written. The
	// pause doubles with each failure in a row.
	firstPause, longestPause = time.Second, time.Minute
)

// Keeper writes the statuses. It is for one goroutine.
type Keeper struct {
	World World
	Pools Writer

	outcomes outcomes
	failing  map[types.UID]failure
}

// failure is a pool that could not be written.
type failure struct {
	pause time.Duration
	until time.Time
}

// Sync brings the status of every pool up to date. A pool that cannot be written holds up no
// other, or for writeWithin a minute where its writes hang.
func (k *Keeper) Sync(ctx context.Context, now time.Time) error {
	claims := k.World.NodeClaims()
	var faults []error
	before := k.failing
	k.failing = map[types.UID]failure{}
	for _, p := range k.World.NodePools() {
		last := before[p.UID]
		if now.Before(last.until) {
			k.failing[p.UID] = last
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, writeWithin)
		err := k.sync(bounded, p, claims, now)
		cancel()
		if err != nil {
			pause := min(max(firstPause, 2*last.pause), longestPause)
			k.failing[p.UID] = failure{pause, now.Add(writeWithin + pause)}
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

func (k *Keeper) sync(ctx context.Context, p *v1.NodePool, claims []*v1.NodeClaim, now time.Time) error {
	if written, err := k.hold(ctx, p, claims); err != nil || written {
		return err
	}
	class, _ := k.World.EC2NodeClass(p.Spec.Template.Spec.NodeClassRef.Name)
	want := p.DeepCopy()
	k.setAll(want, class, claims, now)
	if equality.Semantic.DeepEqual(p.Status, want.Status) {
		return nil
	}
	got, err := k.Pools.UpdateStatus(ctx, want, metav1.UpdateOptions{FieldManager: translate.FieldManager})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // a watch event with the newer version is under way
	}
	if err != nil {
		return fmt.Errorf("nodepool %s status write: %w", p.Name, err)
	}
	k.World.Observe(got)
	return nil
}

// hold puts the finalizer on a pool, and takes it off one that is being deleted and has no
// NodeClaims. It says whether it has written the pool; the answer brings the next Sync.
func (k *Keeper) hold(ctx context.Context, p *v1.NodePool, claims []*v1.NodeClaim) (written bool, err error) {
	want, needed := finalizers(p, claims)
	if slices.Equal(want, p.Finalizers) {
		return false, nil
	}
	got, err := kube.SetFinalizers(ctx, k.Pools, p, want, metav1.PatchOptions{FieldManager: translate.FieldManager})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return true, nil // a watch event with the newer version is under way
	}
	if err != nil {
		return false, fmt.Errorf("nodepool %s finalizers write: %w", p.Name, err)
	}
	if needed {
		k.World.Observe(got)
	} else {
		k.World.Forget(p) // nothing else holds it, or its next watch event brings it back
	}
	return true, nil
}

// finalizers returns those that the pool is to have, and whether ours is one of them. The
// API server adds none to an object that is being deleted.
func finalizers(p *v1.NodePool, claims []*v1.NodeClaim) (want []string, held bool) {
	held = slices.Contains(p.Finalizers, v1.FinalizerTermination)
	of := func(c *v1.NodeClaim) bool { return c.Labels[v1.LabelNodePool] == p.Name }
	switch {
	case p.DeletionTimestamp == nil && !held:
		return append(slices.Clone(p.Finalizers), v1.FinalizerTermination), true
	case p.DeletionTimestamp != nil && held && !slices.ContainsFunc(claims, of):
		return kube.FinalizersWithout(p, v1.FinalizerTermination), false
	}
	return p.Finalizers, held
}

// DisruptedUntil returns when pods moved away from nodes last, by the statuses of the
// pools; now if some do, and zero for never. A daemon that starts asks it.
func DisruptedUntil(pools []*v1.NodePool, now time.Time) (last time.Time) {
	for _, p := range pools {
		switch c := p.Conditions().Get(v1.ConditionDisrupting); {
		case c.IsTrue():
			return now
		case c.Status == metav1.ConditionFalse && c.LastTransitionTime.After(last):
			last = c.LastTransitionTime.Time
		}
	}
	return last
}

// setAll sets the pool's status.
func (k *Keeper) setAll(p *v1.NodePool, class *awsv1.EC2NodeClass, claims []*v1.NodeClaim, now time.Time) {
	observed := p.Status.NodeClassObservedGeneration
	setStatus(p, class, claims, now)
	k.setHealth(p, class, observed, now)
}

// setStatus sets the pool's status from the objects. class is nil if the class does
// not exist.
func setStatus(p *v1.NodePool, class *awsv1.EC2NodeClass, claims []*v1.NodeClaim, now time.Time) {
	conditions := p.Conditions()
	if translated := translate.Pool(p); translated.NotReady != "" {
		conditions.Set(v1.ConditionValidationSucceeded, metav1.ConditionFalse, v1.ReasonNodePoolValidationFailed, translated.NotReady, now)
	} else {
		conditions.SetTrue(v1.ConditionValidationSucceeded, now)
	}
	if unsupported := translate.UnsupportedOf(p); len(unsupported) > 0 {
		conditions.Set(v1.ConditionUnsupported, metav1.ConditionTrue, v1.ReasonUnsupportedField, translate.Sentences(unsupported), now)
	} else {
		conditions.Clear(v1.ConditionUnsupported)
	}
	name := p.Spec.Template.Spec.NodeClassRef.Name
	switch {
	case class == nil && name == "" && p.Unread != "":
		conditions.Set(v1.ConditionNodeClassReady, metav1.ConditionFalse, v1.ReasonNodeClassReadinessUnknown,
			"spec.template.spec.nodeClassRef cannot be read: correct what condition "+v1.ConditionValidationSucceeded+" names", now)
	case class == nil:
		conditions.Set(v1.ConditionNodeClassReady, metav1.ConditionFalse, v1.ReasonNodeClassNotFound,
			fmt.Sprintf("EC2NodeClass %q does not exist: create it, or correct spec.template.spec.nodeClassRef.name", name), now)
	case class.DeletionTimestamp != nil:
		conditions.Set(v1.ConditionNodeClassReady, metav1.ConditionFalse, v1.ReasonNodeClassTerminating,
			fmt.Sprintf("EC2NodeClass %q is being deleted", name), now)
	case class.Conditions().IsReady():
		conditions.SetTrue(v1.ConditionNodeClassReady, now)
	default:
		ready := class.Conditions().Get(v1.ConditionReady)
		reason := ready.Reason
		if ready.Status == metav1.ConditionUnknown || ready.ObservedGeneration != class.Generation {
			reason = v1.ReasonNodeClassReadinessUnknown
		}
		conditions.Set(v1.ConditionNodeClassReady, metav1.ConditionFalse, reason, fmt.Sprintf("EC2NodeClass %q: %s", name, ready.Message), now)
	}
	if class != nil {
		p.Status.NodeClassObservedGeneration = class.Generation
	}
	switch moves := setTotals(p, claims); {
	case moves:
		conditions.SetTrue(v1.ConditionDisrupting, now)
	case conditions.Get(v1.ConditionDisrupting).IsTrue():
		conditions.Set(v1.ConditionDisrupting, metav1.ConditionFalse, v1.ReasonAllStay, "", now)
	}
}

// podsLeave says whether pods move away from the node of the NodeClaim. One that is
// deleted at once, as at the end of its life or when somebody deletes it, says no reason.
func podsLeave(c *v1.NodeClaim) bool {
	if why := c.Conditions().Get(v1.ConditionDisruptionReason); why.IsTrue() {
		return !plan.DeleteReason(why.Reason).Traits().Empty
	}
	return c.DeletionTimestamp != nil && c.Status.NodeName != ""
}

// setTotals counts the pool's nodes and their resources, and says whether pods move away
// from one of them.
func setTotals(p *v1.NodePool, claims []*v1.NodeClaim) (moves bool) {
	nodes, total := int64(0), corev1.ResourceList{}
	for _, c := range claims {
		if c.Labels[v1.LabelNodePool] != p.Name {
			continue
		}
		nodes++
		moves = moves || podsLeave(c)
		for r, q := range c.Status.Capacity {
			sum := total[r]
			sum.Add(q)
			total[r] = sum
		}
	}
	for _, r := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage} {
		if _, there := total[r]; !there {
			total[r] = resource.Quantity{}
		}
	}
	total[v1.ResourceNodes] = *resource.NewQuantity(nodes, resource.DecimalSI)
	p.Status.Resources, p.Status.Nodes = total, &nodes
	return moves
}
