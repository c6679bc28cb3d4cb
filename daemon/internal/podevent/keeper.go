// Package podevent keeps on each NodeClaim when the last pod came to its node or left it
// (status.lastPodEventTime), and whether the node has been quiet for the NodePool's
// consolidateAfter (condition Consolidatable). Both are Karpenter's. Pods of
// DaemonSets and Jobs and static pods do not count.
//
// Invariants: a NodeClaim is written at most once in Every, and the last event counts;
// a start of the daemon is no event: pods that were there before write nothing, and an
// event that nobody wrote is found by the age of its pod.
package podevent

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

const (
	// Every is the least time between two writes of one NodeClaim.
	Every = 10 * time.Second
	// longestWait is how soon a NodeClaim is looked at again at the latest while it waits to be
	// quiet for long enough, so that the queue keeps none that has gone for days.
	longestWait = time.Hour
	// workers are few, so that a burst of pods leaves the rate limit to launches.
	workers = 2
)

// World has the objects, and stores the answers to writes.
type World interface {
	Observe(object metav1.Object)
	NodeClaim(name string) (*v1.NodeClaim, bool)
	NodePool(name string) (*v1.NodePool, bool)
	NodeOf(providerID string) (*corev1.Node, bool)
	EachPodOn(node string, do func(*corev1.Pod))
}

// Claims writes the status of NodeClaims.
type Claims interface {
	UpdateStatus(ctx context.Context, claim *v1.NodeClaim, options metav1.UpdateOptions) (*v1.NodeClaim, error)
}

// Keeper writes the times. Make it with New.
type Keeper struct {
	world  World
	claims Claims
	logger hclog.Logger
	now    func() time.Time
	queue  workqueue.TypedRateLimitingInterface[string]

	mu   sync.Mutex
	seen map[string]seen // by NodeClaim
}

// seen is what a Keeper knows of a NodeClaim.
type seen struct {
	uid   types.UID
	pods  map[types.UID]struct{} // that count, at the last look
	last  time.Time              // the last event; zero if none is known
	wrote time.Time
}

// New makes a Keeper that has seen nothing. queues measures its queue; nil: nobody does.
func New(w World, c Claims, logger hclog.Logger, now func() time.Time, queues workqueue.MetricsProvider) *Keeper {
	return &Keeper{
		world: w, claims: c, logger: logger, now: now, seen: map[string]seen{},
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.NewTypedItemExponentialFailureRateLimiter[string](200*time.Millisecond, time.Minute),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "podevent", MetricsProvider: queues}),
	}
}

// Enqueue schedules Reconcile for the NodeClaim. It does not block.
func (k *Keeper) Enqueue(name string) { k.queue.Add(name) }

// Run works until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for k.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	k.queue.ShutDown()
	group.Wait()
}

func (k *Keeper) next(ctx context.Context) bool {
	name, shutdown := k.queue.Get()
	if shutdown {
		return false
	}
	defer k.queue.Done(name)
	again, err := k.Reconcile(ctx, name)
	if err != nil {
		if ctx.Err() == nil {
			k.logger.Warn("nodeclaim pod events write failed; retrying", "nodeclaim", name, "error", err)
		}
		k.queue.AddRateLimited(name)
		return true
	}
	k.queue.Forget(name)
	if again > 0 {
		k.queue.AddAfter(name, again)
	}
	return true
}

// Reconcile brings the NodeClaim's status up to date. It returns the time to the next
// call; zero is no call before a change.
func (k *Keeper) Reconcile(ctx context.Context, name string) (time.Duration, error) {
	claim, there := k.world.NodeClaim(name)
	if !there {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.seen, name)
		return 0, nil
	}
	if claim.DeletionTimestamp != nil || claim.Status.ProviderID == "" || claim.Unread != "" {
		return 0, nil // to write the status of one that cannot be read would lose the rest of it
	}
	s := k.observe(claim)
	now := k.now()
	want := claim.DeepCopy()
	if !s.last.IsZero() && s.last.After(lastOf(claim)) {
		want.Status.LastPodEventTime = &metav1.Time{Time: s.last.Truncate(time.Second)}
	}
	again := k.setConsolidatable(want, now)
	if equality.Semantic.DeepEqual(claim.Status, want.Status) {
		return again, nil
	}
	if wait := s.wrote.Add(Every).Sub(now); wait > 0 {
		return wait, nil
	}
	got, err := k.claims.UpdateStatus(ctx, want, metav1.UpdateOptions{FieldManager: translate.FieldManager})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return time.Second, nil // a watch event with the newer version is under way
	}
	if err != nil {
		return 0, fmt.Errorf("nodeclaim %s status write: %w", name, err)
	}
	s.wrote = now
	k.keep(name, s)
	k.world.Observe(got)
	return again, nil
}

// observe compares the pods of the NodeClaim's node with those of the last look.
func (k *Keeper) observe(claim *v1.NodeClaim) seen {
	pods, newest := k.pods(claim)
	k.mu.Lock()
	s, known := k.seen[claim.Name]
	k.mu.Unlock()
	switch {
	case !known || s.uid != claim.UID:
		s = seen{uid: claim.UID}
		if newest.After(quietSince(claim)) {
			s.last = newest // nobody has written that it came
		}
	case !maps.Equal(pods, s.pods):
		s.last = k.now()
	}
	s.pods = pods
	k.keep(claim.Name, s)
	return s
}

func (k *Keeper) keep(name string, s seen) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seen[name] = s
}

// pods returns the pods that count, and when the newest of them was created.
func (k *Keeper) pods(claim *v1.NodeClaim) (pods map[types.UID]struct{}, newest time.Time) {
	pods = map[types.UID]struct{}{}
	node, up := k.world.NodeOf(claim.Status.ProviderID)
	if !up {
		return pods, newest
	}
	k.world.EachPodOn(node.Name, func(p *corev1.Pod) {
		if !counts(p) {
			return
		}
		pods[p.UID] = struct{}{}
		if p.CreationTimestamp.After(newest) {
			newest = p.CreationTimestamp.Time
		}
	})
	return pods, newest
}

// counts says whether the pod is one that comes to stay: it needs another place when
// its node is deleted, and is not of a Job, whose pods come and go by themselves.
func counts(p *corev1.Pod) bool {
	ref := metav1.GetControllerOfNoCopy(p)
	return translate.Moves(p) && (ref == nil || ref.Kind != "Job")
}

// setConsolidatable sets or clears the condition, and returns when to look again; zero is not
// before a change.
func (k *Keeper) setConsolidatable(claim *v1.NodeClaim, now time.Time) time.Duration {
	conditions := claim.Conditions()
	pool, there := k.world.NodePool(claim.Labels[v1.LabelNodePool])
	if !there || pool.Unread != "" || pool.Spec.Disruption.ConsolidateAfter.Never || !conditions.Get(v1.ConditionInitialized).IsTrue() {
		conditions.Clear(v1.ConditionConsolidatable)
		return 0
	}
	if wait := quietSince(claim).Add(pool.Spec.Disruption.ConsolidateAfter.Duration).Sub(now); wait > 0 {
		conditions.Clear(v1.ConditionConsolidatable)
		return min(wait, longestWait)
	}
	if !conditions.Get(v1.ConditionConsolidatable).IsTrue() {
		conditions.SetTrue(v1.ConditionConsolidatable, now)
	}
	return 0
}

// quietSince is the last event that is on the NodeClaim, or when it was initialized.
func quietSince(claim *v1.NodeClaim) time.Time {
	if last := lastOf(claim); !last.IsZero() {
		return last
	}
	if initialized := claim.Conditions().Get(v1.ConditionInitialized); initialized.IsTrue() {
		return initialized.LastTransitionTime.Time
	}
	return time.Time{}
}

func lastOf(claim *v1.NodeClaim) time.Time {
	if claim.Status.LastPodEventTime == nil {
		return time.Time{}
	}
	return claim.Status.LastPodEventTime.Time
}
